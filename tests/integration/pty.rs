//! The real program in a real terminal: started, used, resized, stopped, ended in every way; and the
//! terminal as it was before, each time.

mod act;
mod alerts;
mod endings;
mod panel;
mod refusals;
mod suspend;
mod tmux;
mod using;

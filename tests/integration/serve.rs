//! `zmtop serve`: what is exported, and how requests are answered.

mod families;
mod requests;
mod text;

//! The events that `update` takes, and the effects that it asks for.

use std::sync::Arc;
use std::time::Duration;

use crossterm::event::{KeyEvent, MouseEvent};

use crate::act;
use crate::config::UiSettings;
use crate::history::mappings::{Coldness, Look};
use crate::model::kernel::Callers;
use crate::model::mapping::Mapping;
use crate::model::{FleetStatus, Identity, Reading};
use crate::sampler::mappings::Mappings;

/// Something that happened.
#[derive(Clone, Debug)]
pub enum Event {
    /// A key was pressed.
    Key(KeyEvent),
    /// The wheel or a button of the mouse was moved, at that moment of some clock.
    Mouse(MouseEvent, Duration),
    /// Text was pasted.
    Paste(String),
    /// The terminal has another size, in columns and rows.
    Resize(u16, u16),
    /// The engine took in a snapshot: its state is another.
    Snapshot,
    /// The scan of that number has read so many processes' mappings.
    ScanProgress(u64, usize),
    /// The scan of that number has read all of them.
    ScanDone(u64, Arc<Mappings>),
    /// The scan of that number failed; says why.
    ScanFailed(u64, String),
    /// The mappings of an inspected process were read, or could not be.
    Inspected(Identity, Arc<Reading<Vec<Mapping>>>),
    /// A process whose referenced bits were cleared was looked at, or could not be.
    Looked(Look, Reading<Coldness>),
    /// The trace of that number has seen this so far.
    Traced(u64, Arc<Callers>),
    /// The trace of that number cannot be, or not go on; says why, and what would grant it.
    TraceRefused(u64, String),
    /// A reply to a command that acts on processes.
    Act(act::Reply),
    /// Asking for a fleet went so.
    Fleet(FleetStatus),
    /// An effect went well; says so.
    Done(String),
    /// An effect failed; says why.
    Failed(String),
}

/// A process whose mappings are to be read again and again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inspect {
    pub id: Identity,
    /// Somebody looks at it; otherwise it is read seldom, at next to no cost.
    pub closely: bool,
}

/// Something to do outside, performed by the loop in `run`.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Leaves the monitor.
    Quit,
    /// Leaves the monitor with these processes chosen, by their pids.
    Pick(Vec<u32>),
    /// Gives the terminal back and stops, until SIGCONT.
    Suspend,
    /// Draws everything anew, whatever the terminal shows.
    Redraw,
    /// Reads the mappings of these processes once, and reports by that number.
    ScanMappings(u64, Vec<Identity>),
    /// Breaks that off.
    CancelScan,
    /// Reads the mappings of this process again and again, at a bounded rate; or of none any more.
    Inspect(Option<Inspect>),
    /// Looks, again and again, at what these processes touched since their referenced bits were cleared; at no others
    /// any more. One that is new was cleared just now.
    Look(Vec<Look>),
    /// Traces the call sites of the kernel's allocator, and reports by that number; or ends that.
    Trace(Option<u64>),
    /// Gives a text to the terminal for the clipboard.
    Copy(String),
    Act(act::Command),
    /// Writes settings to the config file.
    Save(Box<UiSettings>),
}

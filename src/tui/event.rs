//! What goes into `update`, and what comes out.

use std::sync::Arc;

use crossterm::event::{KeyEvent, MouseEvent};

use crate::act;
use crate::alert::AlertEvent;
use crate::config::UiSettings;
use crate::model::mapping::Mapping;
use crate::model::{Identity, Reading, Snapshot};
use crate::sampler::mappings::Mappings;

/// Something that happened.
#[derive(Clone, Debug)]
pub enum Event {
    /// A key.
    Key(KeyEvent),
    /// The wheel or a button.
    Mouse(MouseEvent),
    /// Pasted text.
    Paste(String),
    /// The terminal has another size.
    Resize(u16, u16),
    /// A new snapshot.
    Snapshot(Arc<Snapshot>),
    /// So many processes' mappings were read, in the reading of that number.
    MappingsRead(u64, usize),
    /// All were.
    Mappings(u64, Arc<Mappings>),
    /// They cannot be; says why.
    MappingsFailed(u64, String),
    /// The mappings of the process that the panel shows, or why they could not be read.
    Inspected(Identity, Arc<Reading<Vec<Mapping>>>),
    /// What came of acting on processes.
    Act(act::Reply),
    /// An effect went well; says so.
    Done(String),
    /// An effect failed; says why.
    Failed(String),
}

/// A process whose mappings are to be read again and again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inspect {
    /// Which one.
    pub id: Identity,
    /// Somebody looks at it; otherwise it is read seldom, at next to no cost.
    pub closely: bool,
}

/// Something to do, performed by the wiring.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Leave.
    Quit,
    /// Give the terminal back and stop, until SIGCONT.
    Suspend,
    /// Draw everything anew, whatever the terminal shows.
    Redraw,
    /// Read the mappings of these processes, and report by that number.
    Mappings(u64, Vec<Identity>),
    /// Break that off.
    BreakOff,
    /// Read the mappings of this process again and again, at a bounded rate; or of none any more.
    Inspect(Option<Inspect>),
    /// Do what the rule of an alert asks for.
    Alert(AlertEvent),
    /// Act on processes.
    Act(act::Command),
    /// Write to the config file.
    Save(Box<UiSettings>),
}

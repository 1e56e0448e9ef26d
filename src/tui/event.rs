//! The events that `update` handles, and the effects that it returns.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use crossterm::event::{KeyEvent, MouseEvent};

use crate::act;
use crate::call_tree::Measured;
use crate::config::views::View;
use crate::config::{AlertSettings, Config, UiSettings};
use crate::history::mappings::{Coldness, Look};
use crate::model::kernel::Callers;
use crate::model::mapping::Mapping;
use crate::model::page_cache::PageCache;
use crate::model::{FleetStatus, Identity, Reading};
use crate::sampler::inquiry::{Found, Inquiry};
use crate::sampler::mappings::Mappings;
use crate::sampler::page_cache::Progress;
use crate::tui::replay::ReplayCommand;

/// Time without a key after which a typed pid is complete.
pub const PID_PAUSE: Duration = Duration::from_secs(3);
/// Time without a key after which a digit that is bound to an action is no beginning of a pid.
pub const DIGIT_PAUSE: Duration = Duration::from_millis(250);

#[derive(Clone, Debug)]
pub enum Event {
    Key(KeyEvent),
    /// No key came for [`App::key_pause`](crate::tui::app::App::key_pause).
    KeyPause,
    /// A mouse event, and when it happened on some monotonic clock.
    Mouse(MouseEvent, Duration),
    Paste(String),
    /// The terminal's new size, in columns and rows.
    Resize(u16, u16),
    /// The engine has a new snapshot.
    Snapshot,
    /// The scan of that number has read the mappings of this number of processes.
    ScanProgress(u64, usize),
    ScanDone(u64, Arc<Mappings>),
    ScanFailed(u64, String),
    /// The progress of the read of the page cache with that number, and its result.
    CacheProgress(u64, Progress),
    CacheRead(u64, Reading<Arc<PageCache>>),
    /// The mappings of an inspected process.
    Inspected(Identity, Arc<Reading<Vec<Mapping>>>),
    /// The amount of memory that a process touched since its referenced bits were cleared.
    Looked(Look, Reading<Coldness>),
    /// All that the trace of that number has seen so far.
    Traced(u64, Arc<Callers>),
    /// The reason why the trace of that number cannot start or continue, and what would permit it.
    TraceRefused(u64, String),
    /// A reply to a command that acts on processes.
    Act(act::Reply),
    Fleet(FleetStatus),
    /// The config was read again, or why it could not be.
    Config(Result<Box<Config>, String>),
    /// The saved views.
    Views(Vec<View>),
    /// The answer to a question about a process.
    Answered(Inquiry, Identity, Reading<Found>),
    /// The call paths that the measurement of that number has found so far, or why it failed.
    Measured(u64, Result<Arc<Measured>, String>),
    /// The call paths of a process that grows, which is sampled all along.
    Armed(Identity, Arc<Measured>),
    /// An effect succeeded: a message.
    Done(String),
    /// An effect failed: the reason.
    Failed(String),
}

/// A process whose mappings are to be read repeatedly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inspect {
    pub id: Identity,
    /// The screen shows it; otherwise it is read rarely, at almost no cost.
    pub closely: bool,
}

/// The files whose cached pages are to be read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum CacheScope {
    /// The files that any process has open or mapped.
    #[default]
    All,
    /// The files that the processes of this cgroup have open or mapped.
    Cgroup(Arc<[u8]>),
    /// All files of the file system with this mount point.
    Mount(Arc<[u8]>),
}

/// Something to do outside the state, performed by the loop in `run`.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    Quit,
    /// Quits with these processes chosen, by their pids.
    Pick(Vec<u32>),
    /// Restores the terminal and stops, until SIGCONT.
    Suspend,
    /// Redraws the whole screen, whatever the terminal shows.
    Redraw,
    /// Reads the mappings of these processes once, and reports under that number.
    ScanMappings(u64, Vec<Identity>),
    CancelScan,
    /// Reads once which files fill the page cache, and reports under that number.
    ReadCache(u64, CacheScope),
    /// Reads the mappings of this process repeatedly, at a bounded rate; `None` stops that.
    Inspect(Option<Inspect>),
    /// Measures repeatedly what these processes, and no others, touched since their referenced bits were cleared. The bits of
    /// a new one were cleared just now.
    Look(Vec<Look>),
    /// Traces the call sites of the kernel's allocator, and reports under that number; `None` stops that.
    Trace(Option<u64>),
    /// Copies a text to the terminal's clipboard.
    Copy(String),
    Act(act::Command),
    /// Notifies of later alerts also by these settings of rules, by number.
    NotifyBy(Vec<(usize, AlertSettings)>),
    /// Saves settings as the view of that name.
    Save(String, Box<UiSettings>),
    /// Reads the saved views.
    ReadViews,
    DeleteView(String),
    /// Starts a recording into the file of that path; `None` ends it.
    Record(Option<String>),
    /// Passes a command to the player of a recording.
    Replay(ReplayCommand),
    /// Shows the black box at that time, while the live monitor goes on behind it.
    Visit(SystemTime),
    /// Reads the requested data of a process once.
    Ask(Inquiry, Identity),
    /// Measures which code allocates the memory of this process, and reports under that number; `None` stops this.
    Measure(Option<(u64, Identity)>),
}

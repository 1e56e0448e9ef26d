//! Plays a recording in place of the sampler, on a thread of its own.
//!
//! The thread reads one snapshot ahead, and pushes it into the engine's state when the [player](Player) says that it is due.
//! So a recording of any size takes the memory of a few snapshots.
//!
//! A jump begins a new state, because a history cannot go back. It pushes as many earlier snapshots as it can within
//! `QUICK`, which is enough for changes and short trends. While there is nothing else to do, the thread then builds a second
//! state from far before, whose verdicts have the past that they need. It takes the place of the first one when it has
//! reached the same snapshot. A step back does the same with the snapshots that were [read before](Recent).
//!
//! The events of a pipe, and of a file of lines, become known while it is played. If the next one is not known, the thread plays
//! as fast as it can until it finds one.

pub mod player;
pub mod recent;
mod tape;

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, SyncSender};
use std::time::{Duration, Instant, SystemTime};

use parking_lot::Mutex;

use self::player::{Player, gap};
use self::recent::Recent;
use self::tape::Reader;
pub(in crate::run) use self::tape::Tape;
use crate::engine::{Incidents, SharedState, State};
use crate::model::Snapshot;
use crate::own;
use crate::record::{Incident, IncidentKind};
use crate::source::{Source, SourceError};
use crate::tui::replay::{ReplayCommand, ReplayStatus};

/// The time that a jump may take.
const QUICK: Duration = Duration::from_millis(120);
/// The time that a step back may take.
const STEP: Duration = Duration::from_millis(30);
/// The cost of a snapshot before any was read.
const FIRST_COST: Duration = Duration::from_millis(2);
/// The minimum number of snapshots before the one that a jump shows, whatever they cost.
const LEAST: usize = 3;
/// The number of snapshots from which the second state is built: two weeks, one a minute, or a working day, one every five
/// seconds.
const DEEP: usize = 20_000;
/// Time between checks for new snapshots at the end of a recording.
const REFRESH: Duration = Duration::from_millis(500);
/// The snapshots that may wait between the reader of a stream and the player.
const AHEAD: usize = 4;

/// The recording that is played.
pub(in crate::run) enum Film {
    Tape(Tape),
    /// A stream, which is opened on the thread that reads it, since it may send nothing for a long time.
    Stream(Box<dyn FnOnce() -> Result<Source, SourceError> + Send>),
}

/// A recording that is ready to be played.
pub(in crate::run) struct Opened {
    pub(in crate::run) film: Film,
    /// Its name, safe to print.
    pub(in crate::run) name: String,
    /// The moment to begin at; `None` for the beginning.
    pub(in crate::run) at: Option<SystemTime>,
    pub(in crate::run) speed: u32,
    pub(in crate::run) is_playing: bool,
    /// The live monitor continues in the background.
    pub(in crate::run) is_visit: bool,
}

/// The ways of the thread to the screen.
pub(super) struct Ways {
    /// Creates the state before the first snapshot.
    pub(super) make: Box<dyn Fn() -> State + Send>,
    /// Wakes the screen.
    pub(super) wake: Box<dyn Fn() + Send>,
    /// Shows a message, or a fault.
    pub(super) say: Box<dyn Fn(Result<String, String>) + Send>,
}

enum Message {
    Command(ReplayCommand),
    /// The next snapshot of a stream, a fault, or its end.
    Read(Option<Result<Arc<Snapshot>, SourceError>>),
}

/// A running player. Its thread ends when it is dropped.
pub(super) struct Replay {
    pub(super) state: SharedState,
    status: Arc<Mutex<ReplayStatus>>,
    messages: Sender<Message>,
}

impl Replay {
    /// Starts the thread, after the snapshot to begin with is shown.
    ///
    /// # Errors
    /// A thread cannot be started.
    pub(super) fn start(opened: Opened, ways: Ways) -> io::Result<Self> {
        let (messages, received) = mpsc::channel();
        let player = Player::new(opened.speed, opened.is_playing);
        let mut status = ReplayStatus {
            name: opened.name,
            is_visit: opened.is_visit,
            speed: player.speed(),
            is_playing: player.is_playing(),
            ..ReplayStatus::default()
        };
        let feed = match opened.film {
            Film::Tape(tape) => {
                status.timeline = Arc::clone(&tape.timeline);
                Feed::Tape(Box::new((tape.read(0), tape)))
            }
            Film::Stream(open) => {
                status.is_stream = true;
                Feed::Stream(VecDeque::new(), read_stream(open, messages.clone())?)
            }
        };
        let replay = Self {
            state: Arc::new(Mutex::new((ways.make)())),
            status: Arc::new(Mutex::new(status)),
            messages,
        };
        let mut runner = Runner {
            feed,
            ways,
            shared: Arc::clone(&replay.state),
            status: Arc::clone(&replay.status),
            player,
            next: None,
            is_ended: false,
            refresh_at: Duration::ZERO,
            shown: None,
            at_event: None,
            recent: Recent::default(),
            is_searching: false,
            known: None,
            deep: None,
            incidents: Incidents::default(),
            cost: FIRST_COST,
            push_cost: FIRST_COST,
            began: Instant::now(),
        };
        if let Some(at) = opened.at {
            runner.seek(at, false);
        }
        let thread = std::thread::Builder::new().name("zmtop-replay".into());
        thread.spawn(move || runner.run(&received))?;
        Ok(replay)
    }

    pub(super) fn status(&self) -> ReplayStatus {
        self.status.lock().clone()
    }

    pub(super) fn command(&self, command: ReplayCommand) {
        // Fails only if the thread has panicked, which ends zmtop.
        let _ = self.messages.send(Message::Command(command));
    }
}

/// Reads a stream on a thread of its own. Returns the sender of permits for further snapshots.
fn read_stream(
    open: Box<dyn FnOnce() -> Result<Source, SourceError> + Send>,
    send: Sender<Message>,
) -> io::Result<SyncSender<()>> {
    let (permit, permits) = mpsc::sync_channel(AHEAD);
    for _ in 0..AHEAD {
        // There is room for as many.
        let _ = permit.try_send(());
    }
    std::thread::Builder::new().name("zmtop-stream".into()).spawn(move || {
        let read: Box<dyn Iterator<Item = _>> = match open() {
            Ok(source) => Box::new(source),
            Err(error) => Box::new(std::iter::once(Err(error))),
        };
        for read in read {
            if permits.recv().is_err() || send.send(Message::Read(Some(read))).is_err() {
                return;
            }
        }
        let _ = send.send(Message::Read(None));
    })?;
    Ok(permit)
}

/// The source of the snapshots.
enum Feed {
    Tape(Box<(Reader, Tape)>),
    /// The snapshots that have arrived, and the sender of permits for more.
    Stream(VecDeque<Arc<Snapshot>>, SyncSender<()>),
}

/// The second state, on its way to the snapshot that is shown.
struct Deep {
    reader: Reader,
    state: State,
    incidents: Incidents,
    /// The time of its first snapshot, unless that is the first of the tape.
    since: Option<SystemTime>,
    /// The snapshot that it has reached.
    last: Option<Arc<Snapshot>>,
}

impl Deep {
    /// Returns true if it will reach the snapshot that is shown.
    fn is_before(&self, shown: &Snapshot) -> bool {
        self.last.as_ref().is_none_or(|last| last.time < shown.time)
    }
}

/// The state of the thread.
struct Runner {
    feed: Feed,
    ways: Ways,
    shared: SharedState,
    status: Arc<Mutex<ReplayStatus>>,
    player: Player,
    /// The snapshot that is shown next.
    next: Option<Arc<Snapshot>>,
    /// No more has been recorded.
    is_ended: bool,
    /// The time of the next check for more snapshots at the end.
    refresh_at: Duration,
    shown: Option<Arc<Snapshot>>,
    /// The event at which the shown snapshot is.
    at_event: Option<SystemTime>,
    /// The snapshots of a tape around the one on the screen.
    recent: Recent,
    /// It plays as fast as it can up to the next event.
    is_searching: bool,
    /// The end of the time whose events are known: the time of the shown snapshot, because everything before it was played.
    known: Option<[SystemTime; 2]>,
    deep: Option<Deep>,
    /// Finds the events of the snapshots that are shown.
    incidents: Incidents,
    /// The mean time to read and push a snapshot.
    cost: Duration,
    /// The mean time to push a snapshot that was read.
    push_cost: Duration,
    began: Instant,
}

impl Runner {
    fn now(&self) -> Duration {
        self.began.elapsed()
    }

    fn run(&mut self, received: &Receiver<Message>) {
        loop {
            self.fill();
            let due = self.due();
            let wait = match due {
                Some(due) => Some(due.saturating_sub(self.now())),
                None if self.is_ended && matches!(self.feed, Feed::Tape(_)) => {
                    Some(self.refresh_at.saturating_sub(self.now()))
                }
                None => None,
            };
            let wait = if self.deep.is_some() {
                Some(Duration::ZERO)
            } else {
                wait
            };
            let message = match wait {
                Some(wait) => received.recv_timeout(wait),
                None => received.recv().map_err(RecvTimeoutError::from),
            };
            match message {
                Ok(message) => self.on_message(message, received),
                Err(RecvTimeoutError::Disconnected) => return,
                Err(RecvTimeoutError::Timeout) if due.is_some_and(|due| due <= self.now()) => {
                    self.show_next(due.unwrap_or_default());
                }
                Err(RecvTimeoutError::Timeout) if self.deep.is_some() => self.deepen(),
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    /// Handles a message, and those that wait behind it. Of several jumps, as a drag of the mouse sends them, the last one counts.
    fn on_message(&mut self, first: Message, received: &Receiver<Message>) {
        let mut jump = None;
        for message in std::iter::once(first).chain(received.try_iter()) {
            self.is_searching &= matches!(message, Message::Read(_));
            match message {
                Message::Command(ReplayCommand::Jump(time)) => jump = Some(time),
                Message::Command(command) => {
                    if let Some(time) = jump.take() {
                        self.seek(time, false);
                    }
                    self.on_command(&command);
                }
                Message::Read(read) => self.take_in(read),
            }
        }
        if let Some(time) = jump {
            self.seek(time, false);
        }
        self.report();
    }

    fn on_command(&mut self, command: &ReplayCommand) {
        let now = self.now();
        match command {
            ReplayCommand::Pause => self.player.toggle(now),
            ReplayCommand::Faster | ReplayCommand::Slower => {
                self.player.change_speed(*command == ReplayCommand::Faster, now);
            }
            ReplayCommand::Step { forward } => {
                self.player.set_playing(false, now);
                if *forward {
                    self.fill();
                    if self.next.is_some() {
                        self.show_next(now);
                    } else {
                        (self.ways.say)(Ok("this is the last snapshot so far".into()));
                    }
                } else if let Some(shown) = self.shown.clone() {
                    self.step_back(&shown);
                }
            }
            ReplayCommand::Event { forward } => self.go_to_event(*forward),
            ReplayCommand::Jump(time) => self.seek(*time, false),
            ReplayCommand::Leave => {}
        }
    }

    /// Shows the snapshot before the one that is shown.
    fn step_back(&mut self, shown: &Snapshot) {
        let Feed::Tape(feed) = &self.feed else { return };
        let (_, tape) = &**feed;
        let room = (STEP.as_nanos() / self.push_cost.as_nanos().max(1)).clamp(LEAST as u128, DEEP as u128) as usize;
        if let Some(read) = self.recent.go_back(shown, LEAST, room) {
            return self.show_read(&read);
        }
        let group = tape.group_at(shown.time, false);
        let begins = tape.timeline.groups.get(group).map(|group| group.from);
        let is_first = begins.is_none_or(|begins| shown.time <= begins);
        match tape.before_set_back(group).filter(|_| is_first) {
            Some(end) => self.seek(end, false),
            None if group == 0 && is_first => (self.ways.say)(Ok("this is the first snapshot".into())),
            None => self.seek(shown.time, true),
        }
    }

    /// Shows the last one of snapshots that were read before.
    fn show_read(&mut self, read: &[Arc<Snapshot>]) {
        let Feed::Tape(feed) = &self.feed else { return };
        let (Some(first), Some(last)) = (read.first(), read.last()) else {
            return;
        };
        let begun = Instant::now();
        let mut state = (self.ways.make)();
        for snapshot in read {
            state.push(Arc::clone(snapshot));
        }
        self.push_cost = (self.push_cost + begun.elapsed() / read.len() as u32) / 2;
        let start = feed.1.timeline.span().map(|(start, _)| start);
        let group = feed.1.group_at(last.time, false);
        let known_since = Some(first.time).filter(|since| start.is_some_and(|start| start < *since));
        (self.shown, self.next) = (Some(Arc::clone(last)), self.recent.take_next());
        self.shows_anew(state, known_since, group);
        self.report();
    }

    /// Shows a state in which the shown snapshot is the last one.
    fn shows_anew(&mut self, state: State, known_since: Option<SystemTime>, group: usize) {
        // The end is searched again.
        (self.is_ended, self.at_event) = (false, None);
        // An incident that lasts there did not begin there.
        self.incidents = Incidents::default();
        drop(self.incidents.of(&state, &[]));
        self.player.show(self.now(), self.now());
        let shown = self.shown.as_ref().map(|shown| shown.time);
        let is_known = |[from, to]: &[SystemTime; 2]| shown.is_some_and(|shown| (*from..=*to).contains(&shown));
        self.known = self.known.filter(is_known).or(shown.map(|shown| [shown; 2]));
        self.replace(state, known_since);
        let is_on_its_way = |deep: &Deep| self.shown.as_ref().is_some_and(|shown| deep.is_before(shown));
        if known_since.is_none() {
            self.deep = None;
        } else if !self.deep.as_ref().is_some_and(is_on_its_way)
            && let Feed::Tape(feed) = &self.feed
        {
            let from = feed.1.back_from(group, DEEP);
            self.deep = Some(Deep {
                reader: feed.1.read(from),
                state: (self.ways.make)(),
                incidents: Incidents::default(),
                since: None,
                last: None,
            });
        }
    }

    /// Pauses at the next event, or at the previous one, and describes it.
    fn go_to_event(&mut self, forward: bool) {
        let now = self.now();
        self.player.set_playing(false, now);
        let Feed::Tape(feed) = &self.feed else {
            self.search();
            return;
        };
        let (timeline, knows_all) = (Arc::clone(&feed.1.timeline), feed.1.has_incidents());
        let shown = self.shown.as_ref().map(|shown| shown.time);
        let Some(at) = self.at_event.or(shown) else { return };
        let known = self.known.map_or(at, |[_, known]| known);
        let incident = if forward {
            let next = timeline.incidents.iter().find(|incident| incident.at() > at);
            next.filter(|incident| knows_all || incident.at() <= known)
        } else {
            timeline.incidents.iter().rev().find(|incident| incident.at() < at)
        };
        match incident {
            Some(incident) => self.go_to(incident),
            None if forward && !knows_all => {
                if shown.is_some_and(|shown| shown < known) {
                    self.seek(known, false);
                }
                self.search();
            }
            None => {
                let which = if forward { "later" } else { "earlier" };
                (self.ways.say)(Ok(format!("no {which} event is known")));
            }
        }
    }

    fn go_to(&mut self, incident: &Incident) {
        self.seek(incident.at(), false);
        // An event may be between two snapshots. The later one shows it.
        self.fill();
        if self.shown.as_ref().is_some_and(|shown| shown.time < incident.at()) && self.next.is_some() {
            self.show_next(self.now());
        }
        self.at_event = Some(incident.at());
        (self.ways.say)(Ok(incident.text.clone()));
    }

    /// Begins to play up to the next event.
    fn search(&mut self) {
        self.is_searching = true;
        (self.ways.say)(Ok("searching for the next event; any replay key stops it".into()));
        self.end_search();
    }

    /// Ends the search at the end.
    fn end_search(&mut self) {
        self.fill();
        if self.is_ended && self.next.is_none() && std::mem::take(&mut self.is_searching) {
            (self.ways.say)(Ok("no later event up to the end".into()));
        }
    }

    /// Accepts what was read of a stream.
    fn take_in(&mut self, read: Option<Result<Arc<Snapshot>, SourceError>>) {
        let Feed::Stream(queue, permit) = &mut self.feed else {
            return;
        };
        match read {
            Some(Ok(snapshot)) => queue.push_back(snapshot),
            Some(Err(error)) => {
                let _ = permit.try_send(());
                (self.ways.say)(Err(error.to_string()));
            }
            None => {
                self.is_ended = true;
                self.end_search();
            }
        }
    }

    /// Reads the next snapshot if there is none.
    fn fill(&mut self) {
        if self.next.is_some() {
            return;
        }
        match &mut self.feed {
            Feed::Stream(queue, permit) => {
                self.next = queue.pop_front();
                if self.next.is_some() {
                    // Fails only if the stream has ended.
                    let _ = permit.try_send(());
                }
            }
            Feed::Tape(tape) => {
                if self.is_ended && self.began.elapsed() < self.refresh_at {
                    return;
                }
                if self.is_ended {
                    self.refresh_at = self.began.elapsed() + REFRESH;
                    let (reader, tape) = &mut **tape;
                    match tape.refresh() {
                        Ok(false) => return,
                        Ok(true) => {
                            self.status.lock().timeline = Arc::clone(&tape.timeline);
                            let last = self.shown.as_ref().map(|shown| shown.time);
                            *reader = tape.read(last.map_or(0, |last| tape.group_at(last, false)));
                            self.recent = Recent::default();
                        }
                        Err(error) => return (self.ways.say)(Err(error.to_string())),
                    }
                    (self.ways.wake)();
                }
                let (reader, tape) = &mut **tape;
                // Of one boot by its clock: the other one may have been set back since.
                let is_shown = |snapshot: &Snapshot| {
                    let shown = self.shown.as_ref();
                    shown.is_some_and(|shown| {
                        let is_same = shown.boot_id == snapshot.boot_id;
                        (is_same && snapshot.monotonic <= shown.monotonic) || (!is_same && snapshot.time <= shown.time)
                    })
                };
                let is_resumed = std::mem::take(&mut self.is_ended);
                self.next = self.recent.take_next();
                if self.next.is_none() {
                    self.next = next(reader, tape, &self.ways, |snapshot| !(is_resumed && is_shown(snapshot)));
                    self.next.iter().for_each(|read| self.recent.add(read));
                }
                if self.next.is_none() {
                    self.is_ended = true;
                    self.refresh_at = self.began.elapsed() + REFRESH;
                    self.report();
                }
            }
        }
    }

    /// Returns when the next snapshot is due.
    fn due(&self) -> Option<Duration> {
        let next = self.next.as_ref()?;
        if self.is_searching {
            return Some(Duration::ZERO);
        }
        let gap = self.shown.as_ref().map_or(Duration::ZERO, |shown| gap(shown, next));
        self.player.due(gap)
    }

    fn show_next(&mut self, due: Duration) {
        let Some(next) = self.next.take() else { return };
        let begun = Instant::now();
        let mut state = self.shared.lock();
        let alerts = state.push(Arc::clone(&next));
        let mut found = self.incidents.of(&state, &alerts);
        drop(state);
        // With a short past, verdicts come later than they did.
        found.retain(|incident| self.deep.is_none() || incident.kind != IncidentKind::Leak);
        let event = found
            .first()
            .cloned()
            .filter(|_| std::mem::take(&mut self.is_searching));
        self.add(found);
        let now = self.now();
        self.player.show(due, now);
        self.known = self.known.or(Some([next.time; 2])).map(|[from, _]| [from, next.time]);
        self.at_event = event.as_ref().map(Incident::at);
        if let Some(event) = event {
            (self.ways.say)(Ok(event.text));
        }
        self.shown = Some(next);
        self.fill();
        self.end_search();
        self.learn(begun, 1);
        self.report();
    }

    /// Adds the events that were found to the time line.
    fn add(&mut self, found: Vec<Incident>) {
        if let Feed::Tape(feed) = &mut self.feed
            && !found.is_empty()
            && feed.1.add(found)
        {
            self.status.lock().timeline = Arc::clone(&feed.1.timeline);
            (self.ways.wake)();
        }
    }

    /// Learns the cost of a snapshot.
    fn learn(&mut self, begun: Instant, snapshots: u32) {
        let cost = begun.elapsed() / snapshots.max(1);
        self.cost = (self.cost * 3 + cost) / 4;
    }

    /// Shows the last snapshot that is not later than `time`, or is earlier if `is_strict`; else the first one.
    fn seek(&mut self, time: SystemTime, is_strict: bool) {
        let Feed::Tape(feed) = &mut self.feed else { return };
        let (_, tape) = &mut **feed;
        let begun = Instant::now();
        let room = (QUICK.as_nanos() / self.cost.as_nanos().max(1)).clamp(LEAST as u128, DEEP as u128) as usize;
        let group = tape.group_at(time, is_strict);
        let start = tape.back_from(group, room);
        // Of a group with too many snapshots, read the first ones only.
        let push_from = tape.timeline.groups.get(group).and_then(|group| {
            let count = group.snapshots as usize;
            let mean = group.to.duration_since(group.from).ok()? / group.snapshots.max(1);
            (count > room).then(|| time.checked_sub(mean * room as u32)).flatten()
        });
        let mut reader = tape.read(start);
        self.recent = Recent::default();
        let mut state = (self.ways.make)();
        let (mut since, mut count) = (None, 0);
        let (mut shown, mut held): (Option<Arc<Snapshot>>, Option<Arc<Snapshot>>) = (None, None);
        self.next = loop {
            let Some(snapshot) = next(&mut reader, tape, &self.ways, |_| true) else {
                break None;
            };
            count += 1;
            self.recent.add(&snapshot);
            let is_beyond = snapshot.time > time || (is_strict && snapshot.time == time);
            // It is also beyond if the clock was set back before it.
            if let Some(last) = held.as_ref().or(shown.as_ref())
                && (is_beyond || snapshot.time < last.time)
            {
                break Some(snapshot);
            }
            if !is_beyond && push_from.is_some_and(|from| snapshot.time < from) {
                held = Some(snapshot);
                continue;
            }
            for snapshot in held.take().into_iter().chain([snapshot]) {
                since.get_or_insert(snapshot.time);
                state.push(Arc::clone(&snapshot));
                shown = Some(snapshot);
            }
            if is_beyond {
                break None;
            }
        };
        if let Some(snapshot) = held {
            since.get_or_insert(snapshot.time);
            state.push(Arc::clone(&snapshot));
            shown = Some(snapshot);
        }
        let first = tape.timeline.span().map(|(first, _)| first);
        let known_since = since.filter(|since| first.is_some_and(|first| first < *since));
        feed.0 = reader;
        self.shown = shown;
        self.learn(begun, count);
        self.shows_anew(state, known_since, group);
        self.report();
    }

    /// Puts a state in place of the one that is shown.
    fn replace(&mut self, mut state: State, known_since: Option<SystemTime>) {
        let mut shared = self.shared.lock();
        // The screen notices a new number.
        state.pushed = shared.pushed + 1;
        let former = std::mem::replace(&mut *shared, state);
        drop(shared);
        self.status.lock().known_since = known_since;
        // It is large, so dropping it takes a while.
        drop(former);
    }

    /// Pushes a snapshot into the second state. Shows that state once it has reached the snapshot on the screen.
    fn deepen(&mut self) {
        let Feed::Tape(feed) = &mut self.feed else { return };
        let Some(deep) = &mut self.deep else { return };
        let (_, tape) = &**feed;
        let Some(snapshot) = next(&mut deep.reader, tape, &self.ways, |_| true) else {
            self.deep = None;
            return;
        };
        let first = tape.timeline.span().map(|(first, _)| first);
        if deep.state.pushed == 0 && first.is_some_and(|first| first < snapshot.time) {
            deep.since = Some(snapshot.time);
        }
        let alerts = deep.state.push(Arc::clone(&snapshot));
        let found = deep.incidents.of(&deep.state, &alerts);
        deep.last = Some(Arc::clone(&snapshot));
        self.add(found);
        let Some(shown) = &self.shown else { return };
        if (shown.time, shown.monotonic) == (snapshot.time, snapshot.monotonic) {
            if let Some(Deep {
                state,
                since,
                incidents,
                ..
            }) = self.deep.take()
            {
                self.incidents = incidents;
                self.replace(state, since);
                own::trim();
                self.report();
            }
        } else if snapshot.time > shown.time {
            // The clock was set back there.
            self.deep = None;
        }
    }

    /// Publishes the state of the player, and wakes the screen.
    fn report(&self) {
        let mut status = self.status.lock();
        status.position = self.shown.as_ref().map(|shown| shown.time);
        status.speed = self.player.speed();
        status.is_playing = self.player.is_playing();
        status.is_at_end = self.is_ended && self.next.is_none();
        drop(status);
        (self.ways.wake)();
    }
}

/// Returns the next snapshot that passes; `None` at the end. Damage is reported and skipped.
fn next(reader: &mut Reader, tape: &Tape, ways: &Ways, passes: impl Fn(&Snapshot) -> bool) -> Option<Arc<Snapshot>> {
    loop {
        match reader.next(tape)? {
            Ok(snapshot) if passes(&snapshot) => return Some(snapshot),
            Ok(_) => {}
            // The end of a file that is being written may be incomplete.
            Err(error) if error.is_cut() => {}
            Err(error) => (ways.say)(Err(error.to_string())),
        }
    }
}

//! The live monitor: the loop that passes events to `update`, performs its effects and draws frames.
//!
//! The screen has the main thread to itself, since a write to a stalled terminal may block for minutes. The
//! [engine](crate::engine) goes on beside it on a thread of its own, sampling, signals and keys on the runtime; they
//! reach the screen over one bounded channel.

pub mod background;
mod coldness;
mod feeds;
mod inspect;
mod keep;
mod mappings;
mod notices;
mod signals;
mod tracer;

use std::io::{self, BufWriter, Write};
use std::mem::{ManuallyDrop, swap, take};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use anyhow::Context as _;
use ratatui::backend::CrosstermBackend;
use ratatui::layout::{Position, Rect};
use ratatui::{Terminal, TerminalOptions, Viewport};

use self::coldness::Looker;
use self::keep::Keeper;
use self::mappings::Mappings;
use self::notices::{Notices, on_snapshot};
use self::tracer::Tracer;
use super::{alert::Notifier, secure, terminal};
use crate::act;
use crate::config::{Config, UiSettings, save as write};
use crate::engine::Engine;
use crate::run::fleet::Link;
use crate::sampler::{self, Handle, Options};
use crate::tui::app::App;
use crate::tui::{Effect, Event, FleetStatus, Opening, update, view};

/// Why the monitor ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// The user asked.
    Quit,
    /// The user chose processes, by their pids.
    Picked(Vec<u32>),
    /// A signal, by number.
    Signal(i32),
    /// The terminal is gone.
    Hangup,
}

/// An input of the main thread.
enum Input {
    Event(Event),
    /// The engine took in a snapshot.
    Snapshot,
    /// The terminal's size is to be asked for; not sent, but added before each frame.
    Measure,
    /// The terminal said that its background is light, or that it is dark.
    Background(bool),
    Stop,
    Continued,
    End(End),
}

/// Maximum number of inputs that wait while the terminal takes nothing; further ones are dropped, so that a terminal
/// that hangs for a day fills no memory.
const QUEUE: usize = 1024;

/// Time after which a process that received a signal is reported as still there: a server that closes its files
/// in order takes seconds.
const SIGNAL_TIMEOUT: Duration = Duration::from_secs(5);

/// Everything the monitor needs beside the config.
#[derive(Debug)]
pub struct Setup {
    /// The sampler's options.
    pub options: Options,
    /// Where `W` saves to.
    pub config_path: PathBuf,
    /// The file that the history is kept in from one start to the next; `None` to keep none.
    pub history_file: Option<PathBuf>,
    /// The fleet to show in place of this machine.
    pub fleet: Option<Link>,
    /// The reason that it is opened for.
    pub opening: Opening,
}

/// Runs the monitor until it ends.
pub fn run(config: Config, setup: Setup) -> anyhow::Result<End> {
    // Of a terminal that is gone any error may come: whoever asks it for its size gets that of the last resort tried.
    let is_gone =
        |error: &anyhow::Error| error.downcast_ref().is_some_and(terminal_gone) || terminal::is_hung_up(Duration::ZERO);
    start(config, setup).or_else(|error| if is_gone(&error) { Ok(End::Hangup) } else { Err(error) })
}

fn start(config: Config, setup: Setup) -> anyhow::Result<End> {
    sampler::make_room();
    let is_fleet = setup.fleet.is_some();
    let runtime = super::runtime_of_monitor(is_fleet)
        .thread_stack_size(512 << 10)
        .build()
        .context("cannot start the runtime")?;
    let mappings = Mappings::new(setup.options.clone());
    let looker = Looker::new(setup.options.clone(), config.settings.sampler.cold_interval);
    let roots = setup.options.roots();
    let tracer = Tracer::new(setup.options.roots());
    let (handle, feed) = feeds::start(setup.fleet, setup.options, &runtime);
    let (send, receive) = sync_channel(QUEUE);
    let ended = Arc::new(AtomicBool::new(false));
    {
        // Signals first: one that comes while the screen is being set up must find its handler.
        let _inside = runtime.enter();
        signals::watch(&runtime, &send, &ended)?;
    }
    let mouse = config.settings.ui.mouse;
    terminal::enter(mouse).context("cannot set up the terminal")?;
    let _guard = terminal::Guard;
    // Before the reader of keys is set up, which spins for ever on a terminal that is gone by then.
    signals::watch_hangup(&send, &ended)?;
    feeds::events(&send).context("cannot read the terminal")?;
    if config.if_light.is_some() {
        terminal::ask(background::QUERY).context("cannot write to the terminal")?;
    }

    for warning in &config.warnings {
        tell(&send, Event::Failed(warning.clone()));
    }
    let failed = send.clone();
    let readonly = config.settings.ui.readonly;
    let mut rules = config.settings.alerts.clone();
    for rule in rules.iter_mut().filter(|_| readonly) {
        // The rest of what it asks for changes nothing.
        rule.run.clear();
    }
    let notifier = Notifier::new(rules, move |what| {
        tell(&failed, Event::Failed(what));
    });
    let notices = Arc::new(Notices::default());
    let mut state = App::engine_state(&config.settings);
    let history = config.settings.history_config(config.settings.ui.delta);
    let mut keeper = None;
    if roots.is_own() && !is_fleet {
        state.history.set_own_pid(std::process::id());
        keeper = setup
            .history_file
            .and_then(|file| Keeper::open(file, &mut state.history, &send));
    }
    let engine = Engine::spawn(
        state,
        handle.snapshots.clone(),
        runtime.handle().clone(),
        on_snapshot(notifier, send.clone(), Arc::clone(&notices)),
    )
    .context("cannot start the engine")?;
    feed.begin(&runtime, &engine, history, &send);
    let kept = keeper.and_then(|keeper| keeper.start(engine.shared(), send.clone()).ok());
    let replies = send.clone();
    let act_worker = act::Worker::new(roots, SIGNAL_TIMEOUT, move |reply| {
        // Blocks while the screen is stuck: no reply is lost. Ends with the screen.
        let _ = replies.send(Input::Event(Event::Act(reply)));
    });
    let screen = Screen {
        sampler: handle,
        engine,
        taken_in: 0,
        send,
        notices,
        mouse,
        config_path: setup.config_path,
        opening: setup.opening,
        is_fleet,
        mappings,
        looker,
        tracer,
        act_worker: (!readonly).then_some(act_worker),
        redraw: false,
    };
    let end = screen.run(config, &receive);
    ended.store(true, Ordering::SeqCst);
    terminal::leave();
    tracer::remove();
    // Reads of /proc and of the terminal may be stuck for ever: nobody waits for them.
    runtime.shutdown_background();
    if let Some(what) = kept.and_then(keep::Running::finish) {
        super::complain(&what);
    }
    end.context("cannot draw")
}

/// Tells the main thread of an event; one that finds the queue full is lost.
fn tell(send: &SyncSender<Input>, event: Event) {
    let _ = send.try_send(Input::Event(event));
}

fn terminal_gone(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(5 | 6 | 32)) // EIO, ENXIO, EPIPE
}

/// The side of the main thread: it performs effects and draws.
struct Screen {
    sampler: Handle,
    engine: Engine,
    /// The number of snapshots that the engine had taken in when its state was looked at last.
    taken_in: u64,
    send: SyncSender<Input>,
    notices: Arc<Notices>,
    mouse: bool,
    config_path: PathBuf,
    opening: Opening,
    is_fleet: bool,
    mappings: Mappings,
    looker: Looker,
    tracer: Tracer,
    /// `None` if zmtop is read-only.
    act_worker: Option<act::Worker>,
    /// The next frame is drawn anew, whatever the terminal shows.
    redraw: bool,
}

impl Screen {
    fn run(mut self, config: Config, inputs: &Receiver<Input>) -> io::Result<End> {
        let out = BufWriter::with_capacity(1 << 16, terminal::output()?);
        let size = terminal::size()?;
        // A fixed area, since one that follows the terminal opens /dev/tty for its size at every frame.
        let viewport = Viewport::Fixed(Rect::from((Position::ORIGIN, size)));
        let terminal = Terminal::with_options(CrosstermBackend::new(out), TerminalOptions { viewport })?;
        // Dropping it writes to the terminal once more, and panics where that and stderr are gone; `terminal::leave`
        // shows the cursor.
        let mut terminal = ManuallyDrop::new(terminal);
        let mut app = App::new(config, secure::privilege(), (size.width, size.height));
        app.screen.zone = jiff::tz::TimeZone::system();
        app.fleet = self.is_fleet.then(FleetStatus::default);
        app.begin(self.opening);
        let mut first = feeds::until_background(inputs, app.config.if_light.is_some());
        loop {
            // Draws once for all that has come meanwhile.
            let waiting = take(&mut first).into_iter().chain(inputs.try_iter());
            // The size is asked for last: it may have changed since the event that told of it.
            for input in waiting.chain([Input::Measure]) {
                if let Input::End(end) = input {
                    return Ok(end);
                }
                for effect in self.update(&mut app, input)? {
                    match effect {
                        Effect::Quit => return Ok(End::Quit),
                        Effect::Pick(pids) => return Ok(End::Picked(pids)),
                        effect => self.perform(effect)?,
                    }
                }
            }
            for effect in self.draw(&mut terminal, &mut app)? {
                self.perform(effect)?;
            }
            let Ok(next) = inputs.recv() else { return Ok(End::Quit) };
            first.push(next);
        }
    }

    /// Lends the engine's state to the app while `f` runs, and has it take in a snapshot that it has not seen.
    /// Returns the effects of that, then those of `f`.
    fn with_state(&mut self, app: &mut App, f: impl FnOnce(&mut App) -> Vec<Effect>) -> Vec<Effect> {
        let mut state = self.engine.state();
        swap(&mut *state, &mut app.engine);
        let mut effects = Vec::new();
        if app.engine.pushed != self.taken_in {
            self.taken_in = app.engine.pushed;
            effects = update(app, Event::Snapshot);
        }
        effects.extend(f(app));
        swap(&mut *state, &mut app.engine);
        effects
    }

    /// Draws a frame of the present state, and tells the sampler what the screen wants.
    fn draw(&mut self, terminal: &mut Screenful, app: &mut App) -> io::Result<Vec<Effect>> {
        if take(&mut self.redraw) || terminal.current_buffer_mut().area != area(app) {
            // Forgets what the terminal is believed to show, without asking it for its cursor.
            terminal.resize(area(app))?;
        }
        if self.notices.bell.swap(false, Ordering::SeqCst) {
            // With the frame that shows why, and once however many fired.
            terminal.backend_mut().write_all(b"\x07")?;
        }
        // A terminal that knows synchronized updates shows the frame at once; another ignores the marks.
        terminal.backend_mut().write_all(b"\x1b[?2026h")?;
        let mut effects = Vec::new();
        terminal.draw(|frame| {
            // The state is given back before the frame is written, which may block.
            let mut wanted = None;
            effects = self.with_state(app, |app| {
                wanted = Some(app.wanted());
                view(app, frame);
                Vec::new()
            });
            if let Some(wanted) = wanted {
                self.sampler.want(wanted);
            }
        })?;
        terminal.backend_mut().write_all(b"\x1b[?2026l")?;
        Write::flush(terminal.backend_mut())?;
        Ok(effects)
    }

    /// Changes the state as an input asks; returns what is to be done.
    fn update(&mut self, app: &mut App, input: Input) -> io::Result<Vec<Effect>> {
        let event = match input {
            Input::Event(event) => Some(event),
            Input::Snapshot => {
                // Drawing takes it in; until then nothing else is to be done.
                self.notices.pending.store(false, Ordering::SeqCst);
                None
            }
            Input::Measure => {
                let size = terminal::size()?;
                let resized = app.screen.size != (size.width, size.height);
                resized.then_some(Event::Resize(size.width, size.height))
            }
            Input::Background(is_light) => {
                if let Some(theme) = app.config.if_light.take().filter(|_| is_light) {
                    app.config.theme = theme;
                    self.redraw = true;
                }
                None
            }
            Input::Stop => return Ok(vec![Effect::Suspend]),
            Input::Continued => {
                terminal::enter(self.mouse)?;
                self.redraw = true;
                None
            }
            Input::End(_) => None,
        };
        Ok(event
            .map(|event| self.with_state(app, |app| update(app, event)))
            .unwrap_or_default())
    }

    fn perform(&mut self, effect: Effect) -> io::Result<()> {
        match effect {
            Effect::Quit | Effect::Pick(_) => {}
            Effect::Suspend => {
                let trace = self.tracer.halt();
                terminal::stop();
                terminal::enter(self.mouse)?;
                self.tracer.turn_to(trace, &self.send);
                self.redraw = true;
            }
            Effect::Redraw => self.redraw = true,
            Effect::Save(saved) => self.save(saved),
            Effect::ScanMappings(number, ids) => self.mappings.read(number, ids, &self.send),
            Effect::Act(command) => self.act(command),
            Effect::Copy(text) => terminal::copy(&text)?,
            Effect::CancelScan => self.mappings.cancel(),
            Effect::Inspect(id) => self.mappings.inspect(id, &self.send),
            Effect::Trace(number) => self.tracer.turn_to(number, &self.send),
            Effect::Look(looks) => self.looker.turn_to(looks, &self.send),
        }
        Ok(())
    }

    fn act(&self, command: act::Command) {
        if let Some(Err(error)) = self.act_worker.as_ref().map(|worker| worker.send(command)) {
            tell(&self.send, Event::Failed(format!("nothing done: {error}")));
        }
    }

    /// Saves beside the screen: a slow disk stops no key.
    fn save(&self, saved: Box<UiSettings>) {
        let (path, send) = (self.config_path.clone(), self.send.clone());
        let started = std::thread::Builder::new().name("zmtop-save".into()).spawn(move || {
            let shown = crate::text::safe(path.as_os_str().as_encoded_bytes()).into_owned();
            let event = match write(&path, &saved) {
                Ok(()) => Event::Done(format!("saved to {shown}")),
                Err(error) => {
                    let text = error.to_string().replace('\n', "; ");
                    Event::Failed(format!("not saved: {}", crate::text::safe(text.as_bytes())))
                }
            };
            tell(&send, event);
        });
        if let Err(error) = started {
            tell(&self.send, Event::Failed(format!("not saved: {error}")));
        }
    }
}

type Screenful = Terminal<CrosstermBackend<BufWriter<std::fs::File>>>;

fn area(app: &App) -> Rect {
    Rect::new(0, 0, app.screen.size.0, app.screen.size.1)
}

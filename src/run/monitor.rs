//! The live monitor: the loop that passes events to `update`, performs the effects and draws frames.
//!
//! The screen has the main thread to itself, because a write to a stalled terminal may block for minutes. The
//! [engine](crate::engine) runs on its own thread; sampling and signals run on the runtime, and keys are read on
//! another thread. All of them reach the screen through one bounded channel.

mod armed;
pub mod decoder;
mod feeds;
mod keep;
mod mappings;
mod measurer;
mod page_cache;
mod reload;
pub mod replay;
mod sequence;
mod signals;
mod tracer;

use std::io::{self, BufWriter, Write};
use std::mem::{ManuallyDrop, swap, take};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, sync_channel};
use std::time::{Duration, Instant, SystemTime};

use anyhow::Context as _;
use ratatui::backend::CrosstermBackend;
use ratatui::layout::{Position, Rect};
use ratatui::{Terminal, TerminalOptions, Viewport};
use tokio::runtime::Runtime;

use self::armed::Armed;
pub(super) use self::feeds::StartFleet;
use self::feeds::{Notices, SharedNotifier, on_snapshot};
use self::keep::{Awaited, Keeper};
use self::mappings::Mappings;
use self::measurer::Measurer;
pub(super) use self::reload::Reload;
use self::replay::{Film, Opened, Replay, Tape, Ways};
use self::tracer::Tracer;
use super::black_box::{Outlets, OwnRecording, RecordFeed};
use super::runtime;
use super::{process, record, terminal};
use crate::act;
use crate::alert::AlertEvent;
use crate::columns::Needs;
use crate::config::{Config, Env, Settings, UiSettings, save as write, state, views};
use crate::engine::{Engine, State};
use crate::model::{FleetStatus, Snapshot};
use crate::proc::files::Roots;
use crate::recorder::{self, Place, Recorder};
use crate::sampler::{self, Handle, Options, inquiry};
use crate::text;
use crate::tui::app::{App, RecordingStatus};
use crate::tui::replay::ReplayCommand;
use crate::tui::{Effect, Event, Opening, update, view};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    Quit,
    Picked(Vec<u32>),
    Signal(i32),
    Hangup,
}

enum Input {
    Event(Event),
    Snapshot,
    /// Query the terminal's size, which may have changed. Also added before each frame.
    Measure,
    /// The terminal reported its background: true if light.
    Background(bool),
    Stop,
    Continued,
    /// The black box is open.
    Visit(io::Result<Replay>),
    End(End),
}

/// Maximum number of queued inputs while the terminal is stalled. Further inputs are dropped, so that memory stays
/// bounded even if the terminal hangs for a day.
const QUEUE: usize = 1024;

/// Time after which a process that received a signal is reported as still running. A server that closes its files in
/// order takes seconds.
const SIGNAL_TIMEOUT: Duration = Duration::from_secs(5);

pub struct Setup {
    pub options: Options,
    /// The environment. `W` saves below its home directory only if that exists.
    pub env: Env,
    /// The file that keeps the history between runs; `None` to keep none.
    pub history_file: Option<PathBuf>,
    /// The destinations of snapshots.
    pub(super) outlets: Outlets,
    /// Starts the task that publishes a fleet's snapshots, to show those instead of this machine.
    pub(super) fleet: Option<StartFleet>,
    /// A recording to show in place of this machine.
    pub(super) replay: Option<Opened>,
    pub opening: Opening,
    /// Reads the config again after its files changed.
    pub(super) reload: Reload,
    /// The name of the view that the settings are of.
    pub view: Option<String>,
}

pub fn run(config: Config, setup: Setup) -> anyhow::Result<End> {
    // Any error can result from a terminal that is gone: a query for its size returns the error of the last fallback.
    let is_gone =
        |error: &anyhow::Error| error.downcast_ref().is_some_and(terminal_gone) || terminal::is_hung_up(Duration::ZERO);
    start(config, setup).or_else(|error| if is_gone(&error) { Ok(End::Hangup) } else { Err(error) })
}

fn small_runtime() -> io::Result<Runtime> {
    runtime::builder().thread_stack_size(512 << 10).build()
}

fn start(mut config: Config, setup: Setup) -> anyhow::Result<End> {
    sampler::make_room();
    let is_fleet = setup.fleet.is_some();
    let runtime = small_runtime().context("cannot start the runtime")?;
    let own = Arc::clone(&setup.outlets.own);
    let mappings = Mappings::new(setup.options.clone(), config.settings.sampler.cold_interval);
    let roots = setup.options.roots();
    let tracer = Tracer::new(setup.options.roots());
    let (handle, feed) = feeds::start(setup.fleet, setup.replay.is_some(), setup.options, &runtime);
    let (send, receive) = sync_channel(QUEUE);
    let ended = Arc::new(AtomicBool::new(false));
    {
        // Install signal handlers first, so that signals during the setup of the screen are handled.
        let _inside = runtime.enter();
        signals::watch(&runtime, &send, &ended)?;
    }
    let mouse = config.settings.ui.mouse;
    terminal::enter(mouse).context("cannot set up the terminal")?;
    let _guard = terminal::Guard;
    signals::watch_hangup(&send, &ended)?;
    let asks = config.if_light.is_some();
    feeds::events(&send, asks).context("cannot read the terminal")?;
    if asks {
        terminal::ask(decoder::BACKGROUND_QUERY).context("cannot write to the terminal")?;
    }

    let readonly = config.settings.ui.readonly;
    let notifier = SharedNotifier::new(readonly, send.clone());
    notifier.add(config.settings.alerts.iter().cloned().enumerate());
    if let Err(error) = reload::watch(&config, setup.reload, send.clone(), Arc::clone(&ended)) {
        config
            .warnings
            .push(format!("changes of the config are not detected: {error}"));
    }
    let notices = Arc::new(Notices::default());
    let mut state = App::engine_state(&config.settings);
    let history = config.settings.history_config(config.settings.ui.delta);
    let mut keeper = None;
    let is_machine = roots.is_own() && !is_fleet && setup.replay.is_none();
    if is_machine {
        state.history.set_own_pid(std::process::id());
        keeper = setup
            .history_file
            .and_then(|file| Keeper::open(file, &setup.env, &mut state.history, &mut config.warnings));
    }
    if !config.warnings.is_empty() {
        // A message shows as many of them as fit. The list of alerts shows all.
        tell(&send, Event::Failed(config.warnings.join("; ")));
    }
    // The black box needs more than the screen.
    let recorded = setup.outlets.recorder.as_ref().map_or(Needs::NOTHING, |_| Needs::EXITS);
    let notify = on_snapshot(notifier.clone(), send.clone(), Arc::clone(&notices));
    let most_armed = Arc::new(AtomicU16::new(config.settings.callers.armed));
    let armed = (cfg!(feature = "code") && is_machine).then(|| Armed::new(Arc::clone(&most_armed), send.clone()));
    let engine = start_engine(state, &handle, &runtime, setup.outlets, armed, send.clone(), notify)
        .context("cannot start the engine")?;
    feed.begin(&runtime, &engine, history, &send);
    let (failures, history) = Awaited::new("the history", "history not kept");
    let stop_keeping = keeper
        .map(|keeper| keeper.start(engine.shared(), send.clone(), failures))
        .transpose()
        .unwrap_or_else(|error| {
            tell(&send, Event::Failed(format!("nothing is kept: {error}")));
            None
        });
    let (save_failures, settings) = Awaited::new("the settings", "settings not saved");
    let act_worker = act_worker(roots, send.clone());
    let mut screen = Screen {
        sampler: handle,
        engine,
        taken_in: 0,
        send,
        notices,
        mouse,
        config_path: config.file.clone(),
        settings: config.settings.clone(),
        view: setup.view,
        env: setup.env,
        ended: Arc::clone(&ended),
        save_failures,
        opening: setup.opening,
        is_fleet,
        mappings,
        tracer,
        measurer: Measurer::default(),
        most_armed,
        act_worker: (!readonly).then_some(act_worker),
        redraw: false,
        notifier,
        is_light: None,
        recorded,
        own,
        replay: None,
    };
    if let Some(opened) = setup.replay {
        screen.replay = Some(Replay::start(opened, screen.ways()).context("cannot start the player")?);
    }
    let end = screen.run(config, &receive);
    ended.store(true, Ordering::SeqCst);
    terminal::leave();
    tracer::remove();
    drop(stop_keeping);
    keep::finish([history, settings]);
    // Do not wait for reads of /proc or of the terminal, which may be stuck for ever. Signals are handled up to here.
    runtime.shutdown_background();
    end.context("cannot draw")
}

fn act_worker(roots: Roots, send: SyncSender<Input>) -> act::Worker {
    act::Worker::new(roots, SIGNAL_TIMEOUT, move |reply| {
        // Blocks while the screen is stuck, so that no reply is lost. Ends with the screen.
        let _ = send.send(Input::Event(Event::Act(reply)));
    })
}

/// Starts the engine, whose snapshots and alerts go to the outlets, and then to `notify`.
fn start_engine(
    state: State,
    handle: &Handle,
    runtime: &Runtime,
    outlets: Outlets,
    mut armed: Option<Armed>,
    send: SyncSender<Input>,
    mut notify: impl FnMut(&Arc<Snapshot>, &[AlertEvent]) + Send + 'static,
) -> io::Result<Engine> {
    let mut feed = RecordFeed::new(outlets);
    let shared = feed.state();
    let own = Arc::clone(&shared);
    let on_snapshot = move |snapshot: &Arc<_>, alerts: &[_]| {
        feed.push(snapshot, alerts);
        if let Some(what) = feed.news() {
            tell(&send, Event::Failed(what));
        }
        if let (Some(armed), Some(state)) = (&mut armed, own.get()) {
            armed.follow(state);
        }
        notify(snapshot, alerts);
    };
    let engine = Engine::spawn(state, handle.snapshots.clone(), runtime.handle().clone(), on_snapshot)?;
    let _ = shared.set(engine.shared());
    Ok(engine)
}

/// Sends an event to the main thread. Drops it if the queue is full.
fn tell(send: &SyncSender<Input>, event: Event) {
    let _ = send.try_send(Input::Event(event));
}

fn terminal_gone(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(5 | 6 | 32)) // EIO, ENXIO, EPIPE
}

/// The main thread's state: it performs effects and draws.
struct Screen {
    sampler: Handle,
    engine: Engine,
    /// The engine's snapshot count when its state was last read.
    taken_in: u64,
    send: SyncSender<Input>,
    notices: Arc<Notices>,
    mouse: bool,
    /// The file that `W` saves to; `None` if there is no place for it.
    config_path: Option<PathBuf>,
    /// The settings of the config, which a view changes in part.
    settings: Settings,
    env: Env,
    ended: Arc<AtomicBool>,
    save_failures: Sender<String>,
    opening: Opening,
    view: Option<String>,
    is_fleet: bool,
    mappings: Mappings,
    tracer: Tracer,
    measurer: Measurer,
    most_armed: Arc<AtomicU16>,
    /// `None` if zmtop is read-only.
    act_worker: Option<act::Worker>,
    /// Draw the whole next frame, whatever the terminal shows.
    redraw: bool,
    notifier: SharedNotifier,
    /// The terminal's background, if it reported that.
    is_light: Option<bool>,
    /// The needs of the black box.
    recorded: Needs,
    own: OwnRecording,
    /// The recording that is shown. The engine of this machine continues in the background.
    replay: Option<Replay>,
}

impl Screen {
    fn run(mut self, config: Config, inputs: &Receiver<Input>) -> io::Result<End> {
        let out = BufWriter::with_capacity(1 << 16, terminal::output()?);
        let size = terminal::size()?;
        // Use a fixed area. A viewport that follows the terminal opens /dev/tty for the size at every frame.
        let viewport = Viewport::Fixed(Rect::from((Position::ORIGIN, size)));
        let terminal = Terminal::with_options(CrosstermBackend::new(out), TerminalOptions { viewport })?;
        // Never drop it: that writes to the terminal again, and panics if both the terminal and stderr are gone.
        // `terminal::leave` shows the cursor.
        let mut terminal = ManuallyDrop::new(terminal);
        let mut app = App::new(config, process::privilege(), (size.width, size.height));
        app.screen.zone = crate::zone::local();
        app.fleet = self.is_fleet.then(FleetStatus::default);
        app.begin(self.opening);
        app.screen.view = self.view.take();
        let mut first = feeds::until_background(inputs, app.config.if_light.is_some());
        let mut pause_end = None;
        loop {
            // Draw once for all queued inputs.
            let waiting = take(&mut first).into_iter().chain(inputs.try_iter());
            // Query the size last, since it may have changed after the event that reported it.
            for input in waiting.chain([Input::Measure]) {
                if let Input::End(end) = input {
                    return Ok(end);
                }
                if matches!(input, Input::Event(Event::Key(_))) {
                    pause_end = None;
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
            let Some(next) = next_input(&app, inputs, &mut pause_end) else {
                return Ok(End::Quit);
            };
            first.push(next);
        }
    }

    /// Lends the engine's state to the app while `f` runs. First passes a new snapshot, if any, to the app. Returns the
    /// effects of that, then the effects of `f`.
    fn with_state(&mut self, app: &mut App, f: impl FnOnce(&mut App) -> Vec<Effect>) -> Vec<Effect> {
        let shared = match &self.replay {
            Some(replay) => Arc::clone(&replay.state),
            None => self.engine.shared(),
        };
        app.set_replay(self.replay.as_ref().map(Replay::status));
        app.recording = self.own.lock().as_ref().map(|recorder| RecordingStatus {
            fault: recorder.status().fault,
        });
        let mut state = shared.lock();
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

    /// Draws a frame of the current state, and passes the screen's needs to the sampler.
    fn draw(&mut self, terminal: &mut Screenful, app: &mut App) -> io::Result<Vec<Effect>> {
        if take(&mut self.redraw) || terminal.current_buffer_mut().area != area(app) {
            // Invalidate the previous frame without querying the terminal's cursor.
            terminal.resize(area(app))?;
        }
        if self.notices.bell.swap(false, Ordering::SeqCst) {
            // Ring once, however many alerts fired, together with the frame that shows them.
            terminal.backend_mut().write_all(b"\x07")?;
        }
        // A terminal with synchronized updates shows the frame at once. Others ignore the marks.
        terminal.backend_mut().write_all(b"\x1b[?2026h")?;
        let mut effects = Vec::new();
        terminal.draw(|frame| {
            // Return the state before writing the frame, which may block.
            let mut wanted = None;
            effects = self.with_state(app, |app| {
                wanted = Some(app.wanted());
                view(app, frame);
                Vec::new()
            });
            // The sampler behind a recording goes on as before.
            if let Some(mut wanted) = wanted.filter(|_| self.replay.is_none()) {
                wanted.needs = wanted.needs.and(self.recorded);
                if self.own.lock().is_some() {
                    wanted.needs = wanted.needs.and(record::needs());
                }
                self.sampler.want(wanted);
            }
        })?;
        terminal.backend_mut().write_all(b"\x1b[?2026l")?;
        Write::flush(terminal.backend_mut())?;
        Ok(effects)
    }

    /// Applies an input to the state. Returns the effects to perform.
    fn update(&mut self, app: &mut App, input: Input) -> io::Result<Vec<Effect>> {
        let event = match input {
            Input::Event(Event::Config(Ok(mut config))) => {
                if let Some(theme) = config.if_light.take().filter(|_| self.is_light == Some(true)) {
                    config.theme = theme;
                }
                self.settings.clone_from(&config.settings);
                self.most_armed.store(config.settings.callers.armed, Ordering::Relaxed);
                Some(Event::Config(Ok(config)))
            }
            Input::Event(event) => Some(event),
            Input::Snapshot => {
                // Drawing processes the snapshot. Nothing else is to be done before.
                self.notices.pending.store(false, Ordering::SeqCst);
                None
            }
            Input::Measure => {
                let size = terminal::size()?;
                let resized = app.screen.size != (size.width, size.height);
                resized.then_some(Event::Resize(size.width, size.height))
            }
            Input::Background(is_light) => {
                self.is_light = Some(is_light);
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
            // The user may have changed their mind.
            Input::Visit(_) if app.requests.visits.is_none() => None,
            Input::Visit(Ok(replay)) => {
                self.replay = Some(replay);
                self.taken_in = u64::MAX;
                None
            }
            Input::Visit(Err(error)) => Some(Event::Failed(format!("the black box is not shown: {error}"))),
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
                if !process::can_stop() {
                    tell(
                        &self.send,
                        Event::Failed("not suspended: no shell here could resume zmtop".into()),
                    );
                    return Ok(());
                }
                let trace = self.tracer.halt();
                terminal::stop();
                terminal::enter(self.mouse)?;
                self.tracer.turn_to(trace, &self.send);
                self.redraw = true;
            }
            Effect::Redraw => self.redraw = true,
            Effect::Save(name, saved) => self.save(&name, saved),
            Effect::ReadViews => self.read_views(),
            Effect::DeleteView(name) => self.delete_view(name),
            Effect::Ask(inquiry, id) => {
                let (proc, send) = (self.mappings.options().proc_root.clone(), self.send.clone());
                let ask = move || {
                    let found = inquiry::read(&proc, id, inquiry);
                    // Waits while the screen is stuck. Ends with it.
                    let _ = send.send(Input::Event(Event::Answered(inquiry, id, found)));
                };
                self.beside("zmtop-ask", ask);
            }
            Effect::ScanMappings(number, ids) => self.mappings.scan(number, ids, &self.send),
            Effect::Act(command) => self.act(command),
            Effect::NotifyBy(settings) => self.notifier.add(settings),
            Effect::Copy(text) => terminal::copy(&text)?,
            Effect::ReadCache(number, cgroup) => {
                page_cache::start(self.mappings.options().clone(), number, cgroup, &self.send);
            }
            Effect::CancelScan => self.mappings.cancel(),
            Effect::Inspect(id) => self.mappings.inspect(id, &self.send),
            Effect::Measure(of) => self.measurer.turn_to(of, &self.send),
            Effect::Trace(number) => self.tracer.turn_to(number, &self.send),
            Effect::Look(looks) => self.mappings.look(looks, &self.send),
            Effect::Replay(ReplayCommand::Leave) => {
                self.replay = None;
                // The state of now differs from what is shown, whatever its number.
                self.taken_in = u64::MAX;
            }
            Effect::Replay(command) => {
                if let Some(replay) = &self.replay {
                    replay.command(command);
                }
            }
            Effect::Record(Some(path)) => self.record(path),
            Effect::Record(None) => self.end_recording(),
            Effect::Visit(at) => self.visit(at),
        }
        Ok(())
    }

    /// Starts a recording of the user on a thread of its own, since the disk may be slow.
    fn record(&self, path: String) {
        let (own, send, env) = (Arc::clone(&self.own), self.send.clone(), self.env.clone());
        let settings = self.settings.record.clone();
        let start = move || {
            let shown = text::safe(path.as_bytes()).into_owned();
            let of_home = path.strip_prefix("~/").zip(env.home.as_ref());
            let path = of_home.map_or_else(|| path.clone().into(), |(rest, home)| PathBuf::from(home).join(rest));
            let event = match Recorder::start(recorder::Options::new(Place::File(path), &settings)) {
                Ok(recorder) => {
                    *own.lock() = Some(recorder);
                    Event::Done(format!("recording into {shown}"))
                }
                Err(error) => Event::Failed(format!(
                    "not recorded: {shown}: {}",
                    text::safe(error.to_string().as_bytes())
                )),
            };
            tell(&send, event);
        };
        self.beside("zmtop-file", start);
    }

    fn end_recording(&self) {
        let Some(recorder) = self.own.lock().take() else { return };
        let send = self.send.clone();
        let end = move || {
            let status = recorder.end();
            let file = status.file.as_ref().map_or_else(String::new, |file| {
                text::safe(file.as_os_str().as_encoded_bytes()).into_owned()
            });
            let event = match &status.fault {
                Some(fault) => Event::Failed(format!("{}; the end is missing: {fault}", record::summary(&status))),
                None => Event::Done(format!("{}: zmtop replay {file}", record::summary(&status))),
            };
            tell(&send, event);
        };
        self.beside("zmtop-file", end);
    }

    /// Opens the black box on a thread of its own, since it may be large, to be shown at that time.
    fn visit(&self, at: SystemTime) {
        let (env, send, ways) = (self.env.clone(), self.send.clone(), self.ways());
        let open = move || {
            let tape =
                state::blackbox_path(&env).and_then(|path| Tape::open(&[path]).map_err(|error| error.to_string()));
            let input = match tape {
                Ok(tape) => {
                    let opened = Opened {
                        film: Film::Tape(tape),
                        name: "the black box".into(),
                        at: Some(at),
                        speed: 1,
                        is_playing: false,
                        is_visit: true,
                    };
                    Input::Visit(Replay::start(opened, ways))
                }
                Err(why) => Input::Visit(Err(io::Error::other(why))),
            };
            let _ = send.send(input);
        };
        self.beside("zmtop-past", open);
    }

    /// Returns the ways of a player to the screen.
    fn ways(&self) -> Ways {
        let settings = self.settings.clone();
        let (notices, waker, send) = (Arc::clone(&self.notices), self.send.clone(), self.send.clone());
        let say = move |said: Result<String, String>| {
            tell(&send, said.map_or_else(Event::Failed, Event::Done));
        };
        Ways {
            make: Box::new(move || App::engine_state(&settings)),
            wake: Box::new(move || notices.wake(&waker)),
            say: Box::new(say),
        }
    }

    fn act(&self, command: act::Command) {
        if let Some(Err(error)) = self.act_worker.as_ref().map(|worker| worker.send(command)) {
            tell(&self.send, Event::Failed(format!("nothing done: {error}")));
        }
    }

    /// Saves on a separate thread, so that a slow disk does not block keys.
    fn save(&self, name: &str, saved: Box<UiSettings>) {
        let Some(path) = self.config_path.as_ref().map(|config| views::file_of(config, name)) else {
            let what = format!("not saved: {}", self.env.why_no_folder("XDG_CONFIG_HOME"));
            return tell(&self.send, Event::Failed(what));
        };
        let (env, send) = (self.env.clone(), self.send.clone());
        let (ended, failures) = (Arc::clone(&self.ended), self.save_failures.clone());
        let started = std::thread::Builder::new().name("zmtop-save".into()).spawn(move || {
            let written = match state::missing_home(&env, &path) {
                Some(why) => Err(why),
                None => write(&path, &saved).map_err(|error| error.to_string()),
            };
            match written {
                Ok(()) => {
                    let shown = text::safe(path.as_os_str().as_encoded_bytes());
                    tell(&send, Event::Done(format!("saved to {shown}")));
                }
                Err(error) => {
                    let text = error.replace('\n', "; ");
                    let what = format!("not saved: {}", text::safe(text.as_bytes()));
                    if ended.load(Ordering::SeqCst) {
                        let _ = failures.send(what);
                    } else {
                        tell(&send, Event::Failed(what));
                    }
                }
            }
        });
        if let Err(error) = started {
            tell(&self.send, Event::Failed(format!("not saved: {error}")));
        }
    }

    /// Reads the views on a separate thread, for the same reason.
    fn read_views(&self) {
        let (path, base, send) = (self.config_path.clone(), self.settings.clone(), self.send.clone());
        let read = move || {
            let views = path.map_or_else(Vec::new, |path| views::list(&path, &base));
            tell(&send, Event::Views(views));
        };
        self.beside("zmtop-views", read);
    }

    fn delete_view(&self, name: String) {
        let Some(path) = self.config_path.clone() else { return };
        let send = self.send.clone();
        let delete = move || {
            let event = match views::delete(&path, &name) {
                Ok(()) => Event::Done(format!("view {name} deleted")),
                Err(error) => Event::Failed(format!("view {name} not deleted: {error}")),
            };
            tell(&send, event);
        };
        self.beside("zmtop-views", delete);
    }

    /// Runs something that may block on a thread of its own.
    fn beside(&self, name: &str, run: impl FnOnce() + Send + 'static) {
        if let Err(error) = std::thread::Builder::new().name(name.into()).spawn(run) {
            tell(&self.send, Event::Failed(format!("not done: {error}")));
        }
    }
}

/// Waits for the next input; while a pause between keys matters, until `pause_end` at most, when the pause itself is one. `None`
/// if the inputs ended.
fn next_input(app: &App, inputs: &Receiver<Input>, pause_end: &mut Option<Instant>) -> Option<Input> {
    let Some(pause) = app.key_pause() else {
        *pause_end = None;
        return inputs.recv().ok();
    };
    let end = *pause_end.get_or_insert_with(|| Instant::now() + pause);
    match inputs.recv_timeout(end.saturating_duration_since(Instant::now())) {
        Ok(input) => Some(input),
        Err(RecvTimeoutError::Timeout) => Some(Input::Event(Event::KeyPause)),
        Err(RecvTimeoutError::Disconnected) => None,
    }
}

type Screenful = Terminal<CrosstermBackend<BufWriter<std::fs::File>>>;

fn area(app: &App) -> Rect {
    Rect::new(0, 0, app.screen.size.0, app.screen.size.1)
}

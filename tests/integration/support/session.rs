//! The whole monitor in-process: a made machine with a fake clock, keys in, a picture out.

use std::sync::Arc;
use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use tokio::sync::watch;
use zmtop::alert::AlertEvent;
use zmtop::config::{Chord, Config, Env};
use zmtop::model::{ProcessSample, Snapshot};
use zmtop::sampler::{Handle, Needs, Wanted};
use zmtop::tui::app::{App, Privilege};
use zmtop::tui::{Effect, Event, update, view};

use super::machine::machine;
pub(crate) use super::machine::{busy, cgroups, grouped};
use super::world::World;

/// A running monitor.
pub(crate) struct Session {
    pub(crate) app: App,
    pub(crate) terminal: Terminal<TestBackend>,
    /// Every effect asked for so far.
    pub(crate) effects: Vec<Effect>,
    /// The alerts that fired or were resolved so far.
    pub(crate) alerts: Vec<AlertEvent>,
    /// Everything the sampler was told is wanted so far.
    pub(crate) wanted: Vec<Wanted>,
    /// The world on which the effects are performed.
    pub(crate) world: World,
    /// The monitor was left.
    pub(crate) ended: bool,
    handle: Handle,
    changes: watch::Receiver<Wanted>,
    now: Duration,
    /// The moment of the last event of the mouse.
    moused: Duration,
}

impl Session {
    /// Sizes of the screen at which little fits, or everything.
    pub(crate) const ODD_SIZES: [(u16, u16); 9] = [
        (1, 1),
        (1, 50),
        (2, 2),
        (3, 7),
        (20, 5),
        (50, 3),
        (150, 9),
        (500, 1),
        (500, 200),
    ];

    /// A monitor with the shipped config on a screen of that size.
    pub(crate) fn new(width: u16, height: u16) -> Self {
        Self::with_env(width, height, &env())
    }

    /// The same in another environment.
    pub(crate) fn with_env(width: u16, height: u16, env: &Env) -> Self {
        let config = Config::load(None, env).unwrap();
        let privilege = Privilege {
            root: false,
            capability: "CAP_PERFMON",
            program: "/usr/bin/zmtop".into(),
        };
        let interval = config.settings.sampler.interval;
        let (wanted, changes) = watch::channel(Wanted::every(interval));
        let mut session = Self {
            app: App::new(config, privilege, (width, height)),
            terminal: Terminal::new(TestBackend::new(width, height)).unwrap(),
            effects: Vec::new(),
            alerts: Vec::new(),
            wanted: vec![Wanted::every(interval)],
            world: World::default(),
            ended: false,
            handle: Handle {
                snapshots: watch::channel(None).1,
                wanted,
            },
            changes,
            now: Duration::from_secs(1000),
            moused: Duration::ZERO,
        };
        session.want();
        session
    }

    /// One event, and the effects that it has, performed as the real loop does.
    pub(crate) fn feed(&mut self, event: Event) -> &mut Self {
        assert!(!self.ended, "the monitor was left before {event:?}");
        for effect in update(&mut self.app, event) {
            match effect {
                Effect::Quit => self.ended = true,
                Effect::Suspend | Effect::Redraw => self.terminal.clear().unwrap(),
                ref other => self.world.perform(other),
            }
            self.effects.push(effect);
            if self.ended {
                return self;
            }
        }
        self.want();
        self
    }

    /// Feeds what the effects so far led to.
    pub(crate) fn answers(&mut self) -> &mut Self {
        for event in self.world.answers() {
            self.feed(event);
        }
        self
    }

    /// Tells the sampler what is wanted, as the real loop does after each event.
    fn want(&mut self) {
        self.handle.want(self.app.wanted());
        if self.changes.has_changed().unwrap() {
            self.wanted.push(self.changes.borrow_and_update().clone());
        }
    }

    /// Returns the needs beside memory that the sampler was given, in order and without repetitions.
    pub(crate) fn needs(&self) -> Vec<Needs> {
        let mut needs: Vec<Needs> = self.wanted.iter().map(|wanted| wanted.needs).collect();
        needs.dedup();
        needs
    }

    /// Returns the pids in the last focus of the sampler.
    pub(crate) fn focused(&self) -> Vec<u32> {
        self.wanted.last().unwrap().focus.iter().map(|id| id.pid).collect()
    }

    /// Keys by their names, a space between: `j j Enter C-l`. After each one there is a pause.
    pub(crate) fn keys(&mut self, names: &str) -> &mut Self {
        for name in names.split_whitespace() {
            let chord: Chord = name.parse().unwrap();
            self.feed(Event::Key(KeyEvent::new(chord.code, chord.modifiers)));
            if self.app.screen.held_digit.is_some() {
                self.feed(Event::KeyPause);
            }
        }
        self
    }

    /// A text, typed character by character without a pause.
    pub(crate) fn types(&mut self, text: &str) -> &mut Self {
        for c in text.chars() {
            self.feed(Event::Key(KeyEvent::new(KeyCode::Char(c), KeyModifiers::NONE)));
        }
        self
    }

    /// A click of the left button, long after the one before.
    pub(crate) fn click(&mut self, column: u16, row: u16) -> &mut Self {
        self.click_after(1000, column, row)
    }

    /// A click of the left button so many milliseconds after the last event of the mouse.
    pub(crate) fn click_after(&mut self, millis: u64, column: u16, row: u16) -> &mut Self {
        self.moused += Duration::from_millis(millis);
        self.mouse(MouseEventKind::Down(MouseButton::Left), column, row)
    }

    /// Any mouse event.
    pub(crate) fn mouse(&mut self, kind: MouseEventKind, column: u16, row: u16) -> &mut Self {
        let event = MouseEvent {
            kind,
            column,
            row,
            modifiers: KeyModifiers::NONE,
        };
        self.feed(Event::Mouse(event, self.moused))
    }

    /// A snapshot of these processes, `after` the last one.
    pub(crate) fn tick(&mut self, after: u64, processes: Vec<ProcessSample>) -> &mut Self {
        self.tick_with(after, processes, |_| {})
    }

    /// The same, with something more in the snapshot.
    pub(crate) fn tick_with(
        &mut self,
        after: u64,
        processes: Vec<ProcessSample>,
        change: impl FnOnce(&mut Snapshot),
    ) -> &mut Self {
        self.now += Duration::from_secs(after);
        let mut made = machine(self.now, processes);
        change(&mut made);
        self.push(made)
    }

    /// Has the engine take in a snapshot, and the screen take notice.
    pub(crate) fn push(&mut self, snapshot: Snapshot) -> &mut Self {
        self.alerts.extend(self.app.engine.push(Arc::new(snapshot)));
        self.feed(Event::Snapshot)
    }

    /// A minute of the made machine whose processes are in units, containers and cgroups.
    pub(crate) fn grouped_minute(&mut self) -> &mut Self {
        for step in 0..=12 {
            self.tick_with(5, grouped(step), |s| s.cgroups = Arc::new(cgroups()));
        }
        self
    }

    /// The names of the groups of the active table, in order.
    pub(crate) fn group_names(&self) -> Vec<String> {
        let lines = self.app.tables.current().rows.iter();
        lines
            .filter_map(|l| Some(String::from_utf8_lossy(l.key.group()?.label()).into_owned()))
            .collect()
    }

    /// The selected group's name.
    pub(crate) fn selected_group(&self) -> Option<String> {
        let key = self.app.tables.current().selected.as_ref()?.group()?;
        Some(String::from_utf8_lossy(key.label()).into_owned())
    }

    /// A minute of the made machine, a snapshot every five seconds: one process grows, one shrinks.
    pub(crate) fn minute(&mut self) -> &mut Self {
        for step in 0..=12 {
            self.tick(5, busy(step));
        }
        self
    }

    /// The frame as drawn now.
    pub(crate) fn frame(&mut self) -> Buffer {
        let (width, height) = self.app.screen.size;
        self.terminal.backend_mut().resize(width, height);
        self.terminal.draw(|f| view(&self.app, f)).unwrap();
        self.terminal.backend().buffer().clone()
    }

    /// The frame as text, without the spaces at the ends of lines.
    pub(crate) fn picture(&mut self) -> String {
        let frame = self.frame();
        let area = frame.area;
        let lines = (0..area.height).map(|y| {
            let line: String = (0..area.width).map(|x| frame[(x, y)].symbol()).collect();
            line.trim_end().to_owned()
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    /// The line of the picture that holds `text`.
    pub(crate) fn line(&mut self, text: &str) -> String {
        let picture = self.picture();
        let found = picture.lines().find(|l| l.contains(text));
        found
            .unwrap_or_else(|| panic!("no line holds {text:?}:\n{picture}"))
            .to_owned()
    }

    /// The pids of the active table, in order.
    pub(crate) fn pids(&self) -> Vec<u32> {
        self.app
            .tables
            .current()
            .rows
            .iter()
            .filter_map(|l| Some(l.key.process()?.pid))
            .collect()
    }

    /// The selected pid.
    pub(crate) fn selected(&self) -> Option<u32> {
        self.app.tables.current().selected.as_ref()?.process().map(|id| id.pid)
    }
}

/// Asserts that no cell of a frame holds what a terminal obeys or that turns the direction of text.
#[track_caller]
pub(crate) fn assert_tame(frame: &Buffer) {
    for cell in &frame.content {
        let bad = |c: char| {
            c.is_control() || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
        };
        assert!(!cell.symbol().contains(bad), "{:?} reached the screen", cell.symbol());
    }
}

/// An environment with 256 colours, UTF-8 and no files.
pub(crate) fn env() -> Env {
    Env {
        term: Some("xterm-256color".into()),
        utf8: true,
        ..Env::default()
    }
}

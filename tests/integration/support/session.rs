//! The whole monitor in-process: a made machine with a fake clock, keys in, a picture out.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use tokio::sync::watch;
use zmtop::config::{Chord, Config, Env};
use zmtop::model::system::{Psi, SwapArea, Zram};
use zmtop::model::{CgroupFigures, Missing, ProcessSample, Sampling, SelfCost, Snapshot};
use zmtop::sampler::{Handle, Needs, Wanted};
use zmtop::tui::app::{App, Privilege};
use zmtop::tui::{Effect, Event, update, view};

use super::rows::{MIB, process, snapshot, walk, with_facts};

/// A running monitor.
pub(crate) struct Session {
    pub(crate) app: App,
    pub(crate) terminal: Terminal<TestBackend>,
    /// Every effect asked for so far.
    pub(crate) effects: Vec<Effect>,
    /// Everything the sampler was told is wanted so far.
    pub(crate) wanted: Vec<Wanted>,
    handle: Handle,
    changes: watch::Receiver<Wanted>,
    now: Duration,
}

impl Session {
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
        };
        let interval = config.settings.sampler.interval;
        let (wanted, changes) = watch::channel(Wanted::every(interval));
        let mut session = Self {
            app: App::new(config, privilege, (width, height)),
            terminal: Terminal::new(TestBackend::new(width, height)).unwrap(),
            effects: Vec::new(),
            wanted: vec![Wanted::every(interval)],
            handle: Handle {
                snapshots: watch::channel(None).1,
                wanted,
            },
            changes,
            now: Duration::from_secs(1000),
        };
        session.want();
        session
    }

    /// One event.
    pub(crate) fn feed(&mut self, event: Event) -> &mut Self {
        self.effects.extend(update(&mut self.app, event));
        self.want();
        self
    }

    /// Tells the sampler what is wanted, as the real loop does after each event.
    fn want(&mut self) {
        self.handle.want(self.app.wanted());
        if self.changes.has_changed().unwrap() {
            self.wanted.push(self.changes.borrow_and_update().clone());
        }
    }

    /// What the sampler was told to read beside memory, in order; what did not change is not told again.
    pub(crate) fn needs(&self) -> Vec<Needs> {
        let mut needs: Vec<Needs> = self.wanted.iter().map(|wanted| wanted.needs).collect();
        needs.dedup();
        needs
    }

    /// The pids that the sampler was last told somebody looks at.
    pub(crate) fn focused(&self) -> Vec<u32> {
        self.wanted.last().unwrap().focus.iter().map(|id| id.pid).collect()
    }

    /// Keys by their names, a space between: `j j Enter C-l`.
    pub(crate) fn keys(&mut self, names: &str) -> &mut Self {
        for name in names.split_whitespace() {
            let chord: Chord = name.parse().unwrap();
            self.feed(Event::Key(KeyEvent::new(chord.code, chord.modifiers)));
        }
        self
    }

    /// A text, typed character by character.
    pub(crate) fn types(&mut self, text: &str) -> &mut Self {
        for c in text.chars() {
            self.feed(Event::Key(KeyEvent::new(KeyCode::Char(c), KeyModifiers::NONE)));
        }
        self
    }

    /// A click of the left button.
    pub(crate) fn click(&mut self, column: u16, row: u16) -> &mut Self {
        self.mouse(MouseEventKind::Down(MouseButton::Left), column, row)
    }

    /// Any mouse event.
    pub(crate) fn mouse(&mut self, kind: MouseEventKind, column: u16, row: u16) -> &mut Self {
        self.feed(Event::Mouse(MouseEvent {
            kind,
            column,
            row,
            modifiers: KeyModifiers::NONE,
        }))
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
        self.feed(Event::Snapshot(Arc::new(made)))
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

/// An environment with 256 colours and no files.
pub(crate) fn env() -> Env {
    Env {
        term: Some("xterm-256color".into()),
        ..Env::default()
    }
}

/// The made machine's processes after so many steps.
pub(crate) fn busy(step: u64) -> Vec<ProcessSample> {
    let user = |name: &'static [u8], uid: u32, p: ProcessSample| {
        with_facts(p, |f| {
            f.user = Ok(Arc::from(name));
            f.uid = Ok(uid);
        })
    };
    let with = |p: ProcessSample, pss: u64, swap: u64| ProcessSample {
        walk: Ok(walk(pss, swap)),
        ..p
    };
    let mut kernel = process(2, 0, "");
    kernel.stat.flags = zmtop::model::Stat::PF_KTHREAD;
    kernel.walk = Err(Missing::KernelThread);
    let kernel = with_facts(kernel, |f| {
        f.comm = b"kthreadd"[..].into();
        f.cmdline = Ok(Box::default());
    });
    let mut hidden = process(700, 1, "/usr/sbin/secretd --quiet");
    hidden.walk = Err(Missing::Denied);
    let postgres = |pid, parent, title, pss, swap| {
        user(
            b"postgres",
            110,
            with(process(pid, parent, title), pss * MIB, swap * MIB),
        )
    };
    vec![
        with(process(1, 0, "/sbin/init"), 9 * MIB, 0),
        kernel,
        postgres(400, 1, "/usr/bin/postgres -D /var/lib/postgresql", 310, 12),
        postgres(401, 400, "postgres: checkpointer", 120, 4),
        postgres(402, 400, "postgres: alice orders idle", 96, 700 - 20 * step),
        hidden,
        user(
            b"alice",
            1000,
            with(
                process(900, 1, "/usr/bin/python3 train.py --epochs 40"),
                (1000 + 30 * step) * MIB,
                0,
            ),
        ),
        user(
            b"alice",
            1000,
            with(process(901, 900, "/usr/bin/python3 worker.py"), 450 * MIB, 90 * MIB),
        ),
    ]
}

/// The made machine's processes in units, containers and cgroups; the program of one was replaced.
pub(crate) fn grouped(step: u64) -> Vec<ProcessSample> {
    let mut processes = busy(step);
    processes.push(process(950, 1, "/usr/sbin/nginx -g daemon off;"));
    processes.push(process(951, 950, "nginx: worker process"));
    processes
        .into_iter()
        .map(|p| {
            let pid = p.id.pid;
            with_facts(p, |f| {
                let (program, unit, cgroup): (&str, &str, &str) = match pid {
                    400..500 => ("postgres", "postgresql.service", "/system.slice/postgresql.service"),
                    700 => ("secretd", "secretd.service", "/system.slice/secretd.service"),
                    900..950 => ("python3", "session-2.scope", "/user.slice/session-2.scope"),
                    950.. => ("nginx", "docker.service", CONTAINER),
                    _ => ("init", "init.scope", "/init.scope"),
                };
                if pid != 2 {
                    f.comm = program.as_bytes().into();
                    f.exe = Ok(Arc::from(format!("/usr/bin/{program}").into_bytes()));
                    f.unit = (pid < 950).then(|| Arc::from(unit.as_bytes()));
                    f.container = (pid >= 950).then(|| Arc::from(&b"0123456789ab"[..]));
                    f.cgroup = Ok(Arc::from(cgroup.as_bytes()));
                }
                if pid == 951 {
                    f.replaced = Some(zmtop::model::Replaced::Updated);
                }
            })
        })
        .collect()
}

/// A cgroup of a container.
const CONTAINER: &str = "/docker/0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

/// What the cgroups of those say of themselves.
pub(crate) fn cgroups() -> BTreeMap<Arc<[u8]>, CgroupFigures> {
    let of = |current: u64, limit: Option<u64>| CgroupFigures {
        current: Ok(current * MIB),
        limit: Ok(limit.map(|n| n * MIB)),
        swap: Ok(0),
        swap_limit: Ok(None),
    };
    [
        ("/init.scope", of(12, None)),
        ("/system.slice/postgresql.service", of(900, Some(2048))),
        ("/user.slice/session-2.scope", of(2000, None)),
        (CONTAINER, of(64, Some(256))),
    ]
    .into_iter()
    .map(|(path, figures)| (Arc::from(path.as_bytes()), figures))
    .collect()
}

fn machine(now: Duration, processes: Vec<ProcessSample>) -> Snapshot {
    let mut processes = processes;
    for walk in processes.iter_mut().filter_map(|p| p.walk.as_mut().ok()) {
        walk.at = now;
    }
    let mut made = snapshot(now, processes);
    let gib = |n: f64| Ok((n * 1024.0 * MIB as f64) as u64);
    let s = &mut made.system;
    s.mem_total = gib(23.5);
    s.mem_free = gib(8.0);
    s.mem_available = gib(13.9);
    s.buffers = gib(0.1);
    s.cached = gib(4.2);
    s.shmem = gib(0.3);
    s.anon_pages = gib(6.2);
    s.slab = gib(0.5);
    s.swap_total = gib(3.0);
    s.swap_free = gib(1.6);
    s.zswap = Ok(0);
    s.zswapped = Ok(0);
    s.zram = vec![Zram {
        name: "zram0".into(),
        stored: 1200 * MIB,
        compressed: 410 * MIB,
        is_swap: true,
    }];
    s.swaps = Ok(vec![
        SwapArea {
            path: b"/dev/zram0"[..].into(),
            kind: "partition".into(),
            size: 2048 * MIB,
            used: 1200 * MIB,
            priority: Ok(100),
        },
        SwapArea {
            path: b"/swapfile"[..].into(),
            kind: "file".into(),
            size: 1024 * MIB,
            used: 233 * MIB,
            priority: Ok(-2),
        },
    ]);
    s.pswpin = Ok(0);
    s.pswpout = Ok(now.as_secs() * 12 * 1024);
    s.pgmajfault = Ok(now.as_secs() * 12);
    s.psi = Ok(Psi {
        some_avg10: 0.1,
        full_avg10: 0.0,
    });
    s.uptime = Ok(12.3 * 86_400.0);
    s.loadavg = Ok([0.42, 0.31, 0.2]);
    made.own = Ok(SelfCost {
        cpu: now / 500,
        rss: 11 * MIB,
    });
    made.sampling = Sampling {
        walks: 6,
        walked: Duration::from_millis(2),
        budget: Some(0.05),
        waiting: 0,
        stuck: 0,
        threads: 2,
        took: Duration::from_millis(12),
    };
    made
}

//! The origin of a process's memory: its popup begins and ends a measurement, and shows its result in three ways.

use std::sync::Arc;

use zmtop::call_tree::{Counts, Frame, KeptBy, Kind, Measured, SCHEMA, Source, Stack, Stacks, Weight};
use zmtop::tui::{Effect, Event};

use crate::support::session::Session;

const MIB: u64 = 1 << 20;

/// A program that keeps memory in `remember`, and less of it in `log` with a hostile name.
pub(crate) fn measured() -> Measured {
    let frame = |function: &str, line, kind| Frame {
        function: function.into(),
        module: "server".into(),
        source: (line > 0).then(|| Source {
            file: "/src/server.c".into(),
            line,
        }),
        inlined: false,
        kind,
    };
    let stack = |frames: &[u32], taken: u64, kept: u64| Stack {
        frames: frames.into(),
        weight: Weight {
            taken: taken * MIB,
            kept: kept * MIB,
            samples: taken,
            ..Weight::default()
        },
        is_cut: false,
    };
    Measured {
        schema: SCHEMA.into(),
        pid: 900,
        processes: 1,
        command: "server".into(),
        time_s: 12.0,
        proved_s: None,
        growth: Some((31 * MIB).cast_signed()),
        counts: Counts {
            faults: 9000,
            samples: 9000,
            threads: 4,
            sees_kernel: true,
            ..Counts::default()
        },
        stacks: Stacks {
            frames: vec![
                frame("malloc", 0, Kind::Allocator),
                frame("remember", 41, Kind::Program),
                frame("handle", 88, Kind::Program),
                frame("main", 120, Kind::Program),
                frame("log\x1b]0;x\x07", 7, Kind::Program),
            ],
            stacks: vec![
                stack(&[0, 1, 2, 3], 24, 24),
                stack(&[0, 4, 2, 3], 9, 6),
                stack(&[0, 4, 3], 1, 1),
            ],
        },
    }
}

/// Opens the popup on the selected process, and answers.
fn opened(width: u16, height: u16) -> Session {
    let mut session = Session::new(width, height);
    session.minute().keys("O");
    let number = session.world.measured.unwrap().0;
    session.feed(Event::Measured(number, Ok(Arc::new(measured()))));
    session
}

#[test]
fn it_measures_while_it_is_open() {
    let mut session = Session::new(80, 24);
    session.minute().keys("O");
    session.line("900 python3: sampling its page faults");
    let (number, id) = session.world.measured.unwrap();
    assert_eq!(id.pid, 900);
    session.feed(Event::Measured(number + 1, Err("of another".into())));
    session.line("sampling its page faults");
    session.feed(Event::Measured(number, Ok(Arc::new(measured()))));
    session.line("remember server.c:41");
    // Its end does not take away what was found.
    session.feed(Event::Measured(number, Err("the process has ended".into())));
    session.line("remember server.c:41");
    session.keys("Esc");
    assert!(session.effects.contains(&Effect::Measure(None)));
    assert_eq!(session.world.measured, None);
    // It shows the last result again, until the next one comes.
    session.keys("O");
    session.line("remember server.c:41");
    assert_eq!(session.world.measured.map(|(next, _)| next), Some(number + 1));
}

#[test]
fn of_a_process_that_grows_the_samples_so_far_are_shown_at_once() {
    let mut session = Session::new(120, 40);
    session.minute().keys("O");
    let (_, id) = session.world.measured.unwrap();
    session.keys("Esc");
    session.feed(Event::Armed(id, Arc::new(measured())));
    session.keys("O");
    session.line("remember server.c:41");
    session.line("Enter measures again");
    assert_eq!(session.world.measured, None);
    let mut later = measured();
    later.stacks.frames[1].function = "forget".into();
    session.feed(Event::Armed(id, Arc::new(later)));
    session.line("forget server.c:41");
    session.keys("Enter");
    session.line("sampling its page faults");
    assert_eq!(session.world.measured.map(|(_, of)| of), Some(id));
    session.keys("Esc");
    assert_eq!(session.world.measured, None);
}

#[test]
fn the_panel_names_the_code_that_keeps_the_memory() {
    let mut session = Session::new(120, 40);
    session.minute().keys("O");
    let (_, id) = session.world.measured.unwrap();
    let found = KeptBy::of(&measured()).unwrap();
    session.app.engine.history.set_kept_by(id, Arc::new(found));
    session.keys("Esc Enter");
    session.line("kept by remember server.c:41 ← handle server.c:88 ← main server.c:120, 77 % of 31.0M in 12s");
}

#[test]
fn a_refusal_and_a_group_are_answered() {
    let mut session = Session::new(80, 24);
    session.minute().keys("O");
    let number = session.world.measured.unwrap().0;
    session.feed(Event::Measured(number, Err("that needs CAP_PERFMON".into())));
    session.line("that needs CAP_PERFMON");
    session.keys("Esc Tab O");
    assert_eq!(session.world.measured, None);
    session.line("select one process");
}

#[test]
fn space_turns_the_tree_and_shows_a_flame_graph() {
    let mut session = opened(120, 40);
    session.line("FUNCTION, AND ITS CALLERS");
    session.line("24.0M   77 %   24.0M  remember server.c:41");
    session.line("← handle server.c:88");
    session.keys("Space");
    session.line("FUNCTION, AND WHAT IT CALLED");
    session.line("31.0M  100 %   34.0M  main server.c:120");
    session.keys("Space");
    session.line("each function below its caller");
    // Down to main, handle, remember; right to its neighbour.
    session.keys("Down Down Down");
    session.line("remember server.c:41: 24.0M, 77 %");
    session.keys("Right");
    session.line("log\\x1b]0;x\\x07 server.c:7: 6.0M, 19 %");
    session.keys("Left Space");
    session.line("FUNCTION, AND ITS CALLERS");
}

//! Few file descriptors.
//!
//! The limit is the process's, so the tests run themselves again in a process of their own.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use zmtop::model::Missing;
use zmtop::sampler::{Options, Scanner};

/// Set in the process that is to have few.
const FEW: &str = "ZMTOP_TEST_FEW_FDS";

/// Runs the test `name` again, alone, with the limit `fds`.
fn again(name: &str, fds: u64) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture", "--test-threads=1"])
        .env(FEW, fds.to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let began = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if began.elapsed() > Duration::from_secs(30) {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("{name} hangs with {fds} descriptors");
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    assert!(status.success(), "{name} with {fds} descriptors: {status}");
}

/// In the process that is to have few: sets the limit, soft and hard.
fn limited() -> bool {
    let Some(fds) = std::env::var(FEW).ok().and_then(|n| n.parse().ok()) else {
        return false;
    };
    let limit = Rlimit {
        current: Some(fds),
        maximum: Some(fds),
    };
    setrlimit(Resource::Nofile, limit).unwrap();
    true
}

/// Whole tables, tick after tick, and this process among them.
fn whole_tables() {
    crate::support::block_on(async {
        let mut scanner = Scanner::new(&Options::new(None));
        for _ in 0..5 {
            let snapshot = scanner.full().await;
            let own = snapshot.rows().iter().find(|p| p.id.pid == std::process::id()).unwrap();
            assert!(own.walk.is_ok() && own.facts.cmdline.is_ok(), "{own:?}");
            assert!(snapshot.system.mem_total.is_ok());
            assert!(snapshot.own.is_ok());
        }
    });
}

#[test]
fn thirty_two_are_enough() {
    if limited() {
        whole_tables();
    } else {
        again("faults::descriptors::thirty_two_are_enough", 32);
    }
}

#[test]
fn a_few_more_are_held_for_some() {
    if limited() {
        whole_tables();
    } else {
        again("faults::descriptors::a_few_more_are_held_for_some", 150);
    }
}

#[test]
fn running_out_is_lived_through() {
    const NAME: &str = "faults::descriptors::running_out_is_lived_through";
    if !limited() {
        again(NAME, 400);
        return;
    }
    crate::support::block_on(async {
        let mut scanner = Scanner::new(&Options::new(None));
        assert!(scanner.full().await.processes.is_ok());
        // Someone else in this process takes every descriptor there is.
        let mut taken = Vec::new();
        while let Ok(file) = std::fs::File::open("/dev/null") {
            taken.push(file);
        }
        for _ in 0..3 {
            let why = Missing::Errno(rustix::io::Errno::MFILE.raw_os_error());
            let snapshot = scanner.full().await;
            assert_eq!(snapshot.processes.as_ref().map(Vec::len), Err(&why));
            assert_eq!(snapshot.system.mem_total, Err(why));
        }
        drop(taken);
        let snapshot = scanner.full().await;
        let own = snapshot.rows().iter().find(|p| p.id.pid == std::process::id()).unwrap();
        assert!(own.walk.is_ok(), "{own:?}");
    });
}

#[test]
fn the_soft_limit_is_raised() {
    let _scanner = Scanner::new(&Options::new(None));
    let limit = getrlimit(Resource::Nofile);
    assert_eq!(limit.current, limit.maximum);
}

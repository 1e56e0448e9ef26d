//! The processes that ended between two snapshots, from made records.

use std::time::{Duration, SystemTime};

use zmtop::model::{Exit, Exits, Missing, ProcessSample, Snapshot};
use zmtop::proc::taskstats::ends;
use zmtop::sampler::exits::Tally;

use crate::proc::taskstats::{Made, NEW, OLD};
use crate::support::rows::{MIB, process, snapshot, with_facts};

/// When the snapshot is taken, and the one before it, and when all end.
const NOW: Duration = Duration::from_secs(100);
const BEFORE: Duration = Duration::from_secs(90);
const END: Duration = Duration::from_secs(99);

fn add(tally: &mut Tally, made: Made) {
    for end in ends(&made.datagram()) {
        tally.add(end, END);
    }
}

fn take(tally: &mut Tally, last: Option<&Snapshot>, rows: &[ProcessSample]) -> Exits {
    tally.take(last, rows, (SystemTime::UNIX_EPOCH + NOW, NOW))
}

fn pids(exits: &Exits) -> Vec<u32> {
    exits.list.iter().map(|exit| exit.pid).collect()
}

/// The parent of all that end.
fn parent() -> ProcessSample {
    with_facts(process(42, 1, "/usr/bin/make all"), |f| {
        f.cgroup = Ok((*b"/build").into());
    })
}

/// A process of [`NEW`]'s user and parent, which a snapshot 10 s ago had.
fn older(pid: u32) -> ProcessSample {
    let mut row = with_facts(process(pid, 42, "cc1"), |f| {
        f.uid = Ok(1000);
        f.cgroup = Ok((*b"/own").into());
    });
    row.stat.threads = 4;
    row
}

fn before(rows: Vec<ProcessSample>) -> Snapshot {
    snapshot(BEFORE, rows)
}

#[test]
fn an_end_that_no_snapshot_saw_has_its_peak_its_parent_and_its_parents_cgroup() {
    let mut tally = Tally::default();
    add(&mut tally, NEW);
    let exits = take(&mut tally, Some(&before(vec![parent()])), &[parent()]);
    let expected = Exit {
        pid: 700,
        starttime: None,
        ppid: 42,
        parent: Some((*b"make").into()),
        uid: 1000,
        comm: (*b"m\xff\x1b[31").into(),
        cgroup: Some((*b"/build").into()),
        time: SystemTime::UNIX_EPOCH + END,
        lifetime: Duration::from_millis(900),
        peak: 1 << 30,
        is_fork: false,
        parent_rss: None,
        code: Some(3),
        signal: None,
    };
    assert_eq!((exits.ended, exits.list), (Ok(1), vec![expected]));
    // The next interval has none.
    let next = take(&mut tally, None, &[]);
    assert_eq!((next.ended, next.list), (Ok(0), Vec::new()));
}

#[test]
fn a_row_with_its_pid_is_the_process_only_if_it_is_old_enough() {
    let known = |pid| {
        let mut tally = Tally::default();
        add(&mut tally, Made { tid: pid, pid, ..NEW });
        let exits = take(&mut tally, Some(&before(vec![parent(), older(pid)])), &[]);
        (exits.list[0].starttime, exits.list[0].cgroup.clone())
    };
    // It started a second before its end, nine seconds after the snapshot that has another one.
    assert_eq!(known(700), (None, Some((*b"/build").into())));
    let mut tally = Tally::default();
    for mut end in ends(&NEW.datagram()) {
        end.lifetime = Duration::from_secs(3600);
        tally.add(end, NOW);
    }
    let exits = take(&mut tally, Some(&before(vec![parent(), older(700)])), &[]);
    let exit = &exits.list[0];
    assert_eq!(
        (exit.starttime, exit.cgroup.as_deref()),
        (Some(7000), Some(&b"/own"[..]))
    );
}

#[test]
fn services_have_no_cgroup_from_the_first_process() {
    let mut tally = Tally::default();
    for mut end in ends(&NEW.datagram()) {
        end.ppid = 1;
        tally.add(end, NOW);
    }
    let exits = take(&mut tally, None, &[process(1, 0, "/sbin/init")]);
    assert_eq!(
        (exits.list[0].parent.as_deref(), &exits.list[0].cgroup),
        (Some(&b"init"[..]), &None)
    );
}

#[test]
fn a_fork_has_the_memory_of_its_parent() {
    let parent = |rss| {
        let mut row = parent();
        row.stat.rss = rss;
        row
    };
    let rss = |is_fork, before: &[ProcessSample], now: &[ProcessSample]| {
        let mut tally = Tally::default();
        for mut end in ends(&NEW.datagram()) {
            end.is_fork = is_fork;
            tally.add(end, END);
        }
        let exits = take(&mut tally, Some(&self::before(before.to_vec())), now);
        (exits.list[0].parent_rss, exits.list[0].own())
    };
    assert_eq!(
        rss(true, &[parent(7 * MIB)], &[parent(24 * MIB)]),
        (Some(24 * MIB), 1000 * MIB)
    );
    // The parent ended, too, or was never seen.
    assert_eq!(rss(true, &[parent(24 * MIB)], &[]), (Some(24 * MIB), 1000 * MIB));
    assert_eq!(rss(true, &[], &[]), (None, 0));
    assert_eq!(rss(false, &[], &[parent(24 * MIB)]), (None, 1 << 30));
}

#[test]
fn a_signal_is_no_exit_code() {
    let ended = |status| {
        let mut tally = Tally::default();
        add(&mut tally, Made { status, ..NEW });
        let exits = take(&mut tally, None, &[]);
        (exits.list[0].code, exits.list[0].signal)
    };
    assert_eq!(ended(9), (None, Some(9)));
    // With a core dump.
    assert_eq!(ended(0x8b), (None, Some(11)));
    assert_eq!(ended(0), (Some(0), None));
}

#[test]
fn threads_are_no_processes_and_the_first_one_has_the_status() {
    let mut tally = Tally::default();
    let thread = |tid, flag| Made {
        tid,
        flag,
        status: 0,
        ..NEW
    };
    add(&mut tally, thread(701, 0));
    add(
        &mut tally,
        Made {
            flag: 0,
            status: 9,
            ..NEW
        },
    );
    assert_eq!(take(&mut tally, None, &[]).ended, Ok(0));
    // The last one ends in a later interval.
    add(&mut tally, thread(702, 0x20));
    let exits = take(&mut tally, None, &[]);
    assert_eq!((exits.ended, pids(&exits)), (Ok(1), vec![700]));
    assert_eq!((exits.list[0].signal, exits.list[0].code), (Some(9), None));
    // The record of the first one was lost.
    add(&mut tally, thread(702, 0x20));
    let exits = take(&mut tally, None, &[]);
    assert_eq!(
        (pids(&exits), exits.list[0].signal, exits.list[0].code),
        (vec![700], None, None)
    );
}

#[test]
fn the_highest_ones_are_listed() {
    let mut tally = Tally::default();
    for pid in 1..=1000 {
        let peak_kib = (u64::from(pid) * 7919 % 1000) << 10;
        add(
            &mut tally,
            Made {
                tid: pid,
                pid,
                peak_kib,
                ..NEW
            },
        );
    }
    let exits = take(&mut tally, None, &[]);
    assert_eq!((exits.ended, exits.list.len()), (Ok(1000), Exit::MOST));
    let peaks: Vec<_> = exits.list.iter().map(|exit| exit.peak / MIB).collect();
    let highest: Vec<_> = (0..1000).rev().take(Exit::MOST).collect();
    assert_eq!(peaks, highest);
    add(
        &mut tally,
        Made {
            peak_kib: Exit::LEAST / 1024 - 1,
            ..NEW
        },
    );
    let exits = take(&mut tally, None, &[]);
    assert_eq!((exits.ended, exits.list.len()), (Ok(1), 0), "it is below the least");
}

#[test]
fn lost_records_are_counted_once() {
    let mut tally = Tally::default();
    tally.add_lost(7);
    assert_eq!(take(&mut tally, None, &[]).lost, 7);
    assert_eq!(take(&mut tally, None, &[]).lost, 0);
}

#[test]
fn on_an_old_kernel_a_record_that_may_be_of_a_thread_is_left_out() {
    let listed = |made: &[Made], last: Vec<ProcessSample>| {
        let mut tally = Tally::default();
        for made in made {
            add(&mut tally, *made);
        }
        let exits = take(&mut tally, Some(&before(last)), &[]);
        assert_eq!(exits.ended, Err(Missing::Unsupported));
        pids(&exits)
    };
    let plain = Made { status: 0, ..OLD };
    let threaded = || vec![parent(), older(600)];
    assert_eq!(listed(&[plain], vec![parent()]), [700]);
    assert_eq!(
        listed(&[plain], threaded()),
        [0; 0],
        "process 600 may have such a thread"
    );
    assert_eq!(listed(&[OLD], threaded()), [700], "a thread has no status");
    assert_eq!(
        listed(&[plain], vec![parent(), older(700)]),
        [700],
        "it is a known process"
    );
    let mut huge = older(600);
    huge.stat.rss = 2 << 30;
    assert_eq!(
        listed(&[plain], vec![huge]),
        [700],
        "process 600 is larger than the peak"
    );
    // A process with two threads, of which the first one ends first.
    let last = Made {
        tid: 705,
        has_sum: true,
        ..plain
    };
    assert_eq!(listed(&[OLD, Made { tid: 704, ..plain }, last], vec![parent()]), [700]);
}

//! Rows that a filter matches.

use std::sync::Arc;
use std::time::Duration;

use zmtop::columns::{COLUMNS, Row};
use zmtop::filter;
use zmtop::filter::Filter;
use zmtop::history::History;
use zmtop::model::{Missing, ProcessSample, Replaced};

use crate::support::rows::{MIB, process, snapshot, walk, with_facts};
use crate::support::thread_time;

fn passes(text: &str, sample: &ProcessSample) -> bool {
    let snap = snapshot(Duration::from_secs(100), Vec::new());
    let filter = Filter::parse(text, &COLUMNS).unwrap_or_else(|e| panic!("{text}: {e}"));
    filter.matches(&Row::of_process(sample, None, &snap))
}

#[track_caller]
fn check(sample: &ProcessSample, yes: &[&str], no: &[&str]) {
    for text in yes {
        assert!(passes(text, sample), "{text} should match");
    }
    for text in no {
        assert!(!passes(text, sample), "{text} should not match");
    }
}

fn train() -> ProcessSample {
    let mut sample = with_facts(
        process(1234, 7, "/usr/bin/python3 Train.py --lr=0.1 (fast|slow)"),
        |f| {
            f.user = Ok(Arc::from(&b"alice"[..]));
            f.uid = Ok(1000);
            f.unit = Some(Arc::from(&b"jupyter.service"[..]));
            f.cgroup = Ok(Arc::from(&b"/system.slice/jupyter.service"[..]));
        },
    );
    sample.walk = Ok(walk(200 * MIB, 3 * MIB));
    sample
}

#[test]
fn an_empty_filter_asks_nothing() {
    for text in ["", "  ", "\t\n"] {
        assert!(Filter::parse(text, &COLUMNS).unwrap().is_empty());
    }
    assert!(Filter::default().is_empty());
    check(&train(), &["", "   "], &[]);
    assert!(!Filter::parse("a", &COLUMNS).unwrap().is_empty());
}

#[test]
fn words() {
    check(
        &train(),
        &[
            "train",
            "PYTHON3",
            "alice",
            "ALI",
            "--lr=0.1",
            "\"python3 train\"",
            "\"(fast|slow)\"",
            "python\"3 train.py\"",
            "python3' train'.\"py\"",
            "'python3 train'",
            "cmd:'train.py --lr'",
            "a-b|train",
            "cmd:train",
            "CMD:\"train.py --lr\"",
            "name:python",
            "comm:python3",
            "cgroup:\"/system.slice\"",
            "unit:jupyter",
            "unit:JUPYTER.service",
            "-",
        ],
        &[
            "rain.pyx",
            "bob",
            "jupyter",
            "\"train python3\"",
            "cmd:alice",
            "name:train",
            "unit:ssh",
            "container:ab",
        ],
    );
}

#[test]
fn words_of_other_alphabets_and_broken_ones() {
    let greek = process(1, 0, "ΟΔΟΣ ÄRGER ПРИВЕТ");
    check(
        &greek,
        &["οδοσ", "οδος", "ΟΔΟΣ", "ärger", "привет", "Σ", "ς"],
        &["οδοτ"],
    );
    let broken = with_facts(process(1, 0, "x"), |f| {
        f.cmdline = Ok(b"ab\xff\0Cd\0".as_slice().into());
    });
    check(
        &broken,
        &["ab", "\" cd\"", "\"ab\u{fffd} CD\"", "/ab.*Cd$/", "/ab. Cd$/"],
        &["abcd"],
    );
}

#[test]
fn the_programs_file_and_what_became_of_it() {
    let with = |exe: Result<&[u8], Missing>, replaced| {
        with_facts(process(1, 0, "x"), |f| {
            f.exe = exe.map(Into::into);
            f.replaced = replaced;
        })
    };
    check(
        &with(Ok(b"/opt/App/bin"), Some(Replaced::Updated)),
        &[
            "exe:app",
            "exe:/^\\/opt/",
            "replaced:updated",
            "replaced:ed",
            "!replaced:deleted",
        ],
        &["exe:usr", "replaced:deleted", "bin"],
    );
    check(&with(Ok(b"/bin/x"), None), &["!replaced:ed"], &["replaced:ed"]);
    // Of what may not be looked at nothing is known.
    check(
        &with(Err(Missing::Denied), None),
        &["x"],
        &["replaced:ed", "!replaced:ed", "exe:x", "!exe:x"],
    );
}

#[test]
fn a_process_without_arguments_goes_by_its_name() {
    let kernel = with_facts(process(2, 0, "kworker/0:1"), |f| {
        f.comm = b"kworker/0:1-ev".as_slice().into();
        f.cmdline = Ok([].into());
    });
    check(
        &kernel,
        &["kworker", "\"[kworker/0:1\"", "/^\\[kworker\\/0/", "kworker/0"],
        &["python"],
    );
    let unread = with_facts(process(2, 0, "secret"), |f| f.cmdline = Err(Missing::TimedOut));
    check(&unread, &["secret", "cmd:secret"], &["cmd:other"]);
}

#[test]
fn patterns() {
    check(
        &train(),
        &[
            "/tr[a-z]+\\.py/",
            "/train/",
            "/Train/",
            "/PYTHON\\S/|/python\\S/",
            "/^python3$/",
            "/^\\/usr\\/bin/",
            "/a b|train/",
            "cmd:/^\\S+python3 /",
            "user:/^al/",
            "unit:/\\.service$/",
            "/\\p{Lu}rain/|/./",
        ],
        &["/TRAIN/", "/alice/", "/^train/", "user:/^ice/", "cmd:/^python/"],
    );
}

#[test]
fn users_go_by_whole_name_or_uid() {
    check(
        &train(),
        &[
            "user:alice",
            "user:ALICE",
            "user:1000",
            "user:bob,alice",
            "user:0,1000",
            "user:\"alice\"",
            "!user:bob",
        ],
        &["user:ali", "user:100", "user:root", "!user:1000", "user:\"bob,alice\""],
    );
    let nameless = with_facts(train(), |f| f.user = Err(Missing::Denied));
    check(
        &nameless,
        &["user:1000", "!user:0", "train", "!firefox"],
        &["user:alice", "!user:alice", "user:0", "!user:1000", "!user:0,bob"],
    );
}

#[test]
fn pids_and_states() {
    check(
        &train(),
        &[
            "1234",
            "pid:1234",
            "pid:1,1234,",
            "pid>1000",
            "pid=1234",
            "ppid=7",
            "state:S",
            "state:s",
            "state:DS",
            "state:R,S",
        ],
        &["123", "pid:123", "pid:1,2", "state:R", "!state:S", "pid!=1234"],
    );
    let mut traced = train();
    traced.stat.state = b't';
    check(&traced, &["state:t", "state:St"], &["state:T", "state:S"]);
    traced.stat.state = b'T';
    check(&traced, &["state:T"], &["state:t"]);
}

#[test]
fn figures() {
    check(
        &train(),
        &[
            "pss>100M",
            "pss>=200M",
            "pss<=200MiB",
            "pss=200m",
            "pss==200M",
            "pss!=1",
            "pss<0.5G",
            "PSS>199M",
            "swap>0",
            "swap_pss=3145728",
            "swap-pss=3M",
            "threads<1k",
            "uss>+1",
            "age>90",
            "age=100s",
            "age<2m",
            "elapsed>0|pid>0",
        ],
        &["pss>200M", "pss<200M", "swap=0", "age>2m", "hugetlb>0", "pss<-1"],
    );
}

#[test]
fn changes_and_rates() {
    let mut sample = train();
    let mut history = History::new(Duration::from_secs(10));
    for second in 0..=20_u64 {
        sample.walk = Ok(walk((400 - 2 * second) * MIB, 0));
        sample.stat.cpu_ticks = second * 50;
        history.push(&snapshot(Duration::from_secs(second), vec![sample.clone()]));
    }
    let series = history.get(sample.id).unwrap();
    let snap = snapshot(Duration::from_secs(20), Vec::new());
    let passes = |text: &str| {
        let filter = Filter::parse(text, &COLUMNS).unwrap();
        filter.matches(&Row::of_process(&sample, Some(series), &snap))
    };
    for text in [
        "dpss<-1M",
        "dpss<−1M",
        "dpss<0",
        "growth<-1M/s",
        "growth<-60M/min",
        "growth < -60M/min",
        "growth<  -60M/min cpu =50",
        "growth >0|cpu <= 50%",
        "history<0",
        "cpu=50",
        "cpu>49.5%",
    ] {
        assert!(passes(text), "{text}");
    }
    for text in ["dpss>0", "dpss<-1G", "growth>0", "growth<-1G/s", "cpu>50%", "cpu>0.51k"] {
        assert!(!passes(text), "{text}");
    }
}

#[test]
fn unknown_is_neither_yes_nor_no() {
    let mut hidden = train();
    hidden.walk = Err(Missing::Denied);
    check(
        &hidden,
        &["train", "swap>0 | train", "!(swap>0 bob)", "pss>0|pid:1234"],
        &[
            "swap>0",
            "!swap>0",
            "swap=0",
            "!swap=0",
            "swap!=0",
            "!!swap>0",
            "swap>0|swap<=0",
            "!(swap>0|bob)",
            "train swap>0",
            "dpss<1",
        ],
    );
    let lost = with_facts(train(), |f| {
        f.cgroup = Err(Missing::Gone);
        f.unit = None;
    });
    check(
        &lost,
        &["train"],
        &["unit:ssh", "!unit:ssh", "cgroup:\"/\"", "!cgroup:/x/"],
    );
    check(&process(1, 0, "init"), &["!unit:ssh", "!container:ab"], &[]);
}

#[test]
fn not_and_or_and_groups() {
    check(
        &train(),
        &[
            "!bob",
            "! bob",
            "!!train",
            "train !bob",
            "bob | train",
            "bob|train",
            "bob nope | train alice",
            "train alice | bob nope",
            "(bob | train) alice",
            "!(bob | carol)",
            "((train))",
            "train(alice)",
            "!(train bob)",
            "!!!bob",
            "wait!|train",
        ],
        &[
            "!train",
            "train bob",
            "bob train | train carol",
            "(bob | train) carol",
            "!(bob | train)",
            "train !alice",
            "bob | train carol",
        ],
    );
}

#[test]
fn every_example_of_the_help_is_understood() {
    for (example, meaning) in filter::help() {
        let filter = Filter::parse(example, &COLUMNS).unwrap_or_else(|e| panic!("{example}: {e}"));
        assert!(!filter.is_empty());
        assert!(!meaning.is_empty() && meaning.len() <= 80, "{example}");
    }
}

#[test]
fn ten_thousand_rows_are_quick() {
    let rows: Vec<_> = (0..10_000)
        .map(|i| {
            with_facts(
                process(
                    i,
                    1,
                    &format!("/usr/lib/firefox/firefox -contentproc -childID {i} {}", "x".repeat(100)),
                ),
                |f| f.user = Ok(Arc::from(&b"alice"[..])),
            )
        })
        .collect();
    let snap = snapshot(Duration::from_secs(1), Vec::new());
    let filter = Filter::parse("childid !user:root pss>1M", &COLUMNS).unwrap();
    let start = thread_time();
    let passed = rows
        .iter()
        .filter(|s| filter.matches(&Row::of_process(s, None, &snap)))
        .count();
    assert_eq!(passed, 10_000);
    // A guard against something quadratic: it takes 3 ms when optimised.
    assert!(thread_time().saturating_sub(start) < Duration::from_secs(2));
}

//! Times what one snapshot costs the history: processes, and the groups they are in.
//!
//! `cargo bench --bench history -- [PROCESSES…]` (100, 1000 and 10 000 unless told otherwise) pushes
//! snapshots a second apart of a made machine, on which none, a tenth, always the same eighth or all of the processes
//! change every time, and prints the medians of a push, of grouping such a snapshot, of making the rows of the screen anew, and of
//! judging it for alerts.
#![expect(clippy::print_stdout, reason = "a bench reports")]
#![expect(clippy::unwrap_used, reason = "a bench that cannot unwrap has failed")]

#[expect(dead_code, reason = "a bench uses a part")]
#[path = "../integration/support/rows.rs"]
mod made;

use std::sync::Arc;
use std::time::{Duration, Instant};

use made::{MIB, process, snapshot, walk, with_facts};
use zmtop::alert::{Alerts, Rule, TargetKind};
use zmtop::config::{Config, Env};
use zmtop::group;
use zmtop::group::{Change, GroupBy};
use zmtop::history::History;
use zmtop::history::kept::{Kept, MAX_BYTES};
use zmtop::model::{ProcessSample, Snapshot};
use zmtop::record::{pack_history, unpack_history};
use zmtop::tui::app::Privilege;
use zmtop::tui::app::Scope;
use zmtop::tui::{App, Event, rows, update};

fn main() {
    let mut sizes: Vec<u32> = std::env::args().skip(1).filter_map(|arg| arg.parse().ok()).collect();
    if sizes.is_empty() {
        sizes = vec![100, 1000, 10_000];
    }
    for size in sizes {
        let push = SHARES.map(|(what, every, takes_turns)| {
            // Of many processes some minutes tell as much.
            let ticks = if size > 10_000 { 300 } else { 1000 };
            let (mut times, history) = run(size, ticks, every, takes_turns);
            times.sort_unstable();
            let kib = history.bytes() as f64 / 1024.0 / f64::from(size);
            let (median, most) = (times[times.len() / 2], times[times.len() * 99 / 100]);
            let short = history.shortfall();
            let late = short.longest_wait;
            let without = short
                .rows_text()
                .map_or_else(String::new, |rows| format!(", {rows} without a past"));
            format!("{what} {median:.1?} (p99 {most:.1?}, {kib:.2} KiB each{without}, verdicts {late:?} late)")
        });
        let snap = snapshot(Duration::ZERO, (0..size).map(one).collect());
        let sums = GroupBy::OF_PROCESSES.map(|by| {
            let mut times: Vec<_> = (0..51).map(|_| grouped(&snap, by)).collect();
            times.sort_unstable();
            format!("{} {:.1?}", by.id(), times[times.len() / 2])
        });
        println!("{size:>6} processes: a push with its verdicts: {}", push.join(", "));
        println!("{:>17} grouped by {}", "", sums.join(", "));
        println!(
            "{:>17} kept for the next start: {}",
            "",
            SHARES.map(|share| kept(size, share)).join(", ")
        );
        println!("{:>17} rows made anew: {}", "", screen(&snap).join(", "));
        let told = RULES.map(|(what, on, rules)| format!("{what} {:.1?}", judged(size, on, &rules)));
        println!("{:>17} alerts, five rules on {}", "", told.join(", "));
    }
}

/// Rules by what they ask for: what most processes answer with no, some of them with yes.
const RULES: [(&str, &str, [&str; 5]); 3] = [
    (
        "figures",
        "process",
        [
            "pss>12M",
            "growth>10M/min",
            "swap>1M",
            "footprint>1G",
            "uss>100M rss>100M",
        ],
    ),
    (
        "words",
        "process",
        [
            "cmd:7 pss>12M",
            "user:user3 pss>1G",
            "/program1.*9/",
            "unit:service pss>1G",
            "!user:user1 swap>1M",
        ],
    ),
    (
        "groups",
        "command",
        ["pss>1G", "growth>10M/min", "count>1000", "swap>1M", "footprint>10G"],
    ),
];

/// The median of judging such snapshots by rules.
fn judged(size: u32, on: &str, rules: &[&str]) -> Duration {
    let on = TargetKind::from_id(on).expect("a kind");
    let rules = rules.iter().map(|when| {
        let mut rule = Rule::new(when, on, when).expect("a rule");
        rule.hold = Duration::from_secs(5);
        rule
    });
    let mut alerts = Alerts::new(rules.collect());
    let mut history = History::new(Duration::from_secs(10));
    let mut rows: Vec<ProcessSample> = (0..size).map(one).collect();
    let mut times = Vec::new();
    for tick in 0..60 {
        for row in rows.iter_mut().skip((tick % 10) as usize).step_by(10) {
            row.walk = Ok(walk((10 + tick % 5) * MIB, 0));
        }
        let made = snapshot(Duration::from_secs(1000 + tick), rows.clone());
        history.push(&made);
        let begun = Instant::now();
        std::hint::black_box(alerts.evaluate(&made, &history));
        times.push(begun.elapsed());
    }
    times.sort_unstable();
    times[times.len() / 2]
}

/// Times what is kept of an hour of such snapshots: as lines, compressed, and read back.
fn kept(size: u32, (what, every, takes_turns): (&str, u64, bool)) -> String {
    let (_, history) = run(size, if size > 1000 { 300 } else { 3600 }, every, takes_turns);
    let last = snapshot(Duration::ZERO, (0..size).map(one).collect());
    let begun = Instant::now();
    let raw = history.keep(&last, "here").unwrap();
    let kept = begun.elapsed();
    let packed = pack_history(&raw).unwrap();
    let written = begun.elapsed();
    Kept::read(&unpack_history(&packed, MAX_BYTES).unwrap(), "here").unwrap();
    let read = begun.elapsed().saturating_sub(written);
    let [raw, packed] = [raw.len(), packed.len()].map(|bytes| bytes / 1024);
    let compressed = written.saturating_sub(kept);
    format!("{what} {kept:.1?} for {raw} KiB, {compressed:.1?} to {packed} KiB, back in {read:.1?}")
}

/// Times making the monitor's rows anew, in each of its views: the processes, and every kind of group.
fn screen(snap: &Snapshot) -> Vec<String> {
    let privilege = Privilege {
        root: true,
        capability: "",
        program: String::new(),
    };
    let mut app = App::new(Config::load(None, &Env::default()).unwrap(), privilege, (200, 50));
    app.engine.push(Arc::new(snap.clone()));
    update(&mut app, Event::Snapshot);
    let views = [None].into_iter().chain(GroupBy::OF_PROCESSES.map(Some));
    views
        .map(|by| {
            let name = by.map_or("process", GroupBy::id);
            let mut medians = ["", "program pss>1"].map(|filter| {
                app.query.filter.set(filter);
                app.query.scope = Scope::by(by);
                let mut times: Vec<_> = (0..51)
                    .map(|_| {
                        let begun = Instant::now();
                        rows::rebuild(&mut app);
                        begun.elapsed()
                    })
                    .collect();
                times.sort_unstable();
                times[times.len() / 2]
            });
            app.query.filter.set("");
            let [plain, filtered] = &mut medians;
            format!("{name} {plain:.1?} (filtered {filtered:.1?})")
        })
        .collect()
}

/// Times the grouping of a snapshot.
fn grouped(snap: &Snapshot, by: GroupBy) -> Duration {
    let begun = Instant::now();
    std::hint::black_box(group::groups(snap, by, |_| true, |_| Some(Change::default())));
    begun.elapsed()
}

/// Divisor of the processes that change in each snapshot, and whether they take turns.
const SHARES: [(&str, u64, bool); 4] = [
    ("idle", 0, false),
    ("a tenth changes", 10, true),
    ("the same eighth changes", 8, false),
    ("all change", 1, true),
];

/// The times of so many pushes, and the history.
fn run(size: u32, ticks: u64, every: u64, takes_turns: bool) -> (Vec<Duration>, History) {
    let mut history = History::new(Duration::from_secs(10));
    let mut rows: Vec<ProcessSample> = (0..size).map(one).collect();
    let mut times = Vec::new();
    for tick in 0..ticks {
        let turn = if takes_turns { tick } else { 0 };
        let changing = rows
            .iter_mut()
            .enumerate()
            .filter(|(at, _)| every > 0 && (*at as u64 + turn).is_multiple_of(every));
        for (at, row) in changing {
            row.stat.minflt += 7;
            row.walk = Ok(walk(10 * MIB + (tick * 7 + at as u64) % 97 * 32768, 0));
        }
        let made: Snapshot = snapshot(Duration::from_secs(1000 + tick), rows.clone());
        let begun = Instant::now();
        history.push(&made);
        times.push(begun.elapsed());
    }
    (times.split_off(ticks as usize / 4), history)
}

/// A process in the middle of a plausible machine: a command for every thirty processes, a unit for fifty.
fn one(n: u32) -> ProcessSample {
    let command = format!("/usr/bin/program{} --number {n}", n / 30 + n % 7);
    let mut sample = process(n + 1, n / 20, &command);
    sample.stat.image = 1;
    with_facts(sample, |facts| {
        let unit = format!("service{}.service", n / 50);
        let text = |text: String| -> Arc<[u8]> { Arc::from(text.into_bytes()) };
        facts.exe = Ok(text(format!("/usr/bin/program{}", n / 30 + n % 7)));
        facts.user = Ok(text(format!("user{}", n / 400)));
        facts.cgroup = Ok(text(format!("/system.slice/{unit}")));
        facts.unit = Some(text(unit));
        facts.container = n
            .is_multiple_of(3)
            .then(|| zmtop::model::Container::named(format!("{:012x}", n / 60).into_bytes()));
    })
}

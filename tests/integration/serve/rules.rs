//! The shipped rules: what `promtool` says of them, and what they make of verdicts on made series.

use std::collections::{BTreeMap, HashSet};
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use regex::Regex;
use zmtop::model::system::Pressure;
use zmtop::serve::{Family, Kind, MetricUnit};

use super::exported::{Exported, sized};
use super::prometheus::shipped;
use crate::support::pty::have;
use crate::support::rows::{MIB, walk};

/// The name of a family's samples.
fn full_name(family: &Family) -> String {
    let mut name = family.name.to_owned();
    if family.unit != MetricUnit::None {
        name = name + "_" + family.unit.suffix();
    }
    if family.kind == Kind::Counter {
        name += "_total";
    }
    name
}

/// Runs `promtool`; returns what it says against.
fn promtool(arguments: &[&str], files: &[&Path]) -> Option<String> {
    let done = Command::new("promtool").args(arguments).args(files).output().unwrap();
    let said = [done.stdout, done.stderr].concat();
    (!done.status.success()).then(|| String::from_utf8_lossy(&said).into_owned())
}

#[test]
fn every_metric_of_rules_and_dashboard_is_exported_or_recorded() {
    let families = Exported::new(1).after(0, vec![sized(1, "/bin/a", 1)]);
    let mut known: HashSet<String> = families.iter().map(full_name).collect();
    let shipped = shipped();
    let read = |path: &str| std::fs::read_to_string(shipped.join(path)).unwrap();
    let recording = read("recording.rules.yml");
    let records = recording.lines().filter_map(|line| line.split_once("record: "));
    known.extend(records.map(|(_, name)| name.to_owned()));
    let name = Regex::new("[a-z_:]*\\bzmtop_[a-z0-9_]+(:[a-z0-9_]+)?").unwrap();
    let texts = ["recording.rules.yml", "alerts.rules.yml", "../grafana/zmtop.json"].map(|path| (path, read(path)));
    for (path, text) in &texts {
        let mut used = 0;
        for found in name.find_iter(text) {
            assert!(known.contains(found.as_str()), "{path}: {}", found.as_str());
            used += 1;
        }
        assert!(used >= 10, "{path} names {used} metrics");
    }
    // What is recorded is used.
    for record in known.iter().filter(|name| name.contains(':')) {
        assert!(texts[1..].iter().any(|(_, text)| text.contains(record)), "{record}");
    }
}

#[test]
fn promtool_finds_the_rules_right() {
    if !have("promtool") {
        return;
    }
    let rules = ["recording.rules.yml", "alerts.rules.yml"].map(|file| shipped().join(file));
    let wrong = promtool(&["check", "rules", "--lint-fatal"], &[&rules[0], &rules[1]]);
    assert_eq!(wrong, None);
    // Of a configuration it wants the files that it names.
    let wrong = promtool(&["check", "config", "--syntax-only"], &[&shipped().join("scrape.yml")]);
    assert_eq!(wrong, None);
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/prometheus/tests.yml");
    assert_eq!(promtool(&["test", "rules"], &[&cases]), None);
}

/// Seconds between two snapshots, and between two scrapes.
const TICK: u64 = 5;
const SCRAPE: u64 = 15;
/// Length of the scene in minutes.
const MINUTES: u64 = 60;

/// The scrapes, as `promtool` reads them: the values of each series.
#[derive(Default)]
struct Scraped(BTreeMap<String, Vec<String>>);

impl Scraped {
    /// Takes in the scrape of that number, of a host.
    fn push(&mut self, number: usize, host: &str, families: &[Family]) {
        for family in families {
            for series in &family.series {
                let mut name = format!("{}{{job=\"zmtop\", instance=\"{host}\"", full_name(family));
                for (label, value) in series.labels.iter() {
                    write!(name, ", {label}=\"{value}\"").unwrap();
                }
                let values = self.0.entry(name + "}").or_default();
                // Prometheus marks what is in an answer no more.
                if (1..number).contains(&values.len()) {
                    values.push("stale".to_owned());
                }
                values.resize(number, "_".to_owned());
                values.push(series.value.to_string());
            }
        }
    }

    /// Writes them as a file of cases, with what expressions shall be at the end of the scene.
    fn cases(mut self, scrapes: usize, expected: &[(&str, &[&str])]) -> String {
        let mut out = format!(
            "rule_files: ['{0}/recording.rules.yml', '{0}/alerts.rules.yml']\nevaluation_interval: {SCRAPE}s\n\
             tests:\n- interval: {SCRAPE}s\n  input_series:\n",
            shipped().display()
        );
        for (name, values) in &mut self.0 {
            if values.len() < scrapes {
                values.push("stale".to_owned());
            }
            writeln!(out, "  - series: '{name}'\n    values: '{}'", values.join(" ")).unwrap();
        }
        out += "  promql_expr_test:\n";
        for (expression, samples) in expected {
            writeln!(
                out,
                "  - expr: '{expression}'\n    eval_time: {MINUTES}m\n    exp_samples:"
            )
            .unwrap();
            for sample in *samples {
                writeln!(out, "    - {{labels: '{sample}', value: 1}}").unwrap();
            }
        }
        out
    }
}

/// Takes in the snapshot of a host at that second: programs that only look like a leak, and leaks where it has them.
fn scene(host: &mut Exported, second: u64, has_leaks: bool) -> Vec<Family> {
    let tooth = 100 + (second % 240) / 4;
    let warm = (300.0 * (1.0 - (-(second as f64) / 150.0).exp())) as u64;
    let mut rows = vec![sized(1, "/bin/teeth", tooth), sized(2, "/bin/warms", warm + 10)];
    let mut parked = sized(3, "/bin/parked", 200);
    parked.walk = Ok(walk(200 * MIB, 4096 * MIB));
    rows.push(parked);
    // They have no series of their own.
    rows.extend((10..20).map(|pid| sized(pid, &format!("/bin/small{pid}"), 1)));
    if has_leaks {
        rows.push(sized(4, "/bin/leaks", 50 + second / 10));
        if second < 40 * 60 {
            rows.push(sized(5, "/bin/ends", 50 + second / 10));
        }
    }
    host.after_with(TICK, rows, |system| {
        let gib = 1 << 30;
        (system.mem_total, system.mem_available) = (Ok(16 * gib), Ok(8 * gib));
        (system.swap_total, system.swap_free) = (Ok(4 * gib), Ok(0));
        (system.pswpin, system.pswpout, system.oom_kill) = (Ok(gib), Ok(5 * gib), Ok(3));
        system.psi = Ok(Pressure {
            some: [0.0],
            full: [0.0],
        });
    })
}

#[test]
fn real_verdicts_fire_on_leaks_alone() {
    if !have("promtool") {
        return;
    }
    let mut scraped = Scraped::default();
    let (mut leaky, mut quiet) = (Exported::new(6), Exported::new(6));
    let mut scrapes = 0;
    for second in (0..MINUTES * 60 + SCRAPE).step_by(TICK as usize) {
        if second == 30 * 60 {
            // The exporter is restarted: it knows nothing of what was.
            quiet = Exported::new(6);
        }
        let answers = [scene(&mut leaky, second, true), scene(&mut quiet, second, false)];
        if second % SCRAPE == 0 {
            for (host, families) in ["leaky", "quiet"].into_iter().zip(&answers) {
                scraped.push(scrapes, host, families);
            }
            scrapes += 1;
        }
    }
    let leak = "{alertname=\"ZmtopLeak\", instance=\"leaky\", by=\"command\", group=\"leaks\"}";
    let ended = "{alertname=\"ZmtopLeak\", instance=\"leaky\", by=\"command\", group=\"ends\"}";
    let cases = scraped.cases(
        scrapes,
        &[
            // At the end, and at any time before.
            (
                "group by (alertname, instance, by, group) (ALERTS{alertstate=\"firing\"})",
                &[leak],
            ),
            (
                "group by (alertname, instance, by, group) (last_over_time(ALERTS{alertstate=\"firing\"}[1h]))",
                &[leak, ended],
            ),
            // It looked: verdicts on both were known, before and after the restart.
            (
                "group by (instance, group) (zmtop_leaking{group=~\"teeth|warms|parked\"} == 0)",
                &[
                    "{instance=\"leaky\", group=\"teeth\"}",
                    "{instance=\"leaky\", group=\"warms\"}",
                    "{instance=\"leaky\", group=\"parked\"}",
                    "{instance=\"quiet\", group=\"teeth\"}",
                    "{instance=\"quiet\", group=\"warms\"}",
                    "{instance=\"quiet\", group=\"parked\"}",
                ],
            ),
        ],
    );
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("cases.yml");
    std::fs::write(&file, cases).unwrap();
    assert_eq!(promtool(&["test", "rules"], &[&file]), None);
}

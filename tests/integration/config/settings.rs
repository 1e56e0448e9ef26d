//! The table of settings against the shipped file and the typed defaults.

use std::path::Path;
use std::time::Duration;

use zmtop::columns;
use zmtop::config::Settings;
use zmtop::config::settings::SHIPPED;
use zmtop::history::HistoryConfig;
use zmtop::units::Units;

use super::Home;

#[test]
fn the_shipped_values_are_the_documented_ones() {
    let s = Settings::default();
    assert_eq!(s.sampler.interval, Duration::from_secs(1));
    assert_eq!(s.sampler.deadline, Duration::from_secs(1));
    assert_eq!((s.sampler.threads, s.sampler.max_stuck), (0, 64));
    let names: Vec<_> = s.ui.columns.iter().map(|c| c.get().id).collect();
    let expected = "pss dpss swap dswap uss rss mem history trend pid user command";
    assert_eq!(names.join(" "), expected);
    let names: Vec<&str> = s.ui.group_columns.iter().map(|c| c.get().id).collect();
    let expected = "pss dpss swap dswap uss rss mem history trend cg_current cg_limit count group";
    assert_eq!(names.join(" "), expected);
    assert_eq!(s.ui.by, None);
    assert_eq!(s.ui.sort, columns::find("pss").unwrap());
    assert_eq!((s.ui.units, &*s.ui.filter, &*s.ui.theme), (Units::Auto, "", "auto"));
    assert!(s.ui.descending && s.ui.mouse && s.ui.totals);
    assert!(!s.ui.tree && !s.ui.two_tables && !s.ui.kernel_threads && !s.ui.readonly);
    assert_eq!(s.ui.charset, "auto");
    assert_eq!(s.ui.span, "5m");
    assert_eq!(s.ui.delta, Duration::from_secs(10));
    assert_eq!(
        s.history_config(s.ui.delta),
        HistoryConfig::with_window(Duration::from_secs(10))
    );
    assert_eq!((s.log.file, &*s.log.level), (None, "info"));
}

#[test]
fn every_setting_is_in_the_shipped_file_and_documented_there() {
    let lines: Vec<&str> = SHIPPED.lines().collect();
    let mut table = String::new();
    let mut seen = Vec::new();
    for (i, line) in lines.iter().enumerate() {
        // The keys of a shipped rule are documented above it.
        if line.starts_with("[[") {
            break;
        }
        if let Some(name) = line.strip_prefix('[') {
            table = name.trim_end_matches(']').into();
        } else if let Some((name, _)) = line.split_once(" = ").filter(|_| !line.starts_with('#')) {
            assert!(lines[i - 1].starts_with("# "), "{table}.{name} has no comment above it");
            seen.push(format!("{table}.{name}"));
        }
    }
    assert_eq!(seen, super::keys());
}

#[test]
fn the_shipped_file_read_over_the_defaults_changes_nothing() {
    let read = Settings::parse(Path::new("x"), SHIPPED.as_bytes().to_vec());
    assert_eq!(read, Ok(Settings::default()));
}

#[test]
fn every_setting_is_written_as_it_is_read() {
    let mut changed = Settings::parse(Path::new("x"), ALL_CHANGED.as_bytes().to_vec()).unwrap();
    let mut default = Settings::default();
    let mut text = String::new();
    for ((table, settings), (_, defaults)) in changed.tables().into_iter().zip(default.tables()) {
        for (setting, default) in settings.into_iter().zip(defaults) {
            let (key, value) = (format!("{table}.{}", setting.name), setting.to_toml());
            assert_ne!(value, default.to_toml(), "{key} was not changed");
            text.extend([&key, " = ", &value, "\n"]);
        }
    }
    assert_eq!(Settings::parse(Path::new("x"), text.into_bytes()), Ok(changed));
}

const ALL_CHANGED: &str = r#"
log = { file = "/var/log/z \"q\" \u202e.log", level = "trace" }
[sampler]
interval = 0.25
deadline = "1m"
threads = 0x40
max_stuck = 512
budget = "off"
max_age = "1m"
cold_interval = "90s"
heaps = false
nice = 5
[ui]
columns = ["pid", "comm"]
group_columns = ["uss", "group"]
by = "cgroup"
sort = "swap"
descending = false
filter = "user:root | pss>100M"
units = "bytes"
theme = "light"
charset = "ascii"
mouse = false
tree = true
fold = false
two_tables = true
totals = false
graph = "low"
kernel_threads = true
span = "30d"
readonly = true
delta = "1h"
[history]
max_memory = "100M"
keep = false

[record]
black_box = false
keep = "3d"
size = "1G"
pinned_keep = "30d"
pinned_size = "2G"
flush = "minute"
cmdline = "none"
last_words = true
[zmtop]
oom_score_adj = -500
lock_memory = true
[callers]
armed = 0
[trend]
confidence = 0.95
least_bytes = 4_194_304
least_share = 0.05
significance = 7
level_off = 0.7
day_rate = 0.25
danger = "10m"
prove = true
"#;

#[test]
fn sizes_and_fractions_are_read_in_every_form_and_their_limits_told() {
    let read = |key: &str, text: &str| {
        let bytes = format!("{key} = {text}").into_bytes();
        Settings::parse(Path::new("x"), bytes).map_err(|e| e.to_string())
    };
    for (text, bytes) in [
        ("\"24M\"", 24 << 20),
        ("\"1.5MiB\"", 3 << 19),
        ("1048576", 1 << 20),
        ("\"4g\"", 4 << 30),
    ] {
        assert_eq!(
            read("history.max_memory", text).unwrap().history.max_memory,
            bytes,
            "{text}"
        );
    }
    for (text, confidence) in [("0.9", 0.9), ("0.999", 0.999), ("9.5e-1", 0.95)] {
        let read = read("trend.confidence", text).unwrap().trend.confidence;
        assert!((read - confidence).abs() < f64::EPSILON, "{text}");
    }
    for (key, text, what) in [
        ("history.max_memory", "\"1K\"", "`1K` is out of range: 128K to 4G"),
        ("history.max_memory", "-1", "`-1` is out of range: 128K to 4G"),
        ("history.max_memory", "\"much\"", "expected a size such as"),
        ("history.max_memory", "1.5", "expected a size such as"),
        ("trend.least_bytes", "0", "`0` is out of range: 64K to 1G"),
        ("trend.confidence", "1", "1 is out of range: 0.5 to 0.999"),
        ("trend.confidence", "nan", "nan is out of range: 0.5 to 0.999"),
        ("trend.significance", "-3", "-3 is out of range: 1.0 to 50.0"),
        (
            "trend.level_off",
            "true",
            "expected a number such as 0.5, with three decimals at most, found",
        ),
        ("trend.day_rate", "\"x\"", "expected a number such as"),
    ] {
        let error = read(key, text).unwrap_err();
        assert!(error.contains(what), "{key} = {text}: {error}");
    }
}

#[test]
fn lengths_of_time_are_read_in_every_form() {
    for (text, ms) in [
        ("\"250ms\"", 250),
        ("\"1s\"", 1000),
        ("\"1.5\"", 1500),
        ("\"1m\"", 60_000),
        ("\"1h\"", 3_600_000),
        ("2", 2000),
        ("0.1", 100),
        ("1e2", 100_000),
    ] {
        let bytes = format!("sampler.interval = {text}").into_bytes();
        let read = Settings::parse(Path::new("x"), bytes).unwrap();
        assert_eq!(read.sampler.interval, Duration::from_millis(ms), "{text}");
    }
}

#[test]
fn every_fault_is_named_with_its_place_and_limit() {
    let home = Home::new();
    home.write(
        "config.toml",
        r#"
colour = 1
filter = "x"
[sampler]
intervall = "1s"
interval = "10ms"
deadline = "soon"
threads = 65
max_stuck = "many"
[ui]
columns = ["pss", "pps", 3, "pss"]
sort = "swp"
descending = "yes"
units = "KiB"
theme = "defualt"
mouse = 1
delta = -5
[log]
file = "~/z.log"
level = "loud"
[zmtop]
oom_score_adj = -1001
lock_memory = "all"
"#,
    );
    let faults = home.faults();
    let expected = [
        "config.toml:2:1: colour: unknown table or key `colour`. Known: sampler, ui, history, trend, record, callers, zmtop, log",
        "config.toml:3:1: filter: unknown key `filter`: it belongs in [ui]",
        "config.toml:5:1: sampler.intervall: unknown key `intervall`; did you mean `interval`?",
        "config.toml:6:12: sampler.interval: `10ms` is out of range: 100ms to 1h",
        "config.toml:7:12: sampler.deadline: expected a duration such as",
        "config.toml:8:11: sampler.threads: 65 is out of range: 0 to 64",
        "config.toml:9:13: sampler.max_stuck: expected a whole number, found \"many\"",
        "config.toml:11:19: ui.columns: unknown column `pps`; did you mean `pss`?",
        "config.toml:11:26: ui.columns: expected a column name in quotes, found 3",
        "config.toml:11:29: ui.columns: column `pss` is listed twice",
        "config.toml:12:8: ui.sort: unknown column `swp`; did you mean `swap`?",
        "config.toml:13:14: ui.descending: expected true or false, found \"yes\"",
        "config.toml:14:9: ui.units: unknown unit `KiB`",
        "config.toml:15:9: ui.theme: unknown theme `defualt`; did you mean `default`? There is no file themes/defualt.toml either",
        "config.toml:16:9: ui.mouse: expected true or false, found 1",
        "config.toml:17:9: ui.delta: -5 s is out of range: 1s to 1h",
        "config.toml:19:8: log.file: `~` is not expanded",
        "config.toml:20:9: log.level: unknown word `loud`. Known: error, warn, info, debug, trace",
        "config.toml:22:17: zmtop.oom_score_adj: -1001 is out of range: -1000 to 1000",
        "config.toml:23:15: zmtop.lock_memory: expected true or false, found \"all\"",
    ];
    for (fault, expected) in faults.iter().zip(expected) {
        assert!(fault.starts_with(expected), "{fault}\n{expected}");
    }
    assert_eq!(faults.len(), expected.len(), "{faults:#?}");
}

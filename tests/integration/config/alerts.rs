//! `[[alert]]` in the config.

use std::path::Path;
use std::time::Duration;

use zmtop::columns::system;
use zmtop::config::alerts::MAX_RULES;
use zmtop::config::setting::SettingsTable;
use zmtop::config::settings::SHIPPED;
use zmtop::config::{AlertSettings, Settings};

use super::Home;

fn parse(text: impl Into<Vec<u8>>) -> Settings {
    Settings::parse(Path::new("x"), text.into()).unwrap()
}

/// Returns the commented-out text of the shipped file from the first `[[alert]]` on.
fn example() -> String {
    let at = SHIPPED.find("# [[alert]]").unwrap();
    let lines = SHIPPED[at..].lines().map(|l| l.trim_start_matches('#').trim_start());
    lines.flat_map(|l| [l, "\n"]).collect()
}

#[test]
fn the_shipped_example_is_sound_and_says_what_is_the_default() {
    let shipped = AlertSettings {
        name: "a part of the RAM leaks".into(),
        when: "verdict:leaking".into(),
        on: "part".into(),
        bell: false,
        ..AlertSettings::default()
    };
    let kills = AlertSettings {
        name: "killed for lack of memory".into(),
        when: "recent_kills>0".into(),
        on: "system".into(),
        bell: false,
        ..AlertSettings::default()
    };
    let stalls = AlertSettings {
        name: "tasks wait for memory".into(),
        when: "stalled>0".into(),
        hold: Duration::from_secs(5),
        ..kills.clone()
    };
    assert_eq!(Settings::default().alerts, [shipped, kills, stalls]);
    let alerts = parse(example()).alerts;
    let default = AlertSettings {
        name: "big".into(),
        when: "pss>4G".into(),
        ..AlertSettings::default()
    };
    assert_eq!(alerts[0], default);
    assert_eq!(alerts.len(), 2);
    assert_eq!((&*alerts[1].on, alerts[1].run.len()), ("system", 3));
}

#[test]
fn every_key_and_figure_is_documented_in_the_shipped_file() {
    let example = example();
    let first = example.split("[[alert]]").nth(1).unwrap();
    let shown: Vec<_> = first.lines().filter_map(|l| Some(l.split_once(" = ")?.0)).collect();
    let mut default = AlertSettings::default();
    let known: Vec<_> = default.settings().iter().map(|setting| setting.name).collect();
    assert_eq!(shown, known);
    let about = &SHIPPED[SHIPPED.find("# Alerts:").unwrap()..SHIPPED.find("# [[alert]]").unwrap()];
    for name in known.iter().filter(|n| **n != "name") {
        assert!(about.contains(&format!("\n# {name} ")), "{name}");
    }
    for figure in system::COLUMNS {
        assert!(about.contains(figure.id), "{}", figure.id);
    }
}

const ALL_CHANGED: &str = r#"
[[alert]]
name = "a \"name\" \u202e"
when = "growth>10M/min !user:root"
on = "unit"
hold = "30s"
cooldown = 0
bell = false
log = false
run = ["/bin/x", "", "a b", "$(c)"]
run_on_clear = true
timeout = "1m"
[[alert]]
name = "two"
when = "psi_some>10%"
on = "system"
"#;

#[test]
fn rules_are_written_as_they_are_read() {
    let read = parse(ALL_CHANGED);
    assert_eq!(read.alerts.len(), 2);
    let mut default = AlertSettings::default();
    for (setting, default) in read.alerts[0].clone().settings().iter().zip(default.settings()) {
        assert_ne!(setting.to_toml(), default.to_toml(), "{} was not changed", default.name);
    }
    let text: String = read.alerts.iter().map(AlertSettings::to_toml).collect();
    assert_eq!(parse(text).alerts, read.alerts);
    let rule = read.alerts[0].rule().unwrap();
    assert_eq!((rule.hold, rule.cooldown), (Duration::from_secs(30), Duration::ZERO));
}

#[test]
fn show_prints_them_and_reads_them_back() {
    let home = Home::new();
    home.write("config.toml", ALL_CHANGED);
    let args = zmtop::cli::ConfigArgs {
        action: zmtop::cli::ConfigAction::Show,
        config: None,
    };
    let mut out = Vec::new();
    zmtop::run::configure::run(&args, &home.env(), &mut out, &mut Vec::new()).unwrap();
    assert_eq!(parse(out), home.load().unwrap().settings);
}

#[test]
fn every_fault_is_named_with_its_place_and_limit() {
    let home = Home::new();
    home.write(
        "config.toml",
        r#"
[[alert]]
when = "pss>4G"
[[alert]]
name = ""
when = "pss>>4G"
on = "procces"
hold = "2d"
cooldown = "soon"
bell = "yes"
run = "notify-send x"
timeout = 0
[[alert]]
name = "b"
when = "swap_in>1M"
on = "system"
run = ["~/x", 3, "a\u0000b"]
comand = 1
[[alert]]
name = "b"
when = ""
on = "cgroup"
[[alert]]
name = "c"
when = "firefox"
on = "system"
"#,
    );
    let faults = home.faults();
    let expected = [
        "config.toml:2:1: alert: this rule has no `name`",
        "config.toml:5:8: alert.name: must not be empty",
        "config.toml:6:8: alert.when: not a condition: pss needs a size such as 100M or 1.5G, not >4G at column 5",
        "config.toml:7:6: alert.on: unknown word `procces`; did you mean `process`?",
        "config.toml:8:8: alert.hold: `2d` is out of range: 0s to 24h",
        "config.toml:9:12: alert.cooldown: expected a duration such as",
        "config.toml:10:8: alert.bell: expected true or false, found \"yes\"",
        "config.toml:11:7: alert.run: expected a program and its arguments, such as [\"/usr/bin/notify-send\"",
        "config.toml:12:11: alert.timeout: 0 s is out of range: 1s to 10m",
        "config.toml:15:8: alert.when: not a condition: swap_in needs a size per time such as 10K/s or 1M/min",
        "config.toml:17:8: alert.run: `~` is not expanded",
        "config.toml:17:15: alert.run: expected a word in quotes, found 3",
        "config.toml:17:18: alert.run: a program's words cannot hold a zero byte",
        "config.toml:18:1: alert.comand: unknown key `comand`. Known: name, when, on, hold,",
        "config.toml:20:8: alert.name: another rule has this name",
        "config.toml:21:8: alert.when: must not be empty",
        "config.toml:25:8: alert.when: not a condition: the system has no texts, only these figures: mem_total,",
    ];
    for (fault, expected) in faults.iter().zip(expected) {
        assert!(fault.starts_with(expected), "{fault}\n{expected}");
    }
    assert_eq!(faults.len(), expected.len(), "{faults:#?}");
}

#[test]
fn what_is_no_array_of_tables_is_reported_so() {
    for (text, expected) in [
        (
            "alert = 3",
            "x:1:9: alert: expected tables, each under [[alert]], found 3",
        ),
        (
            "[alert]\nname = 'x'",
            "x:1:1: alert: expected tables, each under [[alert]], found a table",
        ),
        (
            "alert = [1]",
            "x:1:10: alert: expected tables, each under [[alert]], found 1",
        ),
        (
            "[[alarm]]",
            "x:1:3: alarm: unknown table or key `alarm`. Known: sampler, ui, history, trend, record, callers, zmtop, log, alert",
        ),
    ] {
        let e = Settings::parse(Path::new("x"), text.into()).unwrap_err().to_string();
        assert_eq!(e, expected);
    }
}

#[test]
fn there_is_a_most_of_everything() {
    let many: Vec<_> = (0..40)
        .map(|n| format!("[[alert]]\nname = '{n}'\nwhen = 'pss>1'\n"))
        .collect();
    let e = Settings::parse(Path::new("x"), many.concat().into()).unwrap_err();
    assert_eq!(
        e.to_string(),
        format!(
            "x:{}:1: alert: there are more than {MAX_RULES} rules",
            MAX_RULES * 3 + 1
        )
    );
    let words = format!(
        "[[alert]]\nname = 'x'\nwhen = 'pss>1'\nrun = [{}]",
        "'x', ".repeat(100_000)
    );
    let e = Settings::parse(Path::new("x"), words.into()).unwrap_err();
    assert_eq!(e.faults.len(), 1, "{e}");
}

#[test]
fn saving_what_was_chosen_leaves_them_alone() {
    let home = Home::new();
    let file = home.write("config.toml", format!("# mine\n{ALL_CHANGED}# end\n"));
    let mut saved = zmtop::tui::App::new(
        home.load().unwrap(),
        zmtop::tui::app::Privilege {
            root: true,
            capability: "",
            program: String::new(),
        },
        (80, 24),
    )
    .saved();
    saved.tree = true;
    zmtop::config::save(&file, &saved).unwrap();
    let settings = home.load().unwrap().settings;
    assert!(settings.ui.tree);
    assert_eq!(settings.alerts, parse(ALL_CHANGED).alerts);
}

#[test]
fn a_condition_of_other_rows_says_what_it_is_of() {
    let home = Home::new();
    home.write(
        "config.toml",
        "[[alert]]\nname = 'a'\nwhen = 'mem_percent>90%'\n[[alert]]\nname = 'b'\nwhen = 'pss>1G'\non = 'system'\n",
    );
    let faults = home.faults();
    assert_eq!(faults.len(), 2, "{faults:?}");
    assert!(faults[0].contains("add on = \"system\""), "{}", faults[0]);
    assert!(faults[1].contains("add on = \"process\""), "{}", faults[1]);
}

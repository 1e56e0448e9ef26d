//! Alerts in the monitor.

use zmtop::alert::Transition;
use zmtop::config::{AlertSettings, Env};
use zmtop::model::ProcessSample;
use zmtop::sampler::Needs;
use zmtop::tui::App;

use super::process_with;
use crate::support::rows::process;
use crate::support::session::{Session, env};

fn alert(name: &str, on: &str, when: &str) -> AlertSettings {
    AlertSettings {
        name: name.into(),
        on: on.into(),
        when: when.into(),
        hold: std::time::Duration::ZERO,
        ..AlertSettings::default()
    }
}

/// A monitor with these rules.
fn session(width: u16, height: u16, env: &Env, alerts: Vec<AlertSettings>) -> Session {
    let mut session = Session::with_env(width, height, env);
    let mut config = session.app.config.clone();
    config.settings.alerts = alerts;
    session.app = App::new(config, session.app.privilege.clone(), (width, height));
    session
}

fn two() -> Vec<AlertSettings> {
    vec![
        alert("big", "process", "pss>100M"),
        alert("all of them", "command", "pss>240M"),
    ]
}

fn rows(mib: u64) -> Vec<ProcessSample> {
    vec![process_with(7, mib), process_with(8, 50)]
}

/// Returns the alerts so far, in short: the rule and its transition.
fn told(session: &mut Session) -> Vec<String> {
    let events = std::mem::take(&mut session.alerts).into_iter();
    let told = events.map(|event| match event.transition {
        Transition::Fired => format!("{} fired", event.name),
        Transition::Resolved(_) => format!("{} cleared", event.name),
    });
    told.collect()
}

#[test]
fn every_snapshot_is_judged_once() {
    let mut session = session(100, 20, &env(), two());
    assert_eq!(told(session.tick(1, rows(50))), [""; 0]);
    assert_eq!(told(session.tick(1, rows(150))), ["big fired"]);
    assert_eq!(told(session.tick(1, rows(200))), ["all of them fired"]);
    assert_eq!(told(session.tick(1, rows(200))), [""; 0]);
    assert_eq!(told(session.tick(1, rows(5))), ["big cleared", "all of them cleared"]);
}

#[test]
fn a_firing_row_is_seen_and_the_first_line_counts() {
    let mut session = session(120, 20, &env(), two());
    session.tick(1, rows(50));
    assert!(!session.picture().contains("alert"));
    let quiet = row_color(&mut session, 7);
    session.tick(1, rows(200)).tick(1, rows(200));
    let picture = session.picture();
    assert!(picture.lines().next().unwrap().contains("! 2 alerts"), "{picture}");
    // The cursor is on the first row, which has the selection's colours: look at it from the other.
    session.keys("j");
    let alert = session.app.config.theme.alert.fg.unwrap();
    assert_ne!(quiet, alert);
    assert_eq!(row_color(&mut session, 7), alert);
    assert_ne!(row_color(&mut session, 8), alert);
    // By command the group is what fires.
    session
        .keys("Tab")
        .tick(1, rows(200))
        .tick(1, [rows(200), vec![]].concat());
    assert!(session.picture().lines().next().unwrap().contains("! 2 alerts"));
    session.tick(1, rows(5));
    assert!(!session.picture().contains("alert"), "{}", session.picture());
}

/// The colour of the command of that pid's row.
fn row_color(session: &mut Session, pid: u32) -> ratatui::style::Color {
    let frame = session.frame();
    let y = (0..frame.area.height).find(|y| {
        let text: String = (0..frame.area.width).map(|x| frame[(x, *y)].symbol()).collect();
        text.contains(&format!(" {pid} root"))
    });
    let y = y.unwrap();
    let x = (0..frame.area.width).rev().find(|x| frame[(*x, y)].symbol() == "m");
    frame[(x.unwrap(), y)].fg
}

#[test]
fn the_list_tells_what_is_and_what_was() {
    let mut session = session(100, 20, &env(), two());
    session.tick(1, rows(50)).keys("!");
    assert!(session.picture().contains("no alerts so far"));
    session
        .keys("Esc")
        .tick(1, rows(150))
        .tick(60, rows(250))
        .tick(5, rows(50))
        .tick(600, rows(150));
    let picture = session.keys("!").picture();
    let lines: Vec<_> = picture
        .lines()
        .filter(|l| l.contains(" ago "))
        .map(|l| l.split('│').nth(1).unwrap().trim())
        .collect();
    assert_eq!(
        lines,
        [
            "!    0s ago  fired    big          7 /usr/bin/eater --much: pss 150M",
            "10m00 ago  cleared  all of them  command eater: pss 100M, was 300M",
            "10m00 ago  cleared  big          7 /usr/bin/eater --much: pss 50.0M, was 150M",
            "10m05 ago  fired    all of them  command eater: pss 300M",
            "11m05 ago  fired    big          7 /usr/bin/eater --much: pss 150M",
        ],
        "{picture}"
    );
    session.keys("Down Down Down Down Down Down Esc");
    assert!(!session.picture().contains(" ago  fired"));
}

#[test]
fn the_list_names_the_program_and_uses_the_room_of_the_screen() {
    let long = "killed for lack of memory";
    let rules = || {
        vec![
            alert("big", "process", "pss>100M"),
            alert(long, "system", "swap_used>0"),
        ]
    };
    let command = "/root/.pyenv/versions/3.11.7/bin/python3.11 trial_leak.py --seconds 600";
    let rows = |mib: u64| {
        vec![ProcessSample {
            walk: process_with(7, mib).walk,
            ..process(7, 1, command)
        }]
    };
    let mut narrow = session(80, 24, &env(), rules());
    narrow.tick(1, rows(50)).tick(1, rows(150)).keys("!");
    let picture = narrow.picture();
    assert!(picture.contains("7 python3.11 trial_leak.py"), "{picture}");
    assert!(picture.contains("…: pss 150M"), "{picture}");
    assert!(picture.contains(&format!("{long}  system: ")), "{picture}");
    let mut wide = session(200, 24, &env(), rules());
    wide.tick(1, rows(50)).tick(1, rows(150)).keys("!");
    let picture = wide.picture();
    assert!(picture.contains(&format!("7 {command}: pss 150M")), "{picture}");
}

#[test]
fn without_rules_the_list_says_how_to_have_some() {
    let mut session = session(100, 20, &env(), Vec::new());
    session.tick(1, rows(500)).keys("!");
    assert!(session.picture().contains("no alerts: there are no rules"));
    assert_eq!(told(&mut session), [""; 0]);
}

#[test]
fn any_size_will_do() {
    for (width, height) in [(1, 1), (5, 3), (20, 5), (300, 100)] {
        let mut session = session(width, height, &env(), two());
        for mib in [50, 200, 5, 300] {
            session.tick(700, rows(mib)).keys("!").picture();
            session.keys("End PageUp").picture();
            session.keys("Esc").picture();
        }
    }
}

#[test]
fn the_sampler_reads_what_rules_ask_for() {
    let wants = |when: &str| {
        let session = session(80, 24, &env(), vec![alert("x", "process", when)]);
        session.app.wanted().needs
    };
    assert_eq!(wants("pss>1G"), Needs::NOTHING);
    assert_eq!(wants("oom_score>900"), Needs::OOM_SCORE);
    assert_eq!(wants("pss>1G | cg_current>1G"), Needs::CGROUP_FIGURES);
}

#[test]
fn one_that_flaps_is_named_so_and_stays_firing() {
    let mut session = session(100, 20, &env(), vec![alert("big", "process", "pss>100M")]);
    session.tick(1, rows(50));
    // With the shipped cooldown, on and off every minute.
    for _ in 0..25 {
        session.tick(30, rows(150)).tick(30, rows(50));
    }
    assert_eq!(
        told(&mut session),
        ["big fired", "big cleared", "big fired", "big cleared", "big fired"]
    );
    let picture = session.keys("!").picture();
    assert!(picture.lines().next().unwrap().contains("! 1 alert"), "{picture}");
    let newest = picture.lines().find(|l| l.contains(" ago ")).unwrap();
    assert!(newest.contains("flapping big"), "{picture}");
}

#[test]
fn what_the_config_may_not_do_stands_above_the_list() {
    let mut session = session(100, 20, &env(), two());
    session.app.config.warnings = vec!["the config's programs are refused: a test".into()];
    session.tick(1, rows(50)).keys("!");
    let picture = session.picture();
    assert!(
        picture.contains("no alerts so far") && picture.contains("programs are refused"),
        "{picture}"
    );
    for _ in 0..30 {
        session.tick(700, rows(150)).tick(700, rows(50));
    }
    let picture = session.picture();
    assert!(picture.contains("programs are refused"), "{picture}");
    assert!(picture.lines().filter(|l| l.contains(" ago ")).count() > 5, "{picture}");
}

#[test]
fn a_rule_is_shown_as_it_was_written_and_enter_goes_to_the_row() {
    let rules = vec![
        alert("grows", "process", "growth>1M/min"),
        alert("tight", "system", "mem_used>1"),
    ];
    let mut session = session(100, 30, &env(), rules);
    for second in 0..30 {
        session.tick(10, rows(50 + second * 5));
    }
    let picture = session.keys("!").picture();
    let event = picture.lines().find(|line| line.contains("fired    grows")).unwrap();
    assert!(event.contains("growth +") && event.contains("M/min"), "{picture}");
    assert!(!event.contains("/s"), "{picture}");
    session.keys("End");
    let mut seen = String::new();
    for _ in 0..5 {
        seen += &session.keys("Up").picture();
    }
    assert!(
        seen.contains(r#"grows: on = "process", when = "growth>1M/min""#),
        "{seen}"
    );
    let is_selected = |session: &mut Session, rule: &str| session.picture().contains(&format!("{rule}: on = "));
    session.keys("Home");
    for _ in 0..5 {
        if !is_selected(&mut session, "grows") {
            session.keys("Down");
        }
    }
    session.keys("Enter");
    assert_eq!(session.selected(), Some(7));
    assert!(session.app.screen.panel_open && session.app.modal.is_none());
    // The system is on the page of memory.
    session.keys("Esc ! Home");
    for _ in 0..5 {
        if !is_selected(&mut session, "tight") {
            session.keys("Down");
        }
    }
    session.keys("Enter");
    assert_eq!(session.app.pages.open(), Some(zmtop::config::Action::MemoryPage));
}

#[test]
fn an_event_of_a_process_that_ended_says_so() {
    let mut session = session(100, 20, &env(), two());
    session
        .tick(1, rows(50))
        .tick(1, rows(150))
        .tick(1, vec![process_with(8, 50)]);
    session.keys("! End Enter");
    let picture = session.picture();
    assert!(picture.contains("that process has ended"), "{picture}");
}

#[test]
fn badges_are_buttons() {
    let mut session = session(120, 20, &env(), two());
    session.tick(1, rows(50)).tick(1, rows(150)).keys("Z");
    let mut click = |text: &str| {
        let title = session.picture().lines().next().unwrap().to_owned();
        let before = title.split(text).next().unwrap().chars().count();
        assert!(before < title.chars().count(), "{text} in {title}");
        session.click(before as u16 + 1, 0).picture()
    };
    assert!(click("! 1 alert").contains(" Alerts: 1, 1 firing "));
    session.keys("Esc");
    assert!(session.app.requests.paused);
    let title = session.picture().lines().next().unwrap().to_owned();
    let at = title.split("PAUSED").next().unwrap().chars().count();
    session.click(at as u16, 0);
    assert!(!session.app.requests.paused);
}

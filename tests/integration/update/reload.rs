//! A config that was read again: what it changes at once, what it names, and a faulty one.

use std::time::{Duration, Instant};

use zmtop::columns::find;
use zmtop::config::{AlertSettings, Keymap, theme};
use zmtop::run::alert::Notifier;
use zmtop::tui::replay::ReplayStatus;
use zmtop::tui::{Effect, Event};

use crate::support::PATIENCE;
use crate::support::session::{Session, busy};

fn message(session: &Session) -> (&str, bool) {
    let message = session.app.screen.message.as_ref();
    message.map_or(("", false), |message| (&message.text, message.bad))
}

#[test]
fn what_can_change_does_and_the_rest_is_named() {
    let mut session = Session::new(120, 40);
    session.minute();
    let mut new = session.app.config.clone();
    new.keymap = Keymap::parse("k".as_ref(), b"[[table]]\non = ['j']\nrun = 'quit'\n".to_vec()).unwrap();
    new.theme = theme::shipped("nord").unwrap();
    new.settings.ui.columns = ["pid", "rss", "command"].map(|id| find(id).unwrap()).into();
    new.settings.sampler.interval *= 7;
    new.settings.alerts = vec![AlertSettings {
        name: "big".into(),
        when: "pss>0".into(),
        ..AlertSettings::default()
    }];
    session.feed(Event::Config(Ok(Box::new(new.clone()))));
    let said = "config reloaded: keys, theme, columns, alerts (replace 3 shipped ones); takes effect after a restart: sampler.interval";
    assert_eq!(message(&session), (said, false));
    assert_eq!(session.app.config.theme, new.theme);
    assert_eq!(session.app.tables.columns, new.settings.ui.columns);
    assert_eq!(session.app.engine.alerts.rules().len(), 1);
    let notified = |effect: &Effect| matches!(effect, Effect::NotifyBy(rules) if rules.len() == 1);
    assert!(session.effects.iter().any(notified));
    assert!(session.picture().contains("RSS COMMAND"));
    session.keys("j");
    assert!(session.effects.contains(&Effect::Quit));
}

#[test]
fn a_faulty_one_changes_nothing_and_is_reported() {
    let mut session = Session::new(120, 40);
    session.minute();
    let before = session.app.config.clone();
    session.feed(Event::Config(Err("config.toml:3:1: faulty".into())));
    let (text, is_bad) = message(&session);
    assert!(
        is_bad && text.contains("config.toml:3:1: faulty") && text.contains("previous"),
        "{text}"
    );
    assert_eq!(session.app.config.settings, before.settings);
    // Keys remove the message, but not the fault.
    session.keys("j D");
    session.line("config.toml:3:1: faulty; the previous config is in force");
    session.keys("Esc").feed(Event::Config(Ok(Box::new(before))));
    assert_eq!(message(&session), ("config reloaded", false));
    session.keys("D");
    assert!(!session.picture().contains("faulty"), "{}", session.picture());
}

#[test]
fn a_narrow_line_has_the_reason_of_a_fault_and_marks_the_cut() {
    let mut session = Session::new(80, 24);
    session.minute();
    let fault = "config.toml:6:7: alert.log: expected true or false, found \"/var/log/zmtop.log\"";
    session.feed(Event::Config(Err(fault.into())));
    let picture = session.picture();
    let last = picture.lines().last().unwrap().trim_end();
    assert!(
        last.starts_with(&format!(" {}", &fault[..70])) && last.ends_with('…'),
        "{last}"
    );
}

#[test]
fn what_was_saved_here_says_nothing() {
    let mut session = Session::new(120, 40);
    session.minute().keys("m");
    let mut new = session.app.config.clone();
    new.settings.ui = session.app.saved();
    session.feed(Event::Config(Ok(Box::new(new))));
    let (text, _) = message(&session);
    assert!(!text.contains("config"), "{text}");
}

#[test]
fn a_rule_that_stays_goes_on_firing() {
    let rule = |name: &str| AlertSettings {
        name: name.into(),
        when: "pss>0".into(),
        hold: Duration::ZERO,
        ..AlertSettings::default()
    };
    let mut session = Session::new(120, 40);
    let mut new = session.app.config.clone();
    new.settings.alerts = vec![rule("a")];
    session.feed(Event::Config(Ok(Box::new(new.clone())))).minute();
    let firing = session.app.engine.alerts.firing();
    assert!(firing > 0);
    new.settings.alerts = vec![rule("b"), rule("a")];
    session.feed(Event::Config(Ok(Box::new(new))));
    assert_eq!(session.app.engine.alerts.firing(), firing);
}

#[test]
fn what_answers_no_key_goes_by_itself_after_some_seconds() {
    let mut session = Session::new(80, 24);
    session.minute();
    let mut new = session.app.config.clone();
    new.settings.sampler.interval *= 7;
    session.feed(Event::Config(Ok(Box::new(new))));
    for second in 0..8 {
        let is_shown = session.picture().contains("config reloaded");
        assert!(is_shown || second >= 5, "it is gone after {second} s");
        session.tick(1, busy(12));
    }
    session.line("q quit");
    // Nor does it take away the answer to a key, which stays.
    session.keys("Left");
    for _ in 0..30 {
        session.tick(1, busy(12));
    }
    session.line("the first columns");
}

#[test]
fn a_fault_of_the_config_stays_until_it_is_read_or_mended() {
    let mut session = Session::new(80, 24);
    session.minute();
    let before = session.app.config.clone();
    for mends in [false, true] {
        session.feed(Event::Config(Err("config.toml:3:1: faulty".into())));
        for _ in 0..30 {
            session.tick(1, busy(12));
        }
        session.line("config.toml:3:1: faulty");
        if mends {
            session.feed(Event::Config(Ok(Box::new(before.clone()))));
            session.line("config reloaded");
        } else {
            session.keys("j");
        }
        assert!(!session.picture().contains("faulty"), "{}", session.picture());
    }
}

#[test]
fn a_program_is_told_of_the_end_of_each_alert_whatever_changes_meanwhile() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("told");
    let rule = |name: &str, when: &str| AlertSettings {
        name: name.into(),
        on: "system".into(),
        when: when.into(),
        hold: Duration::ZERO,
        run: vec![
            "/bin/sh".into(),
            "-c".into(),
            "echo \"$ZMTOP_ALERT $ZMTOP_EVENT\" >> \"$0\"".into(),
            file.display().to_string(),
        ],
        run_on_clear: true,
        ..AlertSettings::default()
    };
    let [stays, goes, changes] = ["stays", "goes", "changes"].map(|name| rule(name, "processes>0"));
    let mut session = Session::new(120, 40);
    let mut new = session.app.config.clone();
    let notifier = Notifier::new(Vec::new(), |error| panic!("{error}"));
    let mut told = |session: &mut Session, rules: &[&AlertSettings], processes| {
        new.settings.alerts = rules.iter().copied().cloned().collect();
        session.feed(Event::Config(Ok(Box::new(new.clone()))));
        session.tick(1, processes);
        for effect in session.effects.drain(..) {
            if let Effect::NotifyBy(settings) = effect {
                notifier.add(settings);
            }
        }
        for event in session.alerts.drain(..) {
            notifier.notify(&event, b"h");
        }
        let begun = Instant::now();
        while notifier.running() > 0 {
            assert!(begun.elapsed() < PATIENCE);
            std::thread::sleep(Duration::from_millis(5));
        }
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        let _ = std::fs::remove_file(&file);
        let mut lines: Vec<_> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    let fired = ["changes fired", "goes fired", "stays fired"];
    assert_eq!(told(&mut session, &[&stays, &goes, &changes], busy(1)), fired);
    // Another rule is before them now, which has the place of the first.
    let other = rule("other", "processes>1000");
    let changed = rule("changes", "processes>2000");
    let rules = [&other, &stays, &changed];
    assert_eq!(told(&mut session, &rules, busy(1)), ["changes cleared", "goes cleared"]);
    assert_eq!(session.app.engine.alerts.firing(), 1);
    assert_eq!(told(&mut session, &rules, Vec::new()), ["stays cleared"]);
    assert_eq!(told(&mut session, &rules, busy(1)), Vec::<String>::new());
    // Its cooldown is over.
    session.tick(3600, busy(1));
    assert_eq!(told(&mut session, &rules, busy(1)), ["stays fired"]);
    assert_eq!(told(&mut session, &[], busy(1)), ["stays cleared"]);
}

#[test]
fn during_a_visit_to_the_past_the_alerts_of_the_live_monitor_stay() {
    let mut session = Session::new(120, 40);
    session.minute();
    session.app.set_replay(Some(ReplayStatus {
        is_visit: true,
        ..ReplayStatus::default()
    }));
    let before = session.app.config.settings.alerts.clone();
    let mut new = session.app.config.clone();
    new.settings.alerts.clear();
    session.feed(Event::Config(Ok(Box::new(new))));
    let said = "config reloaded; takes effect after a restart: alert";
    assert_eq!(message(&session), (said, false));
    assert_eq!(session.app.config.settings.alerts, before);
    assert!(
        !session
            .effects
            .iter()
            .any(|effect| matches!(effect, Effect::NotifyBy(_)))
    );
}

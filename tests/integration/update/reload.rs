//! A config that was read again: what it changes at once, what it names, and a faulty one.

use zmtop::columns::find;
use zmtop::config::{AlertSettings, Keymap, theme};
use zmtop::tui::{Effect, Event};

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
        hold: std::time::Duration::ZERO,
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

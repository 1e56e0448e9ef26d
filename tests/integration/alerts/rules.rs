//! The conditions of rules.

use zmtop::alert::{Rule, TargetKind};
use zmtop::columns::{COLUMNS, Unit, system};

fn fault(on: &str, when: &str) -> String {
    Rule::new("x", TargetKind::from_id(on).unwrap(), when)
        .unwrap_err()
        .to_string()
}

#[test]
fn conditions_that_cannot_be_are_refused() {
    assert_eq!(fault("process", ""), "a condition is missing at column 1");
    assert_eq!(fault("process", "   "), "a condition is missing at column 1");
    assert_eq!(
        fault("process", "swap_in>1M/s"),
        "unknown key swap_in: to look for the word itself, put it in quotes at column 1"
    );
    assert_eq!(
        fault("system", "swap_inn>1M/s"),
        "unknown key swap_inn: did you mean swap_in? at column 1"
    );
    assert_eq!(
        fault("system", "swap_in>1M"),
        "swap_in needs a size per time such as 10K/s or 1M/min, not 1M at column 9"
    );
    assert!(fault("system", "firefox").starts_with("the system has no texts, only these figures: mem_total, "));
    assert!(fault("system", "swap_used>1G user:root").starts_with("the system has no texts, only these figures: "));
    assert_eq!(TargetKind::from_id("mapping"), None);
    assert_eq!(TargetKind::from_id("verdict"), None);
}

#[test]
fn every_name_is_a_kind_of_its_own() {
    for name in TargetKind::IDS {
        assert_eq!(TargetKind::from_id(name).unwrap().id(), *name);
    }
}

#[test]
fn every_figure_can_be_asked_for() {
    for figure in system::COLUMNS {
        let when = format!("{}>0", figure.id);
        assert!(Rule::new("x", TargetKind::System, &when).is_ok(), "{when}");
    }
    for column in COLUMNS.iter().filter(|c| c.unit != Unit::Text) {
        let bound = if column.unit == Unit::Verdict { "steady" } else { "0" };
        let rule = Rule::new("x", TargetKind::Process, &format!("{}>{bound}", column.id)).unwrap();
        assert_eq!(rule.needs(), column.needs, "{}", column.id);
    }
}

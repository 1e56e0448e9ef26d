//! `[[alert]]`: the rules of alerts, an array of tables.

use std::time::Duration;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::document::found;
use super::fault::Faults;
use super::setting::{SettingsTable, read_table, settings};
use super::value_kind::{Choice, Program, Span, Switch, Text};
use crate::alert::{Rule, TargetKind};
use crate::text;

/// The name of the array.
pub const TABLE: &str = "alert";
/// The maximum number of rules.
pub const MAX_RULES: usize = 32;

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);
const DAY: Duration = Duration::from_secs(86_400);

settings! {
    /// An `[[alert]]`.
    pub struct AlertSettings {
        /// Its name, which no other alert has.
        pub name: String = Text,
        /// The condition: a filter of processes or of groups, or of the system's figures.
        pub when: String = Text,
        /// The rows the condition is applied to: see [`TargetKind::IDS`].
        pub on: String = Choice(TargetKind::IDS),
        /// Time for which the condition must hold.
        pub hold: Duration = Span(Duration::ZERO..=DAY),
        /// Time after which it may fire again for the same row.
        pub cooldown: Duration = Span(Duration::ZERO..=DAY),
        /// Rings the terminal's bell.
        pub bell: bool = Switch,
        /// Writes a line to the log.
        pub log: bool = Switch,
        /// A program and its arguments; empty for none.
        pub run: Vec<String> = Program,
        /// Runs the program when the alert clears, too.
        pub run_on_clear: bool = Switch,
        /// Time after which the program is killed.
        pub timeout: Duration = Span(SECOND..=10 * MINUTE),
    }
}

/// Returns what is not set in an `[[alert]]`. Its name and condition must be.
impl Default for AlertSettings {
    fn default() -> Self {
        Self {
            on: "process".into(),
            hold: 10 * SECOND,
            cooldown: 10 * MINUTE,
            bell: true,
            log: true,
            timeout: 10 * SECOND,
            ..Self::blank()
        }
    }
}

impl AlertSettings {
    /// Makes the rule.
    ///
    /// # Errors
    /// A description of what is wrong with the condition, safe to print.
    pub fn rule(&self) -> Result<Rule, String> {
        let kind = TargetKind::from_id(&self.on).unwrap_or(TargetKind::Process);
        let rule = Rule::new(&self.name, kind, &self.when);
        let mut rule = rule.map_err(|e| format!("not a condition: {}", text::safe(e.to_string().as_bytes())))?;
        (rule.hold, rule.cooldown) = (self.hold, self.cooldown);
        Ok(rule)
    }

    /// Formats it as TOML, with every key.
    pub fn to_toml(&self) -> String {
        let mut own = self.clone();
        let mut lines = format!("[[{TABLE}]]\n");
        for setting in own.settings() {
            lines.extend([setting.name, " = ", &setting.to_toml(), "\n"]);
        }
        lines
    }
}

/// Returns the rules of these settings, in their order. Settings that were read have no faults; if there is one
/// nevertheless there are no rules at all, so that no rule is notified by another's settings.
pub fn rules(settings: &[AlertSettings]) -> Vec<Rule> {
    let rules: Result<Vec<_>, _> = settings.iter().map(AlertSettings::rule).collect();
    rules.unwrap_or_default()
}

/// Reads the array; the sound rules are read even if others are faulty.
pub(super) fn read(value: &Spanned<DeValue<'_>>, faults: &mut Faults<'_>) -> Vec<AlertSettings> {
    let mut rules: Vec<AlertSettings> = Vec::new();
    let wrong = |what: &DeValue<'_>| format!("expected tables, each under [[{TABLE}]], found {}", found(what));
    let DeValue::Array(items) = value.get_ref() else {
        faults.add(&value.span(), TABLE, wrong(value.get_ref()));
        return rules;
    };
    for item in items {
        if faults.full() {
            break;
        }
        let DeValue::Table(entries) = item.get_ref() else {
            faults.add(&item.span(), TABLE, wrong(item.get_ref()));
            continue;
        };
        if rules.len() == MAX_RULES {
            faults.add(&item.span(), TABLE, format!("there are more than {MAX_RULES} rules"));
            break;
        }
        let rule = read_rule(item, entries, faults);
        if let Some(name) = entries.get("name")
            && !rule.name.is_empty()
            && rules.iter().any(|other| other.name == rule.name)
        {
            let what = "another rule has this name".to_owned();
            faults.add(&name.span(), "alert.name", what);
        }
        rules.push(rule);
    }
    rules
}

fn read_rule(item: &Spanned<DeValue<'_>>, entries: &DeTable<'_>, faults: &mut Faults<'_>) -> AlertSettings {
    let mut rule = AlertSettings::default();
    read_table(TABLE, &mut rule.settings(), entries, faults);
    for needed in ["name", "when"] {
        if entries.get(needed).is_none() {
            faults.add(&item.span(), TABLE, format!("this rule has no `{needed}`"));
        }
    }
    // The condition can be parsed only now that it is known what it applies to.
    if let Some(when) = entries.get("when")
        && !rule.when.is_empty()
        && let Err(what) = rule.rule()
    {
        faults.add(&when.span(), "alert.when", what);
    }
    rule
}

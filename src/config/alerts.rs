//! The `[[alert]]` array of tables in the config: alert rules.

use std::time::Duration;

use super::document::{Item, Table};
use super::setting::{Choice, Program, SettingsTable, Span, Switch, TEXT, read_table, settings};
use crate::alert::{Rule, TargetKind};
use crate::text;

pub const TABLE: &str = "alert";
pub const MAX_RULES: usize = 32;

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);
const DAY: Duration = Duration::from_secs(86_400);

settings! {
    /// An `[[alert]]`.
    pub struct AlertSettings {
        /// The name, unique among all alerts.
        pub name: String = TEXT,
        /// The condition: a filter of processes, of groups or of the system's figures.
        pub when: String = TEXT,
        /// The rows that the condition is applied to: see [`TargetKind::IDS`].
        pub on: String = Choice(TargetKind::IDS),
        /// Minimum time for which the condition must hold before the alert fires.
        pub hold: Duration = Span(Duration::ZERO..=DAY),
        /// Minimum time before it may fire again for the same row.
        pub cooldown: Duration = Span(Duration::ZERO..=DAY),
        /// Rings the terminal's bell.
        pub bell: bool = Switch,
        /// Writes a line to the log.
        pub log: bool = Switch,
        /// The program to run, with its arguments. Empty for none.
        pub run: Vec<String> = Program,
        /// Also runs the program when the alert clears.
        pub run_on_clear: bool = Switch,
        /// Time after which the program is killed.
        pub timeout: Duration = Span(SECOND..=10 * MINUTE),
    }
}

/// Returns the defaults of an `[[alert]]`. Only its name and condition are required.
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
    /// Builds the rule.
    ///
    /// # Errors
    /// A description of what is wrong with the condition, safe to print.
    pub fn rule(&self) -> Result<Rule, String> {
        let kind = TargetKind::from_id(&self.on).unwrap_or(TargetKind::Process);
        let rule = Rule::new(&self.name, kind, &self.when);
        let mut rule = rule.map_err(|e| {
            let what = e.to_string();
            let what = text::safe(what.as_bytes());
            // The same words may be sound for other rows.
            let others = [TargetKind::System, TargetKind::Part, TargetKind::Process];
            let other = others
                .into_iter()
                .find(|other| Rule::new(&self.name, *other, &self.when).is_ok_and(|rule| !rule.uses_text()));
            match other.map(TargetKind::id) {
                Some(other) => format!(
                    "these are figures of {other}, not of {}: add on = \"{other}\"",
                    kind.id()
                ),
                None => format!("not a condition: {what}"),
            }
        })?;
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

/// Returns the rules of these settings, in the same order. Settings read from a file have no faults. If one has a fault
/// nevertheless, this returns no rules at all, so that no rule can notify with another's settings.
pub fn rules(settings: &[AlertSettings]) -> Vec<Rule> {
    let rules: Result<Vec<_>, _> = settings.iter().map(AlertSettings::rule).collect();
    rules.unwrap_or_default()
}

/// Reads the array. Sound rules are read even if others are faulty.
pub(super) fn read(array: &Item<'_>) -> Vec<AlertSettings> {
    let expected = format!("tables, each under [[{TABLE}]]");
    let mut rules: Vec<AlertSettings> = Vec::new();
    for item in array.list(&expected) {
        let Some(table) = item.table(&expected) else { continue };
        if rules.len() == MAX_RULES {
            item.fault(format!("there are more than {MAX_RULES} rules"));
            break;
        }
        let rule = read_rule(&table);
        let is_taken = !rule.name.is_empty() && rules.iter().any(|other| other.name == rule.name);
        if let Some(name) = table.get("name").filter(|_| is_taken) {
            name.fault("another rule has this name");
        }
        rules.push(rule);
    }
    rules
}

fn read_rule(table: &Table<'_>) -> AlertSettings {
    let mut rule = AlertSettings::default();
    read_table(&mut rule.settings(), table, |_| None);
    for needed in ["name", "when"] {
        if table.get(needed).is_none() {
            table.fault(format!("this rule has no `{needed}`"));
        }
    }
    // Parsing the condition needs the kind of rows it applies to, which is known only now.
    if let Some(when) = table.get("when").filter(|_| !rule.when.is_empty()) {
        when.checked(rule.rule());
    }
    rule
}

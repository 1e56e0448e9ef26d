//! `[[alert]]`: the rules of alerts, an array of tables beside the table of settings.

use std::ops::RangeInclusive;
use std::time::Duration;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::document::{self, found};
use super::fault::Faults;
use super::schema::Slot;
use crate::alert::{On, Rule};
use crate::text;

/// The name of the array.
pub const TABLE: &str = "alert";
/// The most rules.
pub const MAX_RULES: usize = 32;

/// One `[[alert]]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlertSettings {
    /// What it is called; each its own.
    pub name: String,
    /// The condition: a filter of processes or of groups, or of the system's figures.
    pub when: String,
    /// What is judged: see [`On::NAMES`].
    pub on: String,
    /// How long the condition must hold, 0 to 1 day.
    pub hold: Duration,
    /// How long it does not fire again for the same, 0 to 1 day.
    pub cooldown: Duration,
    /// Rings the terminal's bell.
    pub bell: bool,
    /// Writes a line to the log.
    pub log: bool,
    /// A program and its arguments; empty for none.
    pub run: Vec<String>,
    /// The program is run when the alert clears, too.
    pub run_on_clear: bool,
    /// How long the program may take before it is killed, 1 s to 10 min.
    pub timeout: Duration,
}

impl Default for AlertSettings {
    fn default() -> Self {
        Self {
            name: String::new(),
            when: String::new(),
            on: "process".into(),
            hold: Duration::from_secs(10),
            cooldown: Duration::from_secs(600),
            bell: true,
            log: true,
            run: Vec::new(),
            run_on_clear: false,
            timeout: Duration::from_secs(10),
        }
    }
}

const DAY: RangeInclusive<Duration> = Duration::ZERO..=Duration::from_secs(86_400);
const PATIENCE: RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_secs(600);

/// One key of a rule: its name and its field, with what it allows.
type Key = (&'static str, for<'a> fn(&'a mut AlertSettings) -> Slot<'a>);

/// Every key, in the order of `config/default.toml`.
pub static KEYS: &[Key] = &[
    ("name", |a| Slot::Text(&mut a.name)),
    ("when", |a| Slot::Text(&mut a.when)),
    ("on", |a| Slot::Choice(&mut a.on, On::NAMES)),
    ("hold", |a| Slot::Span(&mut a.hold, DAY)),
    ("cooldown", |a| Slot::Span(&mut a.cooldown, DAY)),
    ("bell", |a| Slot::Switch(&mut a.bell)),
    ("log", |a| Slot::Switch(&mut a.log)),
    ("run", |a| Slot::Program(&mut a.run)),
    ("run_on_clear", |a| Slot::Switch(&mut a.run_on_clear)),
    ("timeout", |a| Slot::Span(&mut a.timeout, PATIENCE)),
];

impl AlertSettings {
    /// The rule it makes.
    ///
    /// # Errors
    /// What is wrong with the condition, safe to print.
    pub fn rule(&self) -> Result<Rule, String> {
        let on = On::from_id(&self.on).unwrap_or(On::Process);
        let rule = Rule::new(&self.name, on, &self.when);
        let mut rule = rule.map_err(|e| format!("not a condition: {}", text::safe(e.to_string().as_bytes())))?;
        (rule.hold, rule.cooldown) = (self.hold, self.cooldown);
        Ok(rule)
    }

    /// The rule as TOML, with every key.
    pub fn to_toml(&self) -> String {
        let mut own = self.clone();
        let mut lines = format!("[[{TABLE}]]\n");
        for (name, slot) in KEYS {
            lines.extend([name, " = ", &slot(&mut own).to_toml(), "\n"]);
        }
        lines
    }
}

/// Reads the array; what is sound is taken even from a faulty one.
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
    for (name, value) in entries {
        let key = format!("{TABLE}.{}", name.get_ref());
        let Some((_, slot)) = KEYS.iter().find(|(known, _)| *known == *name.get_ref()) else {
            let what = document::unknown("key", name.get_ref(), KEYS.iter().map(|(known, _)| *known));
            faults.add(&name.span(), &key, what);
            continue;
        };
        for (span, what) in slot(&mut rule).read(value).err().into_iter().flatten() {
            faults.add(&span, &key, what);
        }
    }
    for needed in ["name", "when"] {
        if entries.get(needed).is_none() {
            faults.add(&item.span(), TABLE, format!("this rule has no `{needed}`"));
        }
    }
    // Only now it is known what the condition is put to.
    if let Some(when) = entries.get("when")
        && !rule.when.is_empty()
        && let Err(what) = rule.rule()
    {
        faults.add(&when.span(), "alert.when", what);
    }
    rule
}

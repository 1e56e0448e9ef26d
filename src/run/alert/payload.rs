//! The payload of an alert event, which is passed to its program.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::alert::{AlertEvent, Details, Figure, Target, Transition};
use crate::columns::Unit;
use crate::group::RowKey;
use crate::model::Identity;
use crate::output::json;
use crate::record::time_text;
use crate::schema::{self, Field, Schema, Shape};
use crate::text::{escaped, is_invisible, lossless};
use crate::trend::Verdict;

/// The payload: one JSON object with schema `zmtop-alert/1`. Names, which may be any bytes, are converted to text by
/// [`lossless`]. Figures are in bytes, bytes per second, shares of 1, or seconds. They are as of the time of the event; after
/// it clears, `was` has those of the moment at which it fired.
///
/// ```text
/// {"schema":"zmtop-alert/1","event":"fired","flapping":false,"why":null,"alert":"big","on":"process","when":"pss>4G",
///  "time":"2026-11-20T23:51:00.123Z","host":"db1","for_s":10.0,"pid":27213,"starttime":5,
///  "user":"ann","comm":"python3","command":"python3 train.py",…,"figures":{"pss":4410000000,"swap":null,…}}
/// ```
#[derive(Debug)]
pub struct Payload<'a> {
    event: &'a AlertEvent,
    condition: &'a str,
    host: String,
}

const PREFIX: &str = "ZMTOP_";

/// A field of the payload: its name, its meaning, its shape, and its value, which is `None` if the field is absent.
type PayloadField = (
    &'static str,
    &'static str,
    fn() -> Shape,
    fn(&Payload<'_>) -> Option<Value>,
);

macro_rules! fields {
    ($($(#[doc = $help:literal])+ $name:literal: $shape:expr => |$payload:pat_param| $value:expr,)*) => {
        &[$(($name, concat!($($help),+), || $shape, |$payload| $value)),*]
    };
}

/// The fields before the labels and the figures, in order.
const FIELDS: &[PayloadField] = fields! {
    /// The name of this schema.
    "schema": schema::text() => |_| Some(SCHEMA.into()),
    /// fired or cleared.
    "event": schema::one_of(["fired", "cleared"]) => |p| {
        Some(if p.resolved().is_some() { "cleared" } else { "fired" }.into())
    },
    /// True if it fired and cleared so often that nothing more is sent until its state is steady.
    "flapping": schema::switch() => |p| Some(p.event.flapping.into()),
    /// True: the event is a test by `zmtop config test-alert`. Its target does not exist, and its values are made up.
    "test": schema::switch().absent("unless it is a test") => |p| p.event.is_test.then(|| true.into()),
    /// The reason why it cleared: cleared (the condition is no longer true), gone, exec or restart.
    "why": schema::text().null("it fired") => |p| Some(p.resolved().into()),
    /// The name of the rule.
    "alert": schema::text() => |p| Some((*p.event.name).into()),
    /// The kind of target that the rule watches.
    "on": schema::text() => |p| Some(p.event.target_kind.id().into()),
    /// The condition of the rule.
    "when": schema::text() => |p| Some(p.condition.into()),
    /// The time at which it fired or cleared.
    "time": schema::time() => |p| Some(time_text(p.event.time).into()),
    /// The name of the host.
    "host": schema::foreign() => |p| Some(p.host.clone().into()),
    /// Time for which the condition has been true.
    "for_s": schema::seconds() => |p| Some(p.event.lasted.as_secs_f64().into()),
    /// Its pid.
    "pid": schema::id().absent("unless it is a process") => |p| Some(p.process()?.pid.into()),
    /// Its start time in ticks since boot.
    "starttime": schema::id().absent("unless it is a process") => |p| Some(p.process()?.starttime.into()),
    /// The id of a part of the RAM, as in zmtop-mem/1.
    "part": schema::text().absent("unless it is a part") => |p| match &p.event.target {
        Target::Row(RowKey::Part(key)) => Some(key.id.into()),
        _ => None,
    },
};

/// The schema's name. Fields are only ever added.
const SCHEMA: &str = "zmtop-alert/1";

pub(in crate::run) fn schema() -> Schema {
    let mut fields: Vec<Field> = FIELDS
        .iter()
        .map(|(name, help, shape, _)| Field::new(*name, help, shape()))
        .collect();
    fields.extend(
        Details::label_ids().map(|(id, help)| Field::new(id, help, schema::foreign().absent("if it has none"))),
    );
    let figure =
        schema::any_of(vec![schema::number(), schema::text()]).null("unknown, such as those of a process that is gone");
    let help = "The figures at `time`, by column id; those in the condition come first. In bytes, bytes per second, \
                ratios or seconds; verdicts by name.";
    fields.push(Field::new("figures", help, schema::map(figure.clone())));
    let help = "The same figures at the time at which the alert fired.";
    fields.push(Field::new("was", help, schema::map(figure).absent("unless it cleared")));
    Schema {
        name: SCHEMA,
        help: "An event of an alert. Written to the standard input of the alert's program.",
        fields,
    }
}

impl<'a> Payload<'a> {
    pub fn new(event: &'a AlertEvent, condition: &'a str, host: &[u8]) -> Self {
        Self {
            event,
            condition,
            host: lossless(host).into_owned(),
        }
    }

    /// Returns the environment variables: `ZMTOP_` plus the upper-case name of each field and figure. Unknown figures
    /// have none. In values, NUL, which would end them, is a space; other control characters and invisible ones are
    /// [`escaped`].
    pub fn environment(&self) -> Vec<(String, String)> {
        let fields = self.fields().into_iter().filter(|(id, _)| *id != "schema");
        let variables = fields.chain(self.figures()).filter_map(|(id, value)| {
            let text = match value {
                Value::Null => return None,
                Value::String(text) => visible(&text),
                other => other.to_string(),
            };
            Some((format!("{PREFIX}{}", id.to_uppercase()), text))
        });
        variables.collect()
    }

    pub fn json(&self) -> Vec<u8> {
        let mut out = Vec::new();
        // Writing to a vector cannot fail, and all keys are strings.
        let written = json::line(&mut out, self);
        debug_assert!(written.is_ok(), "{written:?}");
        out
    }

    fn fields(&self) -> Vec<(&'static str, Value)> {
        let fixed = FIELDS
            .iter()
            .filter_map(|(name, .., value)| Some((*name, value(self)?)));
        let labels = self.event.details.labels.iter();
        fixed
            .chain(labels.map(|(id, bytes)| (*id, lossless(bytes).into())))
            .collect()
    }

    fn process(&self) -> Option<Identity> {
        match &self.event.target {
            Target::Row(key) => key.process(),
            Target::System => None,
        }
    }

    fn resolved(&self) -> Option<&'static str> {
        match self.event.transition {
            Transition::Fired => None,
            Transition::Resolved(reason) => Some(reason.id()),
        }
    }

    /// Returns the figures at the time of the event.
    fn figures(&self) -> impl Iterator<Item = (&'static str, Value)> {
        let has_present = self.resolved().is_some();
        self.event.details.figures.iter().enumerate().map(move |(at, fired)| {
            let present = self.event.present.as_ref().and_then(|figures| figures.get(at));
            let figure = if has_present { present } else { Some(fired) };
            (fired.id, figure.map_or(Value::Null, number))
        })
    }
}

impl Serialize for Payload<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (id, value) in self.fields() {
            map.serialize_entry(id, &value)?;
        }
        let figures: serde_json::Map<_, _> = self.figures().map(|(id, value)| (id.to_owned(), value)).collect();
        map.serialize_entry("figures", &figures)?;
        if self.resolved().is_some() {
            let fired = self.event.details.figures.iter();
            let was: serde_json::Map<_, _> = fired.map(|figure| (figure.id.to_owned(), number(figure))).collect();
            map.serialize_entry("was", &was)?;
        }
        map.end()
    }
}

/// Escapes characters that a terminal would obey or hide.
fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\0' => out.push(' '),
            c if c.is_control() || is_invisible(c) => out.push_str(&escaped(c)),
            c => out.push(c),
        }
    }
    out
}

/// Converts a figure to JSON: whole numbers without a decimal point, verdicts by name.
fn number(figure: &Figure) -> Value {
    /// 2⁵³: an `f64` represents every whole number up to this.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    match figure.value {
        Some(x) if figure.unit == Unit::Verdict => Verdict::from_rank(x).map(Verdict::id).into(),
        Some(x) if x.fract().abs() <= 0.0 && x.abs() <= EXACT => (x as i64).into(),
        other => other.into(),
    }
}

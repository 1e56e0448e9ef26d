//! The payload of an alert event: what its program gets.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::alert::{AlertEvent, Figure, Target, Transition};
use crate::columns::Unit;
use crate::group::RowKey;
use crate::output::json;
use crate::record::time_text;
use crate::text::lossless;
use crate::trend::Verdict;

/// The payload: one object, schema `zmtop-alert/1`. Names are foreign bytes made text by [`lossless`]; figures
/// are in bytes, bytes a second, shares of the whole, or seconds, and are those of the moment at which the alert
/// fired, also when it is resolved.
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

/// The prefix of environment variables.
const PREFIX: &str = "ZMTOP_";

impl<'a> Payload<'a> {
    /// Creates the payload of an event of a rule with that condition, on that host.
    pub fn new(event: &'a AlertEvent, condition: &'a str, host: &[u8]) -> Self {
        Self {
            event,
            condition,
            host: lossless(host).into_owned(),
        }
    }

    /// Returns environment variables: `ZMTOP_` and the upper-case name of each field and figure. Unknown figures
    /// have none. No value holds a NUL, which would end it.
    pub fn environment(&self) -> Vec<(String, String)> {
        let fields = self.fields().into_iter().filter(|(id, _)| *id != "schema");
        let variables = fields.chain(self.figures()).filter_map(|(id, value)| {
            let text = match value {
                Value::Null => return None,
                Value::String(text) => text.replace('\0', " "),
                other => other.to_string(),
            };
            Some((format!("{PREFIX}{}", id.to_uppercase()), text))
        });
        variables.collect()
    }

    /// Returns the object, followed by a newline.
    pub fn json(&self) -> Vec<u8> {
        let mut out = Vec::new();
        // Writing to a vector cannot fail, and every key is a string.
        let written = json::line(&mut out, self);
        debug_assert!(written.is_ok(), "{written:?}");
        out
    }

    /// Returns every field but the figures.
    fn fields(&self) -> Vec<(&'static str, Value)> {
        let event = self.event;
        let (transition, reason) = match event.transition {
            Transition::Fired => ("fired", None),
            Transition::Resolved(reason) => ("cleared", Some(reason.id())),
        };
        let mut fields = vec![
            ("schema", "zmtop-alert/1".into()),
            ("event", transition.into()),
            ("flapping", event.flapping.into()),
            ("why", reason.into()),
            ("alert", (*event.name).into()),
            ("on", event.target_kind.id().into()),
            ("when", self.condition.into()),
            ("time", time_text(event.time).into()),
            ("host", self.host.clone().into()),
            ("for_s", event.lasted.as_secs_f64().into()),
        ];
        if let Target::Row(RowKey::Process(id)) = &event.target {
            fields.push(("pid", id.pid.into()));
            fields.push(("starttime", id.starttime.into()));
        }
        if let Target::Row(RowKey::Part(key)) = &event.target {
            fields.push(("part", key.id.into()));
        }
        let labels = event.details.labels.iter();
        fields.extend(labels.map(|(id, bytes)| (*id, lossless(bytes).into())));
        fields
    }

    fn figures(&self) -> impl Iterator<Item = (&'static str, Value)> {
        self.event
            .details
            .figures
            .iter()
            .map(|figure| (figure.id, number(figure)))
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
        map.end()
    }
}

/// Returns a figure as JSON: a whole number without a decimal point, a verdict by its name.
fn number(figure: &Figure) -> Value {
    /// 2⁵³: up to here an `f64` holds every whole number.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    match figure.value {
        Some(x) if figure.unit == Unit::Verdict => Verdict::from_rank(x).map(Verdict::id).into(),
        Some(x) if x.fract().abs() <= 0.0 && x.abs() <= EXACT => (x as i64).into(),
        other => other.into(),
    }
}

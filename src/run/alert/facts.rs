//! The facts of an alert, as a program gets them.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use crate::alert::{Figure, Kind, Notice, Target};
use crate::columns::Unit;
use crate::output::json;
use crate::record::time_text;
use crate::text::lossless;
use crate::trend::Verdict;

/// The facts: one object, schema `zmtop-alert/1`. Names are foreign bytes made text by
/// [`lossless`]; figures are in bytes, bytes a second, shares of the whole, or seconds, and those of the moment
/// at which the alert fired, when it clears too.
///
/// ```text
/// {"schema":"zmtop-alert/1","event":"fired","why":null,"alert":"big","on":"process","when":"pss>4G",
///  "time":"2026-11-20T23:51:00.123Z","host":"db1","for_s":10.0,"pid":27213,"starttime":5,
///  "user":"ann","comm":"python3","command":"python3 train.py",…,"figures":{"pss":4410000000,"swap":null,…}}
/// ```
#[derive(Debug)]
pub struct Facts<'a> {
    notice: &'a Notice,
    when: &'a str,
    host: String,
}

/// What an environment variable's name begins with.
const PREFIX: &str = "ZMTOP_";

impl<'a> Facts<'a> {
    /// Those of a notice whose rule has that condition, on that host.
    pub fn of(notice: &'a Notice, when: &'a str, host: &[u8]) -> Self {
        Self {
            notice,
            when,
            host: lossless(host).into_owned(),
        }
    }

    /// Environment variables: `ZMTOP_` and the upper-case name of each field and figure. What is unknown
    /// has none. No value holds a NUL.
    pub fn environment(&self) -> Vec<(String, String)> {
        let value = |v: serde_json::Value| match v {
            serde_json::Value::Null => None,
            serde_json::Value::String(text) => Some(text),
            other => Some(other.to_string()),
        };
        let fields = self.fields().into_iter().filter(|(id, _)| *id != "schema");
        let fields = fields.filter_map(|(id, v)| Some((id, value(v)?)));
        let figures = self.notice.evidence.figures.iter();
        let figures = figures.filter_map(|f| Some((f.id, value(number(f))?)));
        fields
            .chain(figures)
            .map(|(id, text)| (format!("{PREFIX}{}", id.to_uppercase()), text.replace('\0', " ")))
            .collect()
    }

    /// The object, with a line's end.
    pub fn json(&self) -> Vec<u8> {
        let mut out = Vec::new();
        // A vector takes everything, and every key is a string.
        let written = json::line(&mut out, self);
        debug_assert!(written.is_ok(), "{written:?}");
        out
    }

    /// Every field but the figures.
    fn fields(&self) -> Vec<(&'static str, serde_json::Value)> {
        let notice = self.notice;
        let (event, why) = match notice.kind {
            Kind::Fired => ("fired", None),
            Kind::Cleared(why) => ("cleared", Some(why.id())),
        };
        let mut fields = vec![
            ("schema", "zmtop-alert/1".into()),
            ("event", event.into()),
            ("why", why.into()),
            ("alert", (*notice.name).into()),
            ("on", notice.on.id().into()),
            ("when", self.when.into()),
            ("time", time_text(notice.time).into()),
            ("host", self.host.clone().into()),
            ("for_s", notice.lasted.as_secs_f64().into()),
        ];
        if let Target::Process(id) = &notice.target {
            fields.push(("pid", id.pid.into()));
            fields.push(("starttime", id.starttime.into()));
        }
        let words = notice.evidence.words.iter();
        fields.extend(words.map(|(id, bytes)| (*id, lossless(bytes).into())));
        fields
    }
}

impl Serialize for Facts<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (id, value) in self.fields() {
            map.serialize_entry(id, &value)?;
        }
        let figures = self.notice.evidence.figures.iter();
        let figures: serde_json::Map<_, _> = figures.map(|f| (f.id.to_owned(), number(f))).collect();
        map.serialize_entry("figures", &figures)?;
        map.end()
    }
}

/// A figure; a whole one without a decimal point, a verdict by its name.
fn number(figure: &Figure) -> serde_json::Value {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    match figure.value {
        Some(x) if figure.unit == Unit::Verdict => Verdict::from_rank(x).map(Verdict::id).into(),
        Some(x) if x.fract().abs() <= 0.0 && x.abs() <= EXACT => (x as i64).into(),
        other => other.into(),
    }
}

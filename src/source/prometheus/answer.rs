//! Answers of the HTTP API of Prometheus: `{"status":"success","data":{"resultType":"vector","result":[…]}}`.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};

use crate::text;

/// Columns of a foreign message that are told.
const MAX_MESSAGE: usize = 160;

/// A whole answer.
#[derive(Clone, Debug)]
pub struct Answer<'a> {
    /// The series.
    pub series: Vec<Series<'a>>,
    /// Warnings that data is missing or doubtful, safe to print.
    pub warnings: Vec<String>,
}

/// A series of an answer.
#[derive(Clone, Debug, Deserialize)]
pub struct Series<'a> {
    /// Its labels.
    #[serde(borrow)]
    pub metric: Labels<'a>,
    #[serde(borrow)]
    value: Option<Value<'a>>,
    #[serde(borrow, default)]
    values: Vec<Value<'a>>,
}

/// A time in seconds, and the number as text.
#[derive(Clone, Debug, Deserialize)]
struct Value<'a>(f64, #[serde(borrow)] Cow<'a, str>);

impl Value<'_> {
    /// Returns both; `None` where the value is no finite number.
    fn read(&self) -> Option<(f64, f64)> {
        let number = self.1.parse().ok().filter(|n: &f64| n.is_finite())?;
        Some((self.0, number)).filter(|(at, _)| at.is_finite() && *at >= 0.0)
    }
}

impl Series<'_> {
    /// Returns the time and the value of an instant answer.
    pub fn now(&self) -> Option<(f64, f64)> {
        self.value.as_ref()?.read()
    }

    /// Returns the times and values of a range.
    pub fn points(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        self.values.iter().filter_map(Value::read)
    }
}

/// The labels of a series, in the order of the answer.
#[derive(Clone, Debug, Default)]
pub struct Labels<'a>(Vec<(Cow<'a, str>, Cow<'a, str>)>);

impl Labels<'_> {
    /// Returns the value of a label; `None` where there is none, or it is empty, which is the same.
    pub fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| &**value).filter(|value| !value.is_empty())
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Labels<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Map;
        impl<'de> Visitor<'de> for Map {
            type Value = Labels<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("labels")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Labels<'de>, A::Error> {
                let mut labels = Vec::with_capacity(6);
                while let Some((Text(name), Text(value))) = map.next_entry()? {
                    labels.push((name, value));
                }
                Ok(Labels(labels))
            }
        }
        deserializer.deserialize_map(Map)
    }
}

/// A text that is copied only where it is escaped.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

#[derive(Deserialize)]
struct Envelope<'a> {
    status: &'a str,
    #[serde(borrow)]
    data: Option<Data<'a>>,
    #[serde(borrow)]
    error: Option<Cow<'a, str>>,
    #[serde(default)]
    warnings: Vec<String>,
}

#[derive(Deserialize)]
struct Data<'a> {
    #[serde(borrow, default)]
    result: Vec<Series<'a>>,
}

/// The reason why an answer is none. Its text is one line and safe to print.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    /// It is not of the API: a page of a proxy, or of something else.
    #[error("answers no JSON of Prometheus: is this its address?")]
    Foreign,
    /// It says that it could not answer, and why.
    #[error("refuses: {0}")]
    Refused(String),
}

impl<'a> Answer<'a> {
    /// Reads an answer.
    ///
    /// # Errors
    /// [`AnswerError`].
    pub fn read(body: &'a [u8]) -> Result<Self, AnswerError> {
        let envelope: Envelope<'a> = serde_json::from_slice(body).map_err(|_| AnswerError::Foreign)?;
        let safe = |message: &str| text::safe_prefix(message.as_bytes(), MAX_MESSAGE).into_owned();
        match envelope.data {
            Some(data) if envelope.status == "success" => Ok(Self {
                series: data.result,
                warnings: envelope.warnings.iter().map(|warning| safe(warning)).collect(),
            }),
            _ => Err(envelope
                .error
                .map_or(AnswerError::Foreign, |why| AnswerError::Refused(safe(&why)))),
        }
    }
}

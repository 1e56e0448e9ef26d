//! Parses answers of Prometheus's HTTP API: `{"status":"success","data":{"resultType":"vector","result":[…]}}`.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::time::Duration;

use serde::Deserialize;
use serde::de::{Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::text;

/// Maximum length of a server's message, in columns.
const MAX_MESSAGE: usize = 160;
/// Maximum number of a server's warnings. Further ones are ignored.
const MAX_WARNINGS: usize = 16;
/// Maximum number of series of an answer.
const MAX_SERIES: usize = 500_000;
/// Maximum number of labels of a series. Further ones are ignored.
const MAX_LABELS: usize = 64;
/// Maximum length of the value of a label in bytes: zmtop exports shorter ones. Of a longer one, only the beginning is kept. Groups are known
/// by their names.
const MAX_LABEL: usize = 4096;
/// Maximum number of labels of all series. An answer of the maximum length has fewer, as a label and its name take some twenty bytes.
const MAX_LABELS_OF_ALL: usize = 3_000_000;
/// Maximum numbers of these bytes in an answer: a value begins with the first, and a series has two of the second.
const MAX_BRACKETS: [(u8, usize); 2] = [(b'[', 4_000_000), (b'{', 2_000_000)];
/// The latest valid time, in seconds since 1970: series count seconds in 32 bits, until 2106.
const MAX_TIME: f64 = u32::MAX as f64;

#[derive(Clone, Debug)]
pub struct Answer<'a> {
    pub(super) series: Vec<Series<'a>>,
    /// The time of evaluation by the server's clock, since 1970: the time of most series of an instant answer. `None` if
    /// no series has a valid one.
    pub evaluated: Option<Duration>,
    /// The number of values whose time is invalid.
    pub(super) untimed: usize,
    /// Warnings that data is missing or doubtful, safe to print.
    pub warnings: Vec<String>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Series<'a> {
    #[serde(borrow, rename = "metric")]
    pub(super) labels: Labels<'a>,
    /// The value of an instant answer.
    value: Option<Value>,
    /// The values of a range.
    #[serde(default)]
    values: Vec<Value>,
}

/// A time in seconds, and the number, which is a text in the answer. A text that is no number is `NaN`.
#[derive(Clone, Copy, Debug, Deserialize)]
struct Value(f64, #[serde(deserialize_with = "number")] f64);

impl Value {
    /// Returns both; `None` if the time is [invalid](time) or the value is no finite number.
    fn read(&self) -> Option<(Duration, f64)> {
        let number = Some(self.1).filter(|number| number.is_finite())?;
        Some((time(self.0)?, number))
    }
}

/// Parses the text of a number, without a copy of it.
fn number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    struct Text;
    impl Visitor<'_> for Text {
        type Value = f64;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("the text of a number")
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<f64, E> {
            Ok(text.parse().unwrap_or(f64::NAN))
        }
    }
    deserializer.deserialize_str(Text)
}

/// Converts seconds since 1970 to a time; `None` if they are not a number, before 1970 or after 2106.
pub(super) fn time(seconds: f64) -> Option<Duration> {
    let is_valid = (0.0..=MAX_TIME).contains(&seconds);
    is_valid.then(|| Duration::try_from_secs_f64(seconds).ok()).flatten()
}

/// The largest valid figure, 8 PiB, up to which each integer is exact.
const MAX_FIGURE: f64 = (1_u64 << 53) as f64;

/// Converts a size or a count; `None` if it is negative or above [`MAX_FIGURE`].
pub(super) fn whole(value: f64) -> Option<u64> {
    (0.0..=MAX_FIGURE).contains(&value).then_some(value as u64)
}

/// Returns a slope; `None` if it is steeper than [`MAX_FIGURE`] per second.
pub(super) fn slope(value: f64) -> Option<f64> {
    (value.abs() <= MAX_FIGURE).then_some(value)
}

/// Returns the time that more than half of them are; if there is none, one of them.
fn majority(times: impl Iterator<Item = Duration>) -> Option<Duration> {
    let (mut found, mut votes) = (None, 0_usize);
    for time in times {
        if votes == 0 {
            found = Some(time);
        }
        votes = if found == Some(time) { votes + 1 } else { votes - 1 };
    }
    found
}

impl Series<'_> {
    /// Returns the value of an instant answer, if it and its time are valid.
    pub(super) fn now(&self) -> Option<f64> {
        Some(self.value.as_ref()?.read()?.1)
    }

    /// Returns the times and values of a range.
    pub(super) fn points(&self) -> impl Iterator<Item = (Duration, f64)> + '_ {
        self.values.iter().filter_map(Value::read)
    }
}

/// A text that is copied only if it contains escapes.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

/// The labels of a series that are not empty, in the order of the answer.
#[derive(Clone, Debug, Default)]
pub(super) struct Labels<'a>(Box<[(Cow<'a, str>, Cow<'a, str>)]>);

impl Labels<'_> {
    /// Returns the value of a label; `None` if it is absent or empty, which means the same.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| &**value)
    }
}

/// Returns the first [`MAX_LABEL`] bytes of the value of a label.
fn shortened(value: Cow<'_, str>) -> Cow<'_, str> {
    match value {
        Cow::Borrowed(value) => text::prefix(value, MAX_LABEL).into(),
        Cow::Owned(mut value) => {
            value.truncate(text::prefix(&value, MAX_LABEL).len());
            value.into()
        }
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
                let mut labels = Vec::new();
                while labels.len() < MAX_LABELS {
                    let Some((Text(name), Text(value))) = map.next_entry()? else {
                        return Ok(Labels(labels.into()));
                    };
                    if !value.is_empty() {
                        labels.push((name, shortened(value)));
                    }
                }
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(Labels(labels.into()))
            }
        }
        deserializer.deserialize_map(Map)
    }
}

/// Deserializes the elements of a list until `take` returns false, and ignores the others.
fn take_each<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
    expected: &'static str,
    take: impl FnMut(T) -> bool,
) -> Result<(), D::Error> {
    struct List<F, T>(F, &'static str, PhantomData<T>);
    impl<'de, T: Deserialize<'de>, F: FnMut(T) -> bool> Visitor<'de> for List<F, T> {
        type Value = ();

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(self.1)
        }

        fn visit_seq<A: SeqAccess<'de>>(mut self, mut list: A) -> Result<(), A::Error> {
            while let Some(element) = list.next_element()? {
                if !(self.0)(element) {
                    break;
                }
            }
            while list.next_element::<IgnoredAny>()?.is_some() {}
            Ok(())
        }
    }
    deserializer.deserialize_seq(List(take, expected, PhantomData))
}

/// The series of an answer, until they are too many.
#[derive(Default)]
struct Found<'a> {
    series: Vec<Series<'a>>,
    is_too_many: bool,
}

impl<'de: 'a, 'a> Deserialize<'de> for Found<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (mut found, mut labels) = (Found::default(), 0);
        take_each(deserializer, "series", |series: Series<'de>| {
            labels += series.labels.0.len();
            found.series.push(series);
            found.is_too_many = found.series.len() > MAX_SERIES || labels > MAX_LABELS_OF_ALL;
            !found.is_too_many
        })?;
        Ok(found)
    }
}

/// The first warnings of an answer that differ, safe to print.
#[derive(Default)]
struct Warnings(Vec<String>);

impl<'de> Deserialize<'de> for Warnings {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut warnings = Vec::new();
        take_each(deserializer, "warnings", |Text(warning)| {
            let warning = safe(&warning);
            if !warnings.contains(&warning) {
                warnings.push(warning);
            }
            warnings.len() < MAX_WARNINGS
        })?;
        Ok(Self(warnings))
    }
}

/// Returns a server's message, cut and safe to print.
fn safe(message: &str) -> String {
    text::safe_prefix(message.as_bytes(), MAX_MESSAGE).into_owned()
}

/// The reason why an answer is unusable. Its text is one line and safe to print.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    /// It is not of the API: perhaps a page of a proxy.
    #[error("does not answer like Prometheus: is this its address?")]
    Foreign,
    /// It has more series than all hosts may have groups, or more labels or values than such series.
    #[error("answers with more than {MAX_SERIES} series, or too many labels or values: --match selects fewer")]
    TooMany,
    /// The server's own reason.
    #[error("refuses: {0}")]
    Refused(String),
}

impl<'a> Answer<'a> {
    /// Parses the body of an answer.
    ///
    /// # Errors
    /// [`AnswerError`].
    pub fn read(body: &'a [u8]) -> Result<Self, AnswerError> {
        #[derive(Deserialize)]
        struct Envelope<'a> {
            status: &'a str,
            #[serde(borrow)]
            data: Option<Data<'a>>,
            #[serde(borrow)]
            error: Option<Cow<'a, str>>,
            #[serde(default)]
            warnings: Warnings,
        }
        #[derive(Deserialize)]
        struct Data<'a> {
            #[serde(borrow, default)]
            result: Found<'a>,
        }
        // What is a few bytes here takes many more in memory.
        let count = |bracket: u8| body.iter().map(|byte| usize::from(*byte == bracket)).sum::<usize>();
        let is_above = |(bracket, most): (u8, usize)| count(bracket) > most;
        if MAX_BRACKETS.into_iter().any(is_above) {
            return Err(AnswerError::TooMany);
        }
        let envelope: Envelope<'a> = serde_json::from_slice(body).map_err(|_| AnswerError::Foreign)?;
        let Some(Data { result: found }) = envelope.data.filter(|_| envelope.status == "success") else {
            let why = envelope.error.map(|why| AnswerError::Refused(safe(&why)));
            return Err(why.unwrap_or(AnswerError::Foreign));
        };
        let Found { series, is_too_many } = found;
        if is_too_many {
            return Err(AnswerError::TooMany);
        }
        let values = series
            .iter()
            .flat_map(|series| series.value.iter().chain(&series.values));
        Ok(Self {
            evaluated: majority(series.iter().filter_map(|series| time(series.value.as_ref()?.0))),
            untimed: values.filter(|value| time(value.0).is_none()).count(),
            warnings: envelope.warnings.0,
            series,
        })
    }
}

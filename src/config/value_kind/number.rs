//! Settings that are numbers, each with its limits.

use std::ops::RangeInclusive;
use std::time::Duration;

use toml::de::DeValue;

use super::{ValueKind, quoted, within};
use crate::config::fault::shown;
use crate::units::{parse_size, parse_span, size_exact, span_exact};

/// Returns a TOML integer as a number and as it was written.
fn integer(value: &DeValue<'_>) -> Option<(f64, String)> {
    let integer = value.as_integer()?;
    // One that does not fit even here is beyond every limit.
    let n = i128::from_str_radix(integer.as_str(), integer.radix()).unwrap_or(i128::MAX);
    Some((n as f64, integer.to_string()))
}

/// Returns a TOML integer or float as a number and as it was written.
fn number(value: &DeValue<'_>) -> Option<(f64, String)> {
    integer(value).or_else(|| {
        let text = value.as_float()?.as_str();
        Some((text.parse().unwrap_or(f64::NAN), text.to_owned()))
    })
}

/// A whole number.
pub(in crate::config) struct Number(pub(in crate::config) RangeInclusive<u16>);

impl Number {
    fn checked(&self, n: f64, written: &str) -> Result<u16, String> {
        let limits = f64::from(*self.0.start())..=f64::from(*self.0.end());
        within(n, &shown(written), &limits, |n| *n).map(|n| n as u16)
    }
}

impl ValueKind for Number {
    type Value = u16;

    const EXPECTED: &'static str = "a whole number";

    fn parse(&self, text: &str) -> Result<u16, String> {
        let n: i128 = text.parse().map_err(|_| Self::misread(text))?;
        self.checked(n as f64, text)
    }

    fn to_toml(&self, value: &u16) -> String {
        value.to_string()
    }

    fn convert(&self, value: &DeValue<'_>) -> Option<Result<u16, String>> {
        let (n, written) = integer(value)?;
        Some(self.checked(n, &written))
    }
}

/// A number with three decimals at most.
pub(in crate::config) struct Decimal(pub(in crate::config) RangeInclusive<f64>);

impl Decimal {
    fn checked(&self, n: f64, written: &str) -> Result<f64, String> {
        let rounded = (n * 1000.0).round() / 1000.0;
        within(rounded, &shown(written), &self.0, |n| format!("{n:?}"))
    }
}

impl ValueKind for Decimal {
    type Value = f64;

    const EXPECTED: &'static str = "a number such as 0.5, with three decimals at most";

    fn parse(&self, text: &str) -> Result<f64, String> {
        self.checked(text.parse().map_err(|_| Self::misread(text))?, text)
    }

    fn to_toml(&self, value: &f64) -> String {
        // The debug format always has a decimal point, which makes it a float in TOML.
        format!("{value:?}")
    }

    fn convert(&self, value: &DeValue<'_>) -> Option<Result<f64, String>> {
        let (n, written) = number(value)?;
        Some(self.checked(n, &written))
    }
}

/// A length of time; a bare number is seconds.
pub(in crate::config) struct Span(pub(in crate::config) RangeInclusive<Duration>);

impl ValueKind for Span {
    type Value = Duration;

    const EXPECTED: &'static str = "a length of time such as \"250ms\" or \"1m\", or a number of seconds";

    fn parse(&self, text: &str) -> Result<Duration, String> {
        let span = parse_span(text).ok_or_else(|| Self::misread(text))?;
        within(span, &format!("`{}`", shown(text)), &self.0, |d| span_exact(*d))
    }

    fn to_toml(&self, value: &Duration) -> String {
        quoted(&span_exact(*value))
    }

    fn convert(&self, value: &DeValue<'_>) -> Option<Result<Duration, String>> {
        if let DeValue::String(text) = value {
            return Some(self.parse(text));
        }
        let (seconds, written) = number(value)?;
        let name = format!("{} s", shown(&written));
        let limits = self.0.start().as_secs_f64()..=self.0.end().as_secs_f64();
        let checked = within(seconds, &name, &limits, |s| span_exact(Duration::from_secs_f64(*s)));
        Some(checked.map(Duration::from_secs_f64))
    }
}

/// A number of bytes.
pub(in crate::config) struct Size(pub(in crate::config) RangeInclusive<u64>);

impl Size {
    fn checked(&self, bytes: f64, written: &str) -> Result<u64, String> {
        // A negative number becomes 0, which is out of range like any other that is too small.
        within(bytes as u64, &format!("`{}`", shown(written)), &self.0, |n| {
            size_exact(*n)
        })
    }
}

impl ValueKind for Size {
    type Value = u64;

    const EXPECTED: &'static str = "a size such as \"24M\", or a number of bytes";

    fn parse(&self, text: &str) -> Result<u64, String> {
        self.checked(parse_size(text).ok_or_else(|| Self::misread(text))?, text)
    }

    fn to_toml(&self, value: &u64) -> String {
        quoted(&size_exact(*value))
    }

    fn convert(&self, value: &DeValue<'_>) -> Option<Result<u64, String>> {
        if let DeValue::String(text) = value {
            return Some(self.parse(text));
        }
        let (n, written) = integer(value)?;
        Some(self.checked(n, &written))
    }
}

/// A share of one core, in thousandths; `None` for "off".
pub(in crate::config) struct Share(pub(in crate::config) RangeInclusive<u16>);

/// Formats thousandths as percent: `5%`, `0.5%`.
fn percentage(thousandths: u16) -> String {
    format!("{}%", f64::from(thousandths) / 10.0)
}

impl ValueKind for Share {
    type Value = Option<u16>;

    const EXPECTED: &'static str = "a share of one core such as \"5%\", or \"off\"";

    fn parse(&self, text: &str) -> Result<Option<u16>, String> {
        if text == "off" {
            return Ok(None);
        }
        let percent = text.strip_suffix('%').and_then(|n| n.trim().parse::<f64>().ok());
        let percent = percent.filter(|p| p.is_finite()).ok_or_else(|| Self::misread(text))?;
        let thousandths = (percent * 10.0).round() as u16;
        within(thousandths, &format!("`{}`", shown(text)), &self.0, |n| percentage(*n)).map(Some)
    }

    fn to_toml(&self, value: &Option<u16>) -> String {
        quoted(&value.map_or_else(|| "off".into(), percentage))
    }
}

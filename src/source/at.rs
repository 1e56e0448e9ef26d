//! Parses and resolves a time in a file that the user typed.

use std::time::{Duration, SystemTime};

use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan, civil};

use crate::{text, units};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum At {
    /// RFC 3339: `2026-11-20T23:51:00Z`.
    Moment(Timestamp),
    /// Local time: `2026-11-20 23:51`, with or without seconds, or a day, which means its midnight.
    Local(civil::DateTime),
    /// Local time of the day, the last one before the file's end: `23:51`.
    Clock(civil::Time),
    /// Time before the file's last snapshot: `-10m`.
    Before(Duration),
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} is no time; write 2026-11-20T23:51:00Z, 2026-11-20 23:51, 23:51 or -10m")]
pub struct AtError(String);

impl At {
    pub fn parse(typed: &str) -> Result<Self, AtError> {
        let wrong = || AtError(text::safe_prefix(typed.as_bytes(), 40).into_owned());
        let typed = typed.trim();
        if let Some(span) = typed.strip_prefix('-') {
            return units::parse_span(span).map(Self::Before).ok_or_else(wrong);
        }
        if let Ok(moment) = typed.parse() {
            return Ok(Self::Moment(moment));
        }
        // Not the short forms of ISO 8601, in which 2026 is twenty-six past eight.
        if !typed.contains([':', '-']) {
            return Err(wrong());
        }
        let clock = || typed.parse().map(Self::Clock);
        typed.parse().map(Self::Local).or_else(|_| clock()).map_err(|_| wrong())
    }

    /// Returns true if the file's last time must be known. [`crate::source::span`] finds it, except on standard input.
    pub const fn needs_last(&self) -> bool {
        matches!(self, Self::Clock(_) | Self::Before(_))
    }

    /// Returns the moment in a file that ends at `last`, in this machine's time zone. The last snapshot not after it is
    /// meant.
    pub fn resolve(&self, last: SystemTime) -> SystemTime {
        self.resolve_in(last, &crate::zone::local())
    }

    /// Returns the moment in this time zone. A local time that was skipped counts as that much later; of a repeated one,
    /// the first counts.
    pub fn resolve_in(&self, last: SystemTime, zone: &TimeZone) -> SystemTime {
        let local = |time: civil::DateTime| {
            let found = time.to_zoned(zone.clone()).map(|zoned| zoned.timestamp());
            SystemTime::from(found.unwrap_or(Timestamp::MAX))
        };
        match self {
            Self::Moment(moment) => (*moment).into(),
            Self::Local(time) => local(*time),
            Self::Clock(clock) => {
                let end = Timestamp::try_from(last).unwrap_or(Timestamp::MAX);
                let day = end.to_zoned(zone.clone()).date();
                let that_day = local(day.to_datetime(*clock));
                if that_day <= last {
                    return that_day;
                }
                local(day.saturating_sub(1.day()).to_datetime(*clock))
            }
            Self::Before(span) => last.checked_sub(*span).unwrap_or(SystemTime::UNIX_EPOCH),
        }
    }
}

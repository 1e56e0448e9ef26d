//! The moment of a file that is meant, as typed by the user.

use std::time::{Duration, SystemTime};

use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan, civil};

use crate::{text, units};

/// A moment as typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum At {
    /// RFC 3339: `2026-11-20T23:51:00Z`.
    Moment(Timestamp),
    /// By the local clock: `2026-11-20 23:51`, with or without seconds, or the day alone, which is its
    /// midnight.
    Local(civil::DateTime),
    /// By the local clock, the last time before the file's end that it said so: `23:51`.
    Clock(civil::Time),
    /// That long before the file's last snapshot: `-10m`.
    Before(Duration),
}

/// A typed text that is no moment.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} is no time; write 2026-11-20T23:51:00Z, 2026-11-20 23:51, 23:51 or -10m")]
pub struct AtError(String);

impl At {
    /// Parses what was typed.
    ///
    /// # Errors
    /// It is none of these forms.
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

    /// Returns true if the file's last time must be known: [`crate::source::span`] finds it, but not of standard
    /// input.
    pub const fn needs_last(&self) -> bool {
        matches!(self, Self::Clock(_) | Self::Before(_))
    }

    /// Returns the moment in a file that ends at `last`, by this machine's time zone; the snapshot meant is the
    /// last one not after it.
    pub fn resolve(&self, last: SystemTime) -> SystemTime {
        self.resolve_in(last, &TimeZone::system())
    }

    /// Returns the moment in this time zone. A local time that the clock jumped over is that much later; of one
    /// that came twice it is the first.
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

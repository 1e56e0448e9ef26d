//! When a table is of.

use std::time::SystemTime;

use jiff::tz::TimeZone;
use jiff::{Timestamp, Unit};

/// A moment in the user's own time zone, to the tenth of a second: `2026-11-20 23:51:00.1 +01:00`.
pub(super) fn local(time: SystemTime) -> String {
    let Ok(stamp) = Timestamp::try_from(time) else {
        return String::new();
    };
    let tenth = stamp.round(jiff::TimestampRound::new().smallest(Unit::Millisecond).increment(100));
    let zoned = tenth.unwrap_or(stamp).to_zoned(TimeZone::system());
    zoned.strftime("%Y-%m-%d %H:%M:%S%.1f %:z").to_string()
}

//! Formats bytes, rates and durations as short text of a known width, and parses them.

use std::time::Duration;

use crate::text::named;

/// The unit of a figure. It decides how the figure is written, compared and typed in a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    Bytes,
    /// A change in bytes.
    Delta,
    /// Bytes per second.
    Growth,
    /// Events per second.
    PerSecond,
    /// A fraction. 1.0 is the whole, or one core of CPU time.
    Share,
    /// A number without a unit.
    Count,
    Seconds,
    Text,
    /// A chart of values over time. Its figure is the slope in bytes per second.
    Chart,
    /// A verdict on a trend with its slope in bytes per second.
    Trend,
    /// A verdict alone. Its figure is its rank.
    Verdict,
}

impl Unit {
    pub const fn is_verdict(self) -> bool {
        matches!(self, Self::Trend | Self::Verdict)
    }
}

named! {
    /// The unit for writing byte figures, in the order in which the monitor cycles through them.
    #[derive(Default, serde::Deserialize, serde::Serialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Units {
        /// Automatic: the unit that leaves 2 to 4 digits, `4.0K`, `120M`, `2.1G`.
        #[default]
        Auto = "auto",
        K = "k",
        /// MiB, with one decimal below 10.
        M = "m",
        /// GiB, with two decimals.
        G = "g",
        Bytes = "bytes",
    }
}

impl Units {
    #[must_use]
    pub fn next(self) -> Self {
        Self::ALL[(self as usize + 1) % Self::ALL.len()]
    }

    /// Returns the maximum width of a text from [`bytes`] for values up to 1 TiB.
    pub const fn width(self) -> u16 {
        match self {
            Self::Auto => 5,
            Self::K => 11,
            Self::M | Self::G => 8,
            Self::Bytes => 13,
        }
    }
}

const KIB: u64 = 1024;
const SUFFIX: [&str; 6] = ["K", "M", "G", "T", "P", "E"];
const DECIMAL: [&str; 6] = ["k", "M", "G", "T", "P", "E"];

/// Formats a byte figure. [`Units::Auto`] needs at most 5 columns: `0`, `512B`, `4.0K`, `23.5G`, `120M`.
pub fn bytes(n: u64, units: Units) -> String {
    match units {
        Units::Auto => auto(n),
        Units::K => format!("{}K", n / KIB),
        Units::M if n < 10 << 20 => format!("{:.1}M", n as f64 / 1_048_576.0),
        Units::M => format!("{}M", n >> 20),
        Units::G => format!("{:.2}G", n as f64 / 1_073_741_824.0),
        Units::Bytes => n.to_string(),
    }
}

fn auto(n: u64) -> String {
    if n == 0 {
        return "0".into();
    }
    if n < KIB {
        return format!("{n}B");
    }
    let mut value = n as f64 / KIB as f64;
    let mut step = 0;
    while value >= 1023.5 && step + 1 < SUFFIX.len() {
        value /= KIB as f64;
        step += 1;
    }
    // Same result as `short`, since dividing by powers of two is exact, but formatting an integer is much faster.
    let suffix = SUFFIX[step];
    if value < 99.95 {
        let tenths = (value * 10.0).round_ties_even() as u64;
        format!("{}.{}{suffix}", tenths / 10, tenths % 10)
    } else {
        format!("{}{suffix}", value.round_ties_even() as u64)
    }
}

/// Formats a number, with one decimal if it is below 100.
fn short(value: f64, suffix: &str) -> String {
    if value < 99.95 {
        format!("{value:.1}{suffix}")
    } else {
        format!("{value:.0}{suffix}")
    }
}

/// Writes a byte figure in words: `512 bytes`, `1.5 gibibytes`, `23 mebibytes`.
pub fn in_words(n: u64) -> String {
    const NAMES: [&str; 6] = ["kibibyte", "mebibyte", "gibibyte", "tebibyte", "pebibyte", "exbibyte"];
    if n < KIB {
        return counted(n, "byte");
    }
    let (mut value, mut step) = (n as f64 / KIB as f64, 0);
    while value >= 1023.5 && step + 1 < NAMES.len() {
        (value, step) = (value / KIB as f64, step + 1);
    }
    let digits = usize::from(value < 9.95 && value.fract() >= 0.05);
    let number = format!("{value:.digits$}");
    let number = number.strip_suffix(".0").unwrap_or(&number);
    let plural = if number == "1" { "" } else { "s" };
    format!("{number} {}{plural}", NAMES[step])
}

/// Formats a change in bytes with its sign: `+12.0M`, `-4.0K`, `0`.
pub fn delta(n: i64, units: Units) -> String {
    let text = bytes(n.unsigned_abs(), units);
    match n {
        // A sign before nothing says nothing.
        _ if !text.contains(|c: char| matches!(c, '1'..='9')) => "0".into(),
        1.. => format!("+{text}"),
        _ => format!("-{text}"),
    }
}

/// Formats bytes per second with a sign, always per minute, so that the figures of a column can be compared: `+720M/min`,
/// `+512B/min`.
pub fn growth(per_second: f64) -> String {
    if !per_second.is_finite() {
        return "-".into();
    }
    match delta((per_second * 60.0) as i64, Units::Auto) {
        zero if zero == "0" => zero,
        text => format!("{text}/min"),
    }
}

/// Formats a pace without its sign, always per minute as [`growth`]: `12.0M/min`, `512B/min`.
pub fn pace(per_second: f64) -> String {
    if !per_second.is_finite() {
        return "-".into();
    }
    format!("{}/min", auto((per_second.abs() * 60.0) as u64))
}

/// Formats how fast a number grows, without its sign, per minute, or per hour or day if it is slower: `200/min`, `2.4/h`.
pub fn count_pace(per_second: f64) -> String {
    if !per_second.is_finite() {
        return "-".into();
    }
    let per = |seconds: f64| per_second.abs() * seconds;
    let (number, unit) = [(per(60.0), "min"), (per(3600.0), "h")]
        .into_iter()
        .find(|(number, _)| *number >= 0.95)
        .unwrap_or((per(86_400.0), "d"));
    let tenths = (number * 10.0).round() as u64;
    if number >= 9.95 || tenths.is_multiple_of(10) {
        format!("{}/{unit}", count(number.round() as u64))
    } else {
        format!("{}.{}/{unit}", tenths / 10, tenths % 10)
    }
}

/// Returns the first unit of time of a size per time in a filter, in seconds and as written: 60 and `min` of `growth>1M/min`.
pub fn per(filter: &str) -> Option<(f64, &str)> {
    filter.split('/').skip(1).find_map(|rest| {
        let end = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
        let unit = &rest[..end];
        Some((seconds_of(unit)?, unit))
    })
}

/// Writes a number with its noun: `1 process`, `12 processes`.
pub fn counted(count: u64, noun: &str) -> String {
    let plural = match count {
        1 => "",
        _ if noun.ends_with('s') => "es",
        _ => "s",
    };
    format!("{count} {noun}{plural}")
}

/// Formats a count in at most 5 columns: `412`, `99999`, `123k`, `4.2M`.
pub fn count(n: u64) -> String {
    if n <= 99_999 {
        return n.to_string();
    }
    let mut value = n as f64 / 1e3;
    let mut step = 0;
    while value >= 999.5 && step + 1 < DECIMAL.len() {
        value /= 1e3;
        step += 1;
    }
    short(value, DECIMAL[step])
}

/// Formats a duration in at most 5 columns: `0.3s`, `9s`, `4m05`, `3h07`, `12d`, `9999d`, `30y`.
pub fn span(d: Duration) -> String {
    let s = d.as_secs();
    match s {
        0 if d.subsec_millis() > 0 => format!("{:.1}s", d.as_secs_f64().min(0.9)),
        0..=99 => format!("{s}s"),
        100..=3599 => format!("{}m{:02}", s / 60, s % 60),
        3600..=86_399 => format!("{}h{:02}", s / 3600, s / 60 % 60),
        _ if s / DAY <= 9 => format!("{}d{:02}h", s / DAY, s / 3600 % 24),
        _ if s / DAY <= 9999 => format!("{}d", s / DAY),
        _ if s / YEAR <= 9999 => format!("{}y", s / YEAR),
        _ => ">9ky".into(),
    }
}

/// Formats a forecast duration to two digits: `96 s`, `12 min`, `5.2 h`, `1.6 d`, `3.1 y`.
pub fn about(d: Duration) -> String {
    let seconds = d.as_secs_f64();
    let units = [
        ("s", 1.0, 100.0),
        ("min", 60.0, 100.0),
        ("h", 3600.0, 48.0),
        ("d", DAY as f64, 730.0),
    ];
    let unit = units.into_iter().find(|(_, one, most)| seconds < one * most);
    let (unit, one, _) = unit.unwrap_or(("y", YEAR as f64, 0.0));
    match seconds / one {
        n if n >= 9.95 || unit == "s" => format!("{n:.0} {unit}"),
        n => format!("{n:.1} {unit}"),
    }
}

const DAY: u64 = 86_400;
const YEAR: u64 = 365 * DAY;

/// Parses a duration as written in the config and on the command line (`250ms`, `1s`, `1.5`, `2m`, `1h`, `1h30m`) or by
/// [`span`] (`4m05`). A bare number is in seconds. Returns `None` if `text` is not a duration or does not fit.
pub fn parse_span(text: &str) -> Option<Duration> {
    let mut rest = text.trim();
    let mut seconds = 0.0;
    // The number of seconds that a bare number counts, if one may stand here.
    let mut bare = Some(1.0);
    let mut is_first = true;
    while is_first || !rest.is_empty() {
        let (number, after) = rest.split_at(number_len(rest));
        let unit_len = after.find(|c: char| c.is_ascii_digit()).unwrap_or(after.len());
        let (unit, after) = after.split_at(unit_len);
        let scale = match unit.trim() {
            "" => bare?,
            "ms" => 0.001,
            "s" => 1.0,
            "m" | "min" => 60.0,
            "h" => 3600.0,
            "d" => DAY as f64,
            "y" => YEAR as f64,
            _ => return None,
        };
        seconds += number.parse::<f64>().ok()? * scale;
        rest = after;
        is_first = false;
        // The second number counts seconds in `4m05` and minutes in `3h07`; after another unit it would be a slip.
        bare = match unit.trim() {
            "h" => Some(60.0),
            "m" | "min" => Some(1.0),
            _ => None,
        };
    }
    Duration::try_from_secs_f64(seconds).ok()
}

/// Returns the length of the unsigned number at the beginning of the text.
pub(crate) fn number_len(text: &str) -> usize {
    text.find(|c: char| !(c.is_ascii_digit() || c == '.'))
        .unwrap_or(text.len())
}

/// Parses a size as written in a filter: `100M`, `1.5GiB`, `4096`, `0`. Units are powers of 1024, in upper or lower
/// case.
pub fn parse_size(text: &str) -> Option<f64> {
    let (number, unit) = text.split_at(number_len(text));
    let step = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 0,
        "k" | "kb" | "kib" => 1,
        "m" | "mb" | "mib" => 2,
        "g" | "gb" | "gib" => 3,
        "t" | "tb" | "tib" => 4,
        "p" | "pb" | "pib" => 5,
        "e" | "eb" | "eib" => 6,
        _ => return None,
    };
    let value = number.parse::<f64>().ok()? * (KIB as f64).powi(step);
    value.is_finite().then_some(value)
}

/// Parses a size per time as written in a filter, in bytes per second: `1M/min`, `10K/s`, `1G/h`.
pub fn parse_rate(text: &str) -> Option<f64> {
    let (size, per) = text.split_once('/')?;
    Some(parse_size(size)? / seconds_of(per)?)
}

/// Returns the seconds of a unit of time as written in a size per time.
fn seconds_of(unit: &str) -> Option<f64> {
    Some(match unit {
        "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        "d" => 86_400.0,
        _ => return None,
    })
}

/// Formats a duration so that [`parse_span`] reads it back: `250ms`, `1s`, `90s`, `5m`, `1h`.
pub fn span_exact(d: Duration) -> String {
    let s = d.as_secs();
    if d.subsec_nanos() != 0 {
        format!("{}ms", d.as_secs_f64() * 1000.0)
    } else if s > 0 && s.is_multiple_of(3600) {
        format!("{}h", s / 3600)
    } else if s > 0 && s.is_multiple_of(60) {
        format!("{}m", s / 60)
    } else {
        format!("{s}s")
    }
}

/// Formats bytes so that [`parse_size`] reads them back: `24M`, `1536K`, `1000`.
pub fn size_exact(n: u64) -> String {
    let units = [(40, "T"), (30, "G"), (20, "M"), (10, "K")];
    let whole = units
        .into_iter()
        .find(|(shift, _)| n > 0 && n.trailing_zeros() >= *shift);
    whole.map_or_else(|| n.to_string(), |(shift, unit)| format!("{}{unit}", n >> shift))
}

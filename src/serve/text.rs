//! Families as text: `OpenMetrics` 1.0, and the older text format of Prometheus; and gzip for both.

use std::borrow::Cow;
use std::fmt::Write as _;

use miniz_oxide::deflate::compress_to_vec;

use super::families::{Family, Kind};

/// A format of answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextFormat {
    OpenMetrics,
    Prometheus,
}

impl TextFormat {
    pub const fn media_type(self) -> &'static str {
        match self {
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Self::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
        }
    }

    /// Chooses the format for an `Accept` header: `OpenMetrics` if the header names it and does not refuse it.
    pub fn accepted(header: &str) -> Self {
        if is_accepted(header, "application/openmetrics-text") {
            Self::OpenMetrics
        } else {
            Self::Prometheus
        }
    }

    /// Writes the families that have series.
    pub fn write(self, families: &[Family]) -> String {
        let is_open = self == Self::OpenMetrics;
        let mut out = String::new();
        for family in families.iter().filter(|family| !family.series.is_empty()) {
            let name = match family.unit.suffix() {
                "" => family.name.to_owned(),
                unit => format!("{}_{unit}", family.name),
            };
            let (kind, total) = match family.kind {
                Kind::Gauge => ("gauge", ""),
                Kind::Counter => ("counter", "_total"),
            };
            // Prometheus's format names a counter as its samples, and knows no units.
            let head = if is_open { &name } else { &format!("{name}{total}") };
            // Writing to a string does not fail.
            let _ = write!(out, "# HELP {head} {}\n# TYPE {head} {kind}\n", family.help);
            if is_open && *name != *family.name {
                let _ = writeln!(out, "# UNIT {name} {}", family.unit.suffix());
            }
            for series in &family.series {
                let _ = write!(out, "{name}{total}");
                for (at, (label, value)) in series.labels.iter().enumerate() {
                    let begin = if at == 0 { '{' } else { ',' };
                    let _ = write!(out, "{begin}{label}=\"{}\"", escaped(value));
                }
                let end = if series.labels.is_empty() { "" } else { "}" };
                let _ = writeln!(out, "{end} {:?}", series.value);
            }
        }
        if is_open {
            out.push_str("# EOF\n");
        }
        out
    }
}

fn escaped(value: &str) -> Cow<'_, str> {
    if !value.contains(['\\', '"', '\n']) {
        return value.into();
    }
    let value = value.replace('\\', "\\\\").replace('"', "\\\"");
    value.replace('\n', "\\n").into()
}

/// Returns true if a header such as `Accept` or `Accept-Encoding` names this and does not refuse it.
pub fn is_accepted(header: &str, name: &str) -> bool {
    header.split(',').any(|range| {
        let mut parts = range.split(';').map(str::trim);
        let is_named = parts.next().is_some_and(|named| named.eq_ignore_ascii_case(name));
        let quality = parts.find_map(|part| part.strip_prefix("q=")?.parse::<f32>().ok());
        is_named && quality.is_none_or(|q| q > 0.0)
    })
}

/// Compresses a text to a gzip file (RFC 1952).
pub fn gzip(text: &[u8]) -> Vec<u8> {
    // Deflate, no name, no time, the fastest level, Unix.
    const HEAD: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 3];
    let mut out = HEAD.to_vec();
    out.extend(compress_to_vec(text, 1));
    out.extend(crc32fast::hash(text).to_le_bytes());
    out.extend((text.len() as u32).to_le_bytes());
    out
}

//! Families as text: `OpenMetrics` 1.0, and the text format that Prometheus had before it, either of them compressed.

use std::fmt;
use std::fmt::Write as _;

use miniz_oxide::deflate::compress_to_vec;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{
    DescriptorEncoder, EncodeLabelSet, EncodeMetric, LabelSetEncoder, MetricEncoder, text,
};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::{Registry, Unit};

use super::families::{Family, Kind, Labels, MetricUnit};

/// A format of answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextFormat {
    /// `OpenMetrics` 1.0.
    OpenMetrics,
    /// Prometheus's text format 0.0.4.
    Prometheus,
}

impl TextFormat {
    /// Returns its media type.
    pub const fn media_type(self) -> &'static str {
        match self {
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Self::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
        }
    }

    /// Chooses the format that an `Accept` header asks for: `OpenMetrics` where it is named and not refused.
    pub fn accepted(header: &str) -> Self {
        if is_accepted(header, "application/openmetrics-text") {
            Self::OpenMetrics
        } else {
            Self::Prometheus
        }
    }

    /// Writes families.
    pub fn write(self, families: Vec<Family>) -> String {
        let open = open_metrics(families);
        match self {
            Self::OpenMetrics => open,
            Self::Prometheus => to_prometheus(&open),
        }
    }
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

/// Compresses a text to a file of gzip (RFC 1952).
pub fn gzip(text: &[u8]) -> Vec<u8> {
    // Deflate; no name, no time, the fastest level, of Unix.
    const HEAD: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 3];
    let mut out = HEAD.to_vec();
    out.extend(compress_to_vec(text, 1));
    out.extend(crc32fast::hash(text).to_le_bytes());
    out.extend((text.len() as u32).to_le_bytes());
    out
}

/// Families, as the encoder takes them.
#[derive(Debug)]
struct Families(Vec<Family>);

/// The labels of a series, as the encoder takes them.
#[derive(Debug)]
struct LabelSet<'a>(&'a Labels);

impl EncodeLabelSet for LabelSet<'_> {
    fn encode(&self, encoder: &mut LabelSetEncoder<'_>) -> fmt::Result {
        for (name, value) in self.0.iter() {
            let mut label = encoder.encode_label();
            let mut key = label.encode_label_key()?;
            key.write_str(name)?;
            let mut text = key.encode_label_value()?;
            text.write_str(value)?;
            text.finish()?;
        }
        Ok(())
    }
}

impl Collector for Families {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        // A family without series says nothing.
        for family in self.0.iter().filter(|family| !family.series.is_empty()) {
            let unit = match family.unit {
                MetricUnit::None => None,
                unit => Some(Unit::Other(unit.suffix().into())),
            };
            let kind = match family.kind {
                Kind::Gauge => MetricType::Gauge,
                Kind::Counter => MetricType::Counter,
            };
            let mut metric = encoder.encode_descriptor(family.name, &family.help, unit.as_ref(), kind)?;
            for series in &family.series {
                // An empty set would be written, as braces.
                if series.labels.is_empty() {
                    encode(family.kind, series.value, metric)?;
                    break;
                }
                let labels = LabelSet(&series.labels);
                encode(family.kind, series.value, metric.encode_family(&labels)?)?;
            }
        }
        Ok(())
    }
}

fn encode(kind: Kind, value: f64, place: MetricEncoder<'_>) -> fmt::Result {
    match kind {
        Kind::Gauge => ConstGauge::new(value).encode(place),
        Kind::Counter => ConstCounter::new(value).encode(place),
    }
}

fn open_metrics(families: Vec<Family>) -> String {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(Families(families)));
    let mut out = String::new();
    // Writing to a string does not fail.
    let _ = text::encode(&mut out, &registry);
    out
}

/// Turns `OpenMetrics` into Prometheus's text format: there a counter's name in `TYPE` and `HELP` ends with `_total` as in its
/// samples, and `UNIT` and `EOF` are not known.
fn to_prometheus(open: &str) -> String {
    let mut out = String::with_capacity(open.len());
    // HELP comes before TYPE, and only TYPE tells that it is a counter.
    let mut lines = open.lines().peekable();
    while let Some(line) = lines.next() {
        let Some(help) = line.strip_prefix("# HELP ") else {
            if !line.starts_with("# UNIT ") && line != "# EOF" {
                out.push_str(line);
                out.push('\n');
            }
            continue;
        };
        let (name, text) = help.split_once(' ').unwrap_or((help, ""));
        let kind = lines
            .next_if(|next| next.starts_with("# TYPE "))
            .and_then(|next| next.rsplit(' ').next())
            .unwrap_or("untyped");
        let total = if kind == "counter" { "_total" } else { "" };
        let _ = write!(out, "# HELP {name}{total} {text}\n# TYPE {name}{total} {kind}\n");
    }
    out
}

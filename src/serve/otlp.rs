//! Families in OTLP, the protocol of OpenTelemetry, as protobuf.
//!
//! A metric has its name in the semantic conventions, or else the family's own name below `zmtop.`. A collector that writes for
//! Prometheus derives the names of a scrape from these.

use std::time::SystemTime;

use super::families::{Family, Kind, Labels, MetricUnit};

/// The metrics of the semantic conventions: the family, the name, the unit, and the type of page faults, which distinguishes
/// families of the same name.
const CONVENTIONAL: [[&str; 4]; 3] = [
    ["zmtop_rss", "process.memory.usage", "By", ""],
    ["zmtop_minor_faults", "process.paging.faults", "{fault}", "minor"],
    ["zmtop_major_faults", "process.paging.faults", "{fault}", "major"],
];

/// Kinds of groups that the semantic conventions have an attribute for.
const GROUPS: [(&str, &str); 3] = [
    ("command", "process.executable.name"),
    ("user", "process.owner"),
    ("cgroup", "process.linux.cgroup"),
];

/// Cumulative `AggregationTemporality`.
const CUMULATIVE: u64 = 2;

/// Fields of a protobuf message. The comments in this file name the messages, as in opentelemetry-proto.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut value: u64) {
        while value > 0x7f {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn number(mut self, field: u64, value: u64) -> Self {
        self.varint(field << 3);
        self.varint(value);
        self
    }

    /// Adds a `fixed64`, or the bits of a `double`.
    fn fixed(mut self, field: u64, bits: u64) -> Self {
        self.varint(field << 3 | 1);
        self.0.extend(bits.to_le_bytes());
        self
    }

    /// Adds a string or a message.
    fn bytes(mut self, field: u64, bytes: impl AsRef<[u8]>) -> Self {
        self.varint(field << 3 | 2);
        self.varint(bytes.as_ref().len() as u64);
        self.0.extend(bytes.as_ref());
        self
    }

    fn each<T: AsRef<[u8]>>(self, field: u64, all: impl IntoIterator<Item = T>) -> Self {
        all.into_iter().fold(self, |message, one| message.bytes(field, one))
    }
}

impl AsRef<[u8]> for Message {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// Writes families as an export request with the time at which they were made. `resource` has the attributes of what they
/// describe.
pub fn write(families: &[Family], resource: &[(String, String)], time: SystemTime) -> Vec<u8> {
    let families: Vec<_> = families.iter().filter(|family| !family.series.is_empty()).collect();
    let metrics = families.chunk_by(|a, b| name(a) == name(b));
    let metrics = metrics.map(|same| metric(same, nanoseconds(time)));
    let scope = Message::default()
        .bytes(1, env!("CARGO_PKG_NAME"))
        .bytes(2, env!("CARGO_PKG_VERSION"));
    let resource = resource.iter().map(|(key, value)| attribute(key, value));
    let resource = Message::default().each(1, resource);
    // ResourceMetrics with one ScopeMetrics.
    let all = Message::default()
        .bytes(1, resource)
        .bytes(2, Message::default().bytes(1, scope).each(2, metrics));
    Message::default().bytes(1, all).0
}

/// Returns nanoseconds since 1970; 0, which means "unknown" in the protocol, if they do not fit.
fn nanoseconds(time: SystemTime) -> u64 {
    let time = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(time.as_nanos()).unwrap_or(0)
}

/// Returns the name, the unit and the type of page faults.
fn conventional(family: &Family) -> Option<[&'static str; 3]> {
    let found = CONVENTIONAL.into_iter().find(|[known, ..]| *known == family.name);
    found.map(|[_, name, unit, fault]| [name, unit, fault])
}

fn name(family: &Family) -> String {
    let own = || format!("zmtop.{}", family.name.strip_prefix("zmtop_").unwrap_or(family.name));
    conventional(family).map_or_else(own, |[name, ..]| name.into())
}

/// Builds a Metric of families with the same name.
fn metric(families: &[&Family], time: u64) -> Message {
    let first = families[0];
    let known = conventional(first);
    let points = families.iter().flat_map(|family| points(family, time));
    let data = Message::default().each(1, points);
    // The conventions have sums for everything that can be added up, even if it falls.
    let is_sum = first.kind == Kind::Counter || known.is_some();
    let metric = Message::default()
        .bytes(1, name(first))
        .bytes(2, &first.help)
        .bytes(3, known.map_or_else(|| unit(first.unit), |[_, unit, _]| unit));
    if !is_sum {
        return metric.bytes(5, data);
    }
    let is_monotonic = first.kind == Kind::Counter;
    metric.bytes(7, data.number(2, CUMULATIVE).number(3, is_monotonic.into()))
}

/// Builds the `NumberDataPoint`s of a family.
fn points(family: &Family, time: u64) -> impl Iterator<Item = Message> {
    let fault = conventional(family)
        .map(|[.., fault]| fault)
        .filter(|fault| !fault.is_empty());
    family.series.iter().map(move |series| {
        Message::default()
            .fixed(2, series.since.map_or(0, nanoseconds))
            .fixed(3, time)
            .fixed(4, series.value.to_bits())
            .each(7, attributes(&series.labels))
            .each(7, fault.map(|fault| attribute("system.paging.fault.type", fault)))
    })
}

/// Labels of containers in Kubernetes that the semantic conventions have an attribute for.
const KUBERNETES: [(&str, &str); 2] = [("pod", "k8s.pod.name"), ("namespace", "k8s.namespace.name")];

/// Returns the unit in UCUM. A plain number has none, since `1` would make it a ratio.
const fn unit(unit: MetricUnit) -> &'static str {
    match unit {
        MetricUnit::None => "",
        MetricUnit::Bytes => "By",
        MetricUnit::BytesPerSecond => "By/s",
        MetricUnit::Seconds => "s",
        MetricUnit::Ratio => "1",
    }
}

fn attributes(labels: &Labels) -> impl Iterator<Item = Message> {
    let by = labels.iter().find(|(name, _)| *name == "by").map(|(_, by)| &**by);
    let named = labels.iter().filter(|(name, _)| *name != "by");
    let is_in_pod = labels.iter().any(|(name, _)| *name == "pod");
    named.map(move |(name, value)| {
        let kind = by.filter(|_| *name == "group");
        let known = match *name {
            "pod" | "namespace" if is_in_pod => KUBERNETES.iter().find(|(known, _)| known == name),
            _ => GROUPS.iter().find(|(known, _)| Some(*known) == kind),
        };
        let own = || format!("zmtop.{}", kind.unwrap_or(name));
        attribute(&known.map_or_else(own, |(_, key)| (*key).into()), value)
    })
}

/// Builds a `KeyValue` with a string.
fn attribute(key: &str, value: &str) -> Message {
    Message::default()
        .bytes(1, key)
        .bytes(2, Message::default().bytes(1, value))
}

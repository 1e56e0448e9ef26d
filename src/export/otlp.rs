//! Families in OTLP, the protocol of OpenTelemetry, as protobuf.
//!
//! Names are those of the semantic conventions where they have one, else the family's own below `zmtop.`; a collector
//! that writes for Prometheus makes the names of a scrape of these again.

use std::time::{Duration, SystemTime};

use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::common::v1::{AnyValue, InstrumentationScope, KeyValue, any_value};
use opentelemetry_proto::tonic::metrics::v1::{
    AggregationTemporality, Gauge, Metric, NumberDataPoint, ResourceMetrics, ScopeMetrics, Sum, metric,
    number_data_point,
};
use opentelemetry_proto::tonic::resource::v1::Resource;
use prost::Message as _;

use super::families::{Family, Kind, Labels, MetricUnit};

/// Families that the semantic conventions have a name for: unit, and an attribute that tells them apart.
const CONVENTIONAL: [(&str, Conventional); 3] = [
    (
        "zmtop_rss",
        Conventional {
            name: "process.memory.usage",
            unit: "By",
            attribute: None,
        },
    ),
    (
        "zmtop_minor_faults",
        Conventional {
            name: "process.paging.faults",
            unit: "{fault}",
            attribute: Some(("system.paging.fault.type", "minor")),
        },
    ),
    (
        "zmtop_major_faults",
        Conventional {
            name: "process.paging.faults",
            unit: "{fault}",
            attribute: Some(("system.paging.fault.type", "major")),
        },
    ),
];

/// Kinds of groups that the semantic conventions have an attribute for.
const GROUPS: [(&str, &str); 3] = [
    ("command", "process.executable.name"),
    ("user", "process.owner"),
    ("cgroup", "process.linux.cgroup"),
];

/// A metric of the semantic conventions.
struct Conventional {
    name: &'static str,
    unit: &'static str,
    attribute: Option<(&'static str, &'static str)>,
}

/// Writes families as a request for export, at the time they were made. `resource` are the attributes of what they are of.
pub fn write(families: &[Family], resource: &[(String, String)], time: SystemTime) -> Vec<u8> {
    let time = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO);
    let time = u64::try_from(time.as_nanos()).unwrap_or(0);
    let mut metrics: Vec<Metric> = Vec::new();
    // A family without series says nothing.
    for family in families.iter().filter(|family| !family.series.is_empty()) {
        let one = to_metric(family, time);
        match metrics.last_mut() {
            Some(last) if last.name == one.name => join(last, one),
            _ => metrics.push(one),
        }
    }
    let scope = InstrumentationScope {
        name: env!("CARGO_PKG_NAME").into(),
        version: env!("CARGO_PKG_VERSION").into(),
        ..InstrumentationScope::default()
    };
    let attributes = resource.iter().map(|(key, value)| attribute(key, value)).collect();
    let request = ExportMetricsServiceRequest {
        resource_metrics: vec![ResourceMetrics {
            resource: Some(Resource {
                attributes,
                ..Resource::default()
            }),
            scope_metrics: vec![ScopeMetrics {
                scope: Some(scope),
                metrics,
                schema_url: String::new(),
            }],
            schema_url: String::new(),
        }],
    };
    request.encode_to_vec()
}

fn to_metric(family: &Family, time: u64) -> Metric {
    let known = CONVENTIONAL.iter().find(|(name, _)| *name == family.name);
    let known = known.map(|(_, known)| known);
    let more = known.and_then(|known| known.attribute);
    let points = family.series.iter().map(|series| {
        let mut attributes = attributes(&series.labels);
        attributes.extend(more.map(|(key, value)| attribute(key, value)));
        NumberDataPoint {
            attributes,
            time_unix_nano: time,
            value: Some(number_data_point::Value::AsDouble(series.value)),
            // When a counter began is not known of all: those of the kernel count since boot.
            ..NumberDataPoint::default()
        }
    });
    let data_points = points.collect();
    let sum = |is_monotonic, data_points| {
        metric::Data::Sum(Sum {
            data_points,
            aggregation_temporality: AggregationTemporality::Cumulative.into(),
            is_monotonic,
        })
    };
    let data = match (family.kind, known) {
        (Kind::Counter, _) => sum(true, data_points),
        // The conventions have sums of what can be added up, even where it falls.
        (Kind::Gauge, Some(_)) => sum(false, data_points),
        (Kind::Gauge, None) => metric::Data::Gauge(Gauge { data_points }),
    };
    let own_name = || format!("zmtop.{}", family.name.strip_prefix("zmtop_").unwrap_or(family.name));
    Metric {
        name: known.map_or_else(own_name, |known| known.name.into()),
        description: family.help.clone(),
        unit: known.map_or_else(|| unit(family.unit), |known| known.unit).into(),
        data: Some(data),
        ..Metric::default()
    }
}

/// Adds the points of a metric of the same name.
fn join(to: &mut Metric, more: Metric) {
    if let (Some(metric::Data::Sum(to)), Some(metric::Data::Sum(more))) = (&mut to.data, more.data) {
        to.data_points.extend(more.data_points);
    }
}

/// Returns the unit in UCUM. A number without one has none, for `1` would make it a ratio.
const fn unit(unit: MetricUnit) -> &'static str {
    match unit {
        MetricUnit::None => "",
        MetricUnit::Bytes => "By",
        MetricUnit::BytesPerSecond => "By/s",
        MetricUnit::Seconds => "s",
        MetricUnit::Ratio => "1",
    }
}

fn attributes(labels: &Labels) -> Vec<KeyValue> {
    let by = labels.iter().find(|(name, _)| *name == "by").map(|(_, by)| &**by);
    let named = labels.iter().filter(|(name, _)| *name != "by");
    let all = named.map(|(name, value)| match by.filter(|_| *name == "group") {
        Some(by) => {
            let known = GROUPS.iter().find(|(kind, _)| *kind == by);
            let own = || format!("zmtop.{by}");
            attribute(&known.map_or_else(own, |(_, key)| (*key).into()), value)
        }
        None => attribute(&format!("zmtop.{name}"), value),
    });
    all.collect()
}

fn attribute(key: &str, value: &str) -> KeyValue {
    KeyValue {
        key: key.into(),
        value: Some(AnyValue {
            value: Some(any_value::Value::StringValue(value.into())),
        }),
        ..KeyValue::default()
    }
}

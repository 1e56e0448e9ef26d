//! The system as a whole in `zmtop/1`.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::model::system::{Psi, SwapArea, Zram, system_figures};
use crate::model::{CgroupFigures, SystemSample};
use crate::record::cgroup::Cgroup;
use crate::record::unread::{MissingFields, Reasons, Unread};
use crate::record::{bytes, string};
use crate::text::lossless;

macro_rules! define_system {
    ($($(#[$doc:meta])* $figure:ident: $source:expr,)*) => {
        /// The system as the schema has it: its figures are named as in the model.
        #[derive(Debug, Default, Deserialize, Serialize)]
        pub(super) struct System<'a> {
            $($figure: Option<u64>,)*
            #[serde(borrow)]
            zram: Option<Vec<Device<'a>>>,
            #[serde(borrow)]
            swaps: Option<Vec<Area<'a>>>,
            psi: Option<Pressure>,
            uptime_s: Option<f64>,
            loadavg: Option<[Option<f32>; 3]>,
            limit: Option<Cgroup>,
            unread: Option<Unread>,
        }

        impl<'a> From<&'a SystemSample> for System<'a> {
            fn from(sample: &'a SystemSample) -> Self {
                let mut missing = MissingFields::default();
                Self {
                    $($figure: missing.value(stringify!($figure), sample.$figure),)*
                    zram: Some(sample.zram.iter().map(Device::from).collect()),
                    swaps: missing
                        .value("swaps", sample.swaps.as_ref().map_err(|why| *why))
                        .map(|swaps| swaps.iter().map(Area::from).collect()),
                    psi: missing.value("psi", sample.psi).map(|psi| Pressure {
                        some_avg10: Some(psi.some_avg10),
                        full_avg10: Some(psi.full_avg10),
                    }),
                    uptime_s: missing.value("uptime_s", sample.uptime),
                    loadavg: missing.value("loadavg", sample.loadavg).map(|loads| loads.map(Some)),
                    limit: Some(Cgroup::from(&sample.limit)),
                    unread: missing.into_unread("mem_total"),
                }
            }
        }

        impl From<System<'_>> for SystemSample {
            fn from(record: System<'_>) -> Self {
                let reasons = Reasons(record.unread.as_ref());
                let psi = |psi: Pressure| {
                    Some(Psi {
                        some_avg10: psi.some_avg10?,
                        full_avg10: psi.full_avg10?,
                    })
                };
                let loads = |[one, five, fifteen]: [Option<f32>; 3]| Some([one?, five?, fifteen?]);
                let areas = |swaps: Vec<Area<'_>>| swaps.into_iter().map(SwapArea::from).collect();
                Self {
                    $($figure: reasons.reading(stringify!($figure), record.$figure),)*
                    zram: record.zram.into_iter().flatten().map(Zram::from).collect(),
                    swaps: reasons.reading("swaps", record.swaps.map(areas)),
                    psi: reasons.reading("psi", record.psi.and_then(psi)),
                    uptime: reasons.reading("uptime_s", record.uptime_s),
                    loadavg: reasons.reading("loadavg", record.loadavg.and_then(loads)),
                    limit: record
                        .limit
                        .map_or_else(|| CgroupFigures::missing(reasons.reason("limit")), CgroupFigures::from),
                }
            }
        }
    };
}

system_figures!(define_system);

#[derive(Debug, Deserialize, Serialize)]
struct Pressure {
    some_avg10: Option<f32>,
    full_avg10: Option<f32>,
}

/// A zram device; `ratio` is `stored / compressed`, written for the convenience of readers.
#[derive(Debug, Deserialize, Serialize)]
struct Device<'a> {
    name: Cow<'a, str>,
    stored: u64,
    compressed: u64,
    ratio: Option<f64>,
    is_swap: Option<bool>,
}

impl<'a> From<&'a Zram> for Device<'a> {
    fn from(zram: &'a Zram) -> Self {
        Self {
            name: lossless(zram.name.as_bytes()),
            stored: zram.stored,
            compressed: zram.compressed,
            ratio: (zram.compressed > 0).then(|| zram.stored as f64 / zram.compressed as f64),
            is_swap: Some(zram.is_swap),
        }
    }
}

impl From<Device<'_>> for Zram {
    fn from(record: Device<'_>) -> Self {
        Self {
            name: string(&record.name).into(),
            stored: record.stored,
            compressed: record.compressed,
            is_swap: record.is_swap.unwrap_or(false),
        }
    }
}

#[derive(Debug, Deserialize, Serialize)]
struct Area<'a> {
    path: Cow<'a, str>,
    kind: Cow<'a, str>,
    size: u64,
    used: u64,
    priority: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    unread: Option<Unread>,
}

impl<'a> From<&'a SwapArea> for Area<'a> {
    fn from(area: &'a SwapArea) -> Self {
        let mut missing = MissingFields::default();
        Self {
            path: lossless(&area.path),
            kind: lossless(area.kind.as_bytes()),
            size: area.size,
            used: area.used,
            priority: missing.value("priority", area.priority),
            unread: missing.into_unread("priority"),
        }
    }
}

impl From<Area<'_>> for SwapArea {
    fn from(record: Area<'_>) -> Self {
        Self {
            path: bytes(&record.path).into(),
            kind: string(&record.kind).into(),
            size: record.size,
            used: record.used,
            priority: Reasons(record.unread.as_ref()).reading("priority", record.priority),
        }
    }
}

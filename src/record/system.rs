//! The system as a whole in `zmtop/1`.

use std::borrow::Cow;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::model::system::{
    FigureSource, Pressure, Scope, ScopeEvents, ScopeKind, SwapArea, SystemFigure, Zram, scope_figures, system_figures,
};
use crate::model::{CgroupFigures, Missing, SystemSample};
use crate::record::cgroup::{Cgroup, Value};
use crate::record::unread::{MissingFields, Reasons, Unread};
use crate::record::{bytes, string};
use crate::schema::{self, Shape, described};
use crate::text::lossless;

macro_rules! define_system {
    ($($(#[doc = $help:literal])* $figure:ident: $source:expr,)*) => {
        described! {
            #[derive(Debug, Default, Deserialize, Serialize)]
            pub(super) struct System<'a> {
                $($(#[doc = $help])* $figure: Option<u64> = shape_of(stringify!($figure)).unread(),)*
                /// zram devices.
                #[serde(borrow)]
                zram: Option<Vec<Device<'a>>> = list(object(Device::fields())),
                /// Swap areas, from /proc/swaps.
                #[serde(borrow)]
                swaps: Option<Vec<Area<'a>>> = list(object(Area::fields())).unread(),
                /// Pressure stall information of memory.
                psi: Option<Stalled> = object(Stalled::fields()).unread(),
                /// Time for which some task, and all tasks at once, have waited for memory since boot.
                stalled_s: Option<[f64; 2]> = list(seconds()).unread(),
                /// Time since boot.
                uptime_s: Option<f64> = seconds().unread(),
                /// The load averages of 1, 5 and 15 minutes.
                loadavg: Option<[Option<f32>; 3]> = list(number()).unread(),
                /// The cgroup with the lowest limit among zmtop's own and its ancestors; its own if none has a limit.
                limit: Option<Cgroup> = object(Cgroup::fields()),
                /// The cgroup whose figures replace the machine's.
                #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
                scope: Option<ScopeRecord<'a>> = object(ScopeRecord::fields()).absent("if the figures are the machine's"),
                /// The reasons of nulls.
                unread: Option<Unread> = unread(),
            }
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
                    psi: missing.value("psi", sample.psi).map(|psi| Stalled {
                        some_avg10: Some(psi.some[0]),
                        full_avg10: Some(psi.full[0]),
                    }),
                    stalled_s: missing
                        .value("stalled_s", sample.stalled)
                        .map(|times| times.map(|time| time.as_secs_f64())),
                    uptime_s: missing.value("uptime_s", sample.uptime),
                    loadavg: missing.value("loadavg", sample.loadavg).map(|loads| loads.map(Some)),
                    limit: Some(Cgroup::from(&sample.limit)),
                    scope: sample.scope.as_deref().map(ScopeRecord::from),
                    unread: missing.into_unread("mem_total"),
                }
            }
        }

        impl From<System<'_>> for SystemSample {
            fn from(record: System<'_>) -> Self {
                let reasons = Reasons(record.unread.as_ref());
                let psi = |psi: Stalled| {
                    Some(Pressure {
                        some: [psi.some_avg10?],
                        full: [psi.full_avg10?],
                    })
                };
                let time = |seconds| Duration::try_from_secs_f64(seconds).ok();
                let times = |[some, full]: [f64; 2]| Some([time(some)?, time(full)?]);
                let loads = |[one, five, fifteen]: [Option<f32>; 3]| Some([one?, five?, fifteen?]);
                let areas = |swaps: Vec<Area<'_>>| swaps.into_iter().map(SwapArea::from).collect();
                let is_old = record.zram.iter().flatten().any(|device| device.is_swap.is_none());
                let mut sample = Self {
                    $($figure: reasons.reading(stringify!($figure), record.$figure),)*
                    zram: record.zram.into_iter().flatten().map(Zram::from).collect(),
                    swaps: reasons.reading("swaps", record.swaps.map(areas)),
                    psi: reasons.reading("psi", record.psi.and_then(psi)),
                    stalled: reasons.reading("stalled_s", record.stalled_s.and_then(times)),
                    uptime: reasons.reading("uptime_s", record.uptime_s),
                    loadavg: reasons.reading("loadavg", record.loadavg.and_then(loads)),
                    limit: record
                        .limit
                        .map_or_else(|| CgroupFigures::missing(reasons.reason("limit")), CgroupFigures::from),
                    scope: record.scope.map(|scope| Box::new(scope.into())),
                };
                if is_old {
                    sample.mark_swap();
                }
                sample
            }
        }
    };
}

system_figures!(define_system);

macro_rules! define_scope {
    ($($(#[doc = $help:literal])* $figure:ident: $type:ty,)*) => {
        described! {
            #[derive(Debug, Deserialize, Serialize)]
            struct ScopeRecord<'a> {
                /// `container`, or `cgroup` if chosen by `--cgroup`.
                kind: Cow<'a, str> = text(),
                /// The path of the cgroup.
                path: Cow<'a, str> = foreign(),
                $($(#[doc = $help])* $figure: Option<<$type as Value>::Json> = <$type as Value>::shape().unread(),)*
                /// The reasons of nulls.
                unread: Option<Unread> = unread(),
            }
        }

        impl<'a> From<&'a Scope> for ScopeRecord<'a> {
            fn from(scope: &'a Scope) -> Self {
                let mut missing = MissingFields::default();
                Self {
                    kind: scope.kind.id().into(),
                    path: lossless(&scope.path),
                    $($figure: missing.value(stringify!($figure), scope.$figure).map(Value::to_json),)*
                    unread: missing.into_unread("current"),
                }
            }
        }

        impl From<ScopeRecord<'_>> for Scope {
            fn from(record: ScopeRecord<'_>) -> Self {
                let reasons = Reasons(record.unread.as_ref());
                Self {
                    kind: ScopeKind::from_id(&record.kind).unwrap_or(ScopeKind::Chosen),
                    path: bytes(&record.path).into(),
                    levels: Vec::new(),
                    events: ScopeEvents::missing(Missing::NotExported),
                    $($figure: reasons.reading(stringify!($figure), record.$figure).and_then(Value::from_json),)*
                }
            }
        }
    };
}

scope_figures!(define_scope);

/// Returns the shape of a figure by its source.
fn shape_of(figure: &str) -> Shape {
    let is_count = |found: &&SystemFigure| matches!(found.source, FigureSource::VmstatCount(_));
    let mut counts = SystemSample::FIGURES.iter().filter(is_count);
    if counts.any(|found| found.name == figure) {
        schema::count()
    } else {
        schema::bytes()
    }
}

described! {
    #[derive(Debug, Deserialize, Serialize)]
    struct Stalled {
        /// The share of the last 10 s in which at least one task waited for memory.
        some_avg10: Option<f32> = percent(),
        /// The share of the last 10 s in which all tasks waited for memory.
        full_avg10: Option<f32> = percent(),
    }
}

described! {
    #[derive(Debug, Deserialize, Serialize)]
    struct Device<'a> {
        /// The name, such as `zram0`.
        name: Cow<'a, str> = foreign(),
        /// The uncompressed size of the stored data.
        stored: u64 = bytes(),
        /// The RAM used.
        compressed: u64 = bytes(),
        /// `stored / compressed`.
        ratio: Option<f64> = number().null("it stores nothing"),
        /// A swap area is on it.
        is_swap: Option<bool> = switch(),
        /// The maximum RAM.
        limit: Option<u64> = bytes().null("it has no limit"),
    }
}

impl<'a> From<&'a Zram> for Device<'a> {
    fn from(zram: &'a Zram) -> Self {
        Self {
            name: lossless(zram.name.as_bytes()),
            stored: zram.stored,
            compressed: zram.compressed,
            ratio: (zram.compressed > 0).then(|| zram.stored as f64 / zram.compressed as f64),
            is_swap: Some(zram.is_swap),
            limit: zram.limit,
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
            limit: record.limit.filter(|bytes| *bytes > 0),
        }
    }
}

described! {
    #[derive(Debug, Deserialize, Serialize)]
    struct Area<'a> {
        /// The path of the file or the device.
        path: Cow<'a, str> = foreign(),
        /// `file` or `partition`.
        kind: Cow<'a, str> = foreign(),
        /// The size.
        size: u64 = bytes(),
        /// The used part.
        used: u64 = bytes(),
        /// The kernel fills the area with the highest priority first.
        priority: Option<i32> = id().unread(),
        /// The reasons of nulls.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unread: Option<Unread> = unread().absent("if nothing is unknown"),
    }
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

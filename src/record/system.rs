//! The system as a whole in `zmtop/1`.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::model::system::{Detail, Psi, SwapArea, Zram};
use crate::model::{CgroupFigures, SystemSample};
use crate::record::cgroup::Cgroup;
use crate::record::unread::{Gaps, Unread, why};
use crate::record::{raw, string};
use crate::text::lossless;

#[derive(Debug, Deserialize, Serialize)]
struct Device<'a> {
    name: Cow<'a, str>,
    stored: u64,
    compressed: u64,
    /// For those who read: `stored / compressed`.
    ratio: Option<f64>,
    is_swap: Option<bool>,
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

#[derive(Debug, Deserialize, Serialize)]
struct Pressure {
    some_avg10: Option<f32>,
    full_avg10: Option<f32>,
}

/// Byte figures and counters, each one line: the schema calls them as the model does.
macro_rules! figures {
    ($($figure:ident)*; detail: $($detail:ident)*) => {
        /// The system as the schema has it.
        #[derive(Debug, Default, Deserialize, Serialize)]
        pub(super) struct System<'a> {
            $($figure: Option<u64>,)*
            $($detail: Option<u64>,)*
            #[serde(borrow)]
            zram: Option<Vec<Device<'a>>>,
            #[serde(borrow)]
            swaps: Option<Vec<Area<'a>>>,
            psi: Option<Pressure>,
            uptime_s: Option<f64>,
            loadavg: Option<[Option<f32>; 3]>,
            #[serde(borrow)]
            limit: Option<Cgroup<'a>>,
            unread: Option<Unread>,
        }

        impl<'a> System<'a> {
            pub(super) fn of(sample: &'a SystemSample) -> Self {
                let mut gaps = Gaps::default();
                $(let $figure = gaps.take(stringify!($figure), sample.$figure);)*
                $(let $detail = gaps.take(stringify!($detail), sample.detail.$detail);)*
                let swaps = gaps.take("swaps", sample.swaps.as_ref().map_err(|why| *why));
                let psi = gaps.take("psi", sample.psi);
                let uptime_s = gaps.take("uptime_s", sample.uptime);
                let loadavg = gaps.take("loadavg", sample.loadavg);
                Self {
                    $($figure,)*
                    $($detail,)*
                    zram: Some(sample.zram.iter().map(Device::of).collect()),
                    swaps: swaps.map(|swaps| swaps.iter().map(Area::of).collect()),
                    psi: psi.map(|psi| Pressure {
                        some_avg10: Some(psi.some_avg10),
                        full_avg10: Some(psi.full_avg10),
                    }),
                    uptime_s,
                    loadavg: loadavg.map(|loads| loads.map(Some)),
                    limit: Some(Cgroup::of(&sample.limit)),
                    unread: gaps.unread("mem_total"),
                }
            }

            pub(super) fn sample(self) -> SystemSample {
                let unread = self.unread.as_ref();
                SystemSample {
                    $($figure: self.$figure.ok_or_else(|| why(unread, stringify!($figure))),)*
                    zram: self.zram.iter().flatten().map(Device::zram).collect(),
                    swaps: self
                        .swaps
                        .map(|swaps| swaps.iter().map(Area::area).collect())
                        .ok_or_else(|| why(unread, "swaps")),
                    psi: self.psi.and_then(|psi| psi.psi()).ok_or_else(|| why(unread, "psi")),
                    uptime: self.uptime_s.ok_or_else(|| why(unread, "uptime_s")),
                    loadavg: self.loadavg.and_then(loads).ok_or_else(|| why(unread, "loadavg")),
                    limit: self
                        .limit
                        .map_or_else(|| CgroupFigures::missing(why(unread, "limit")), Cgroup::figures),
                    detail: Detail {
                        $($detail: self.$detail.ok_or_else(|| why(unread, stringify!($detail))),)*
                    },
                }
            }
        }
    };
}

figures! {
    mem_total
    mem_free
    mem_available
    buffers
    cached
    shmem
    anon_pages
    mapped
    slab
    sreclaimable
    swap_total
    swap_free
    swap_cached
    zswap
    zswapped
    pswpin
    pswpout
    pgmajfault;
    detail:
    lru
    mlocked
    dirty
    writeback
    kreclaimable
    sunreclaim
    kernel_stack
    page_tables
    sec_page_tables
    bounce
    writeback_tmp
    vmalloc
    percpu
    corrupted
    gpu
    balloon
    commit_limit
    committed
    anon_huge
    shmem_huge
    file_huge
    hugetlb
    huge_pool
    huge_free
}

impl<'a> Device<'a> {
    fn of(zram: &'a Zram) -> Self {
        Self {
            name: lossless(zram.name.as_bytes()),
            stored: zram.stored,
            compressed: zram.compressed,
            ratio: (zram.compressed > 0).then(|| zram.stored as f64 / zram.compressed as f64),
            is_swap: Some(zram.is_swap),
        }
    }

    fn zram(&self) -> Zram {
        Zram {
            name: string(&self.name).into(),
            stored: self.stored,
            compressed: self.compressed,
            is_swap: self.is_swap.unwrap_or(false),
        }
    }
}

impl<'a> Area<'a> {
    fn of(area: &'a SwapArea) -> Self {
        let mut gaps = Gaps::default();
        Self {
            priority: gaps.take("priority", area.priority),
            unread: gaps.unread("priority"),
            path: lossless(&area.path),
            kind: lossless(area.kind.as_bytes()),
            size: area.size,
            used: area.used,
        }
    }

    fn area(&self) -> SwapArea {
        SwapArea {
            path: raw(&self.path).into(),
            kind: string(&self.kind).into(),
            size: self.size,
            used: self.used,
            priority: self.priority.ok_or_else(|| why(self.unread.as_ref(), "priority")),
        }
    }
}

impl Pressure {
    fn psi(&self) -> Option<Psi> {
        Some(Psi {
            some_avg10: self.some_avg10?,
            full_avg10: self.full_avg10?,
        })
    }
}

/// The three averages, where none of them is unknown.
fn loads(loads: [Option<f32>; 3]) -> Option<[f32; 3]> {
    let [one, five, fifteen] = loads;
    Some([one?, five?, fifteen?])
}

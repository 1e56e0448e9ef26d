//! The processes that used up the memory in a danger, in `zmtop/1`.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::model::Identity;
use crate::model::taker::{HeapUse, KeptPath, MappingUse, Taker};
use crate::record::accounting::Field;
use crate::record::seconds;
use crate::record::unread::{MissingFields, Reasons, Unread};
use crate::schema::described;

described! {
    #[derive(Debug, Deserialize, Serialize)]
    pub(super) struct TakerRecord {
        /// The process.
        pid: u32 = id(),
        /// Start time in clock ticks since boot.
        starttime: u64 = id(),
        /// Its short name.
        comm: String = foreign(),
        /// The time at which its heap was read.
        time: String = time(),
        /// Its memory in RAM and in swap.
        memory: Option<u64> = bytes().unread(),
        /// Its heap, of glibc or of another allocator.
        heap: Option<HeapRecord> = object(HeapRecord::fields()).unread(),
        /// Its largest mappings, the largest first.
        #[serde(default)]
        mappings: Option<Vec<MappingRecord>> = list(object(MappingRecord::fields())).unread(),
        /// The code that keeps most of its memory.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        kept_by: Option<PathRecord> = object(PathRecord::fields()).absent("if its page faults were not sampled before"),
        /// The reasons of nulls.
        unread: Option<Unread> = unread(),
    }
}

described! {
    #[derive(Debug, Deserialize, Serialize)]
    pub(super) struct HeapRecord {
        /// Memory that the program did not free.
        in_use: u64 = bytes(),
        /// Free memory inside the heap, resident or not.
        free: u64 = bytes(),
        /// The part of it that is resident or in swap.
        kept: u64 = bytes(),
    }
}

described! {
    #[derive(Debug, Deserialize, Serialize)]
    pub(super) struct MappingRecord {
        /// The name, as in `smaps`; `[anon]` for memory without one.
        name: String = foreign(),
        /// PSS and `SwapPss` of all its areas.
        bytes: u64 = bytes(),
    }
}

described! {
    #[derive(Debug, Deserialize, Serialize)]
    pub(super) struct PathRecord {
        /// The function and its callers, innermost first.
        functions: Vec<String> = list(foreign()),
        /// The runtime that allocated most of it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        runtime: Option<String> = text().absent("if its functions have names"),
        /// Memory that this path keeps.
        bytes: u64 = bytes(),
        /// Memory that all paths keep.
        total: u64 = bytes(),
        /// Time in which it was taken.
        span_s: f64 = seconds(),
    }
}

impl From<&Taker> for TakerRecord {
    fn from(taker: &Taker) -> Self {
        let mut missing = MissingFields::default();
        Self {
            pid: taker.id.pid,
            starttime: taker.id.starttime,
            comm: taker.comm.to_json(),
            time: taker.time.to_json(),
            memory: missing.value("memory", taker.memory),
            heap: missing.value("heap", taker.heap).map(|heap| HeapRecord {
                in_use: heap.in_use,
                free: heap.free,
                kept: heap.kept,
            }),
            mappings: missing
                .value("mappings", taker.mappings.as_ref().map_err(|why| *why))
                .map(|mappings| {
                    let record = |mapping: &MappingUse| MappingRecord {
                        name: mapping.name.to_json(),
                        bytes: mapping.bytes,
                    };
                    mappings.iter().map(record).collect()
                }),
            kept_by: taker.kept_by.as_ref().map(|path| PathRecord {
                functions: path.functions.iter().map(Field::to_json).collect(),
                runtime: path.runtime.as_ref().map(Field::to_json),
                bytes: path.bytes,
                total: path.total,
                span_s: path.span.as_secs_f64(),
            }),
            unread: missing.into_unread("heap"),
        }
    }
}

impl From<TakerRecord> for Taker {
    fn from(record: TakerRecord) -> Self {
        let reasons = Reasons(record.unread.as_ref());
        let heap = record.heap.map(|heap| HeapUse {
            in_use: heap.in_use,
            free: heap.free,
            kept: heap.kept,
        });
        let mappings = record.mappings.map(|mappings| {
            let mappings = mappings.into_iter().take(Self::MAPPINGS);
            let mappings = mappings.map(|mapping| MappingUse {
                name: Field::from_json(mapping.name),
                bytes: mapping.bytes,
            });
            mappings.collect()
        });
        Self {
            id: Identity {
                pid: record.pid,
                starttime: record.starttime,
            },
            comm: Field::from_json(record.comm),
            time: Field::from_json(record.time),
            memory: reasons.reading("memory", record.memory),
            heap: reasons.reading("heap", heap),
            mappings: reasons.reading("mappings", mappings),
            kept_by: record.kept_by.map(|path| {
                let functions = path.functions.into_iter().take(KeptPath::MOST);
                KeptPath {
                    functions: functions.map(Field::from_json).collect(),
                    runtime: path.runtime.map(Field::from_json),
                    bytes: path.bytes,
                    total: path.total,
                    span: seconds(Some(path.span_s)).unwrap_or(Duration::ZERO),
                }
            }),
        }
    }
}

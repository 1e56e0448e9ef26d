//! The inputs of the system's account, and OOM kills, in `zmtop/1`.

use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use crate::model::kill::{Constraint, DaemonKill, OomKill, OomLimit, OomVictim, RssParts};
use crate::model::system::{
    AccountingInputs, HugePool, Ksm, MemoryMount, Pressure, Sockets, SysvCreator, SysvShm, Zones, ZramDevice,
};
use crate::record::unread::{MissingFields, Reasons, Unread};
use crate::record::{bytes, string, time_text};
use crate::schema::{self, Shape, described};
use crate::text::lossless;

pub(super) trait Field: Sized {
    type Json;

    fn shape() -> Shape;
    fn to_json(&self) -> Self::Json;
    fn from_json(json: Self::Json) -> Self;
}

macro_rules! define_plain {
    ($($type:ty = $shape:expr),*) => {
        $(impl Field for $type {
            type Json = Self;

            fn shape() -> Shape {
                $shape
            }

            fn to_json(&self) -> Self {
                *self
            }

            fn from_json(json: Self) -> Self {
                json
            }
        })*
    };
}

define_plain!(
    u32 = schema::id(),
    u64 = schema::bytes(),
    bool = schema::switch(),
    [f32; 3] = schema::list(schema::percent())
);

impl Field for Box<str> {
    type Json = String;

    fn shape() -> Shape {
        schema::foreign()
    }

    fn to_json(&self) -> String {
        lossless(self.as_bytes()).into_owned()
    }

    fn from_json(json: String) -> Self {
        string(&json).into()
    }
}

impl Field for Box<[u8]> {
    type Json = String;

    fn shape() -> Shape {
        schema::foreign()
    }

    fn to_json(&self) -> String {
        lossless(self).into_owned()
    }

    fn from_json(json: String) -> Self {
        bytes(&json).into()
    }
}

/// An invalid time becomes the epoch.
impl Field for SystemTime {
    type Json = String;

    fn shape() -> Shape {
        schema::time()
    }

    fn to_json(&self) -> String {
        time_text(*self)
    }

    fn from_json(json: String) -> Self {
        let time: Result<jiff::Timestamp, _> = json.parse();
        time.map_or(Self::UNIX_EPOCH, Self::from)
    }
}

/// A name that this version does not recognize becomes `none`.
impl Field for Constraint {
    type Json = String;

    fn shape() -> Shape {
        schema::one_of(Self::ALL.map(Self::id))
    }

    fn to_json(&self) -> String {
        self.id().into()
    }

    fn from_json(json: String) -> Self {
        Self::from_id(&json).unwrap_or(Self::None)
    }
}

/// The shape of a field must say when it is null.
impl<T: Field> Field for Option<T> {
    type Json = Option<T::Json>;

    fn shape() -> Shape {
        T::shape()
    }

    fn to_json(&self) -> Self::Json {
        self.as_ref().map(Field::to_json)
    }

    fn from_json(json: Self::Json) -> Self {
        json.map(T::from_json)
    }
}

impl<T: Field> Field for Vec<T> {
    type Json = Vec<T::Json>;

    fn shape() -> Shape {
        schema::list(T::shape())
    }

    fn to_json(&self) -> Self::Json {
        self.iter().map(Field::to_json).collect()
    }

    fn from_json(json: Self::Json) -> Self {
        json.into_iter().map(T::from_json).collect()
    }
}

/// Defines the record of a struct: its plain fields, then its readings with the main one.
macro_rules! define_record {
    ($record:ident: $model:ty { $($(#[doc = $help:literal])+ $field:ident: $type:ty $(= $shape:expr)?,)* }
     $(readings { $($(#[doc = $reading_help:literal])+ $reading:ident: $of:ty $(= $reading_shape:expr)?,)* } main $main:literal)?) => {
        described! {
            #[derive(Debug, Deserialize, Serialize)]
            pub(super) struct $record {
                $($(#[doc = $help])+ $field: <$type as Field>::Json = chosen([$($shape,)? <$type as Field>::shape()]),)*
                $($($(#[doc = $reading_help])+
                $reading: Option<<$of as Field>::Json> = chosen([$($reading_shape,)? <$of as Field>::shape()]).unread(),)*
                /// The reasons of nulls.
                #[serde(default, skip_serializing_if = "Option::is_none")]
                unread: Option<Unread> = unread().absent("if nothing is unknown"),)?
            }
        }

        impl Field for $model {
            type Json = $record;

            fn shape() -> Shape {
                schema::object($record::fields())
            }

            fn to_json(&self) -> $record {
                $(let mut missing = MissingFields::default();
                $(let $reading = missing
                    .value(stringify!($reading), self.$reading.as_ref().map_err(|why| *why))
                    .map(Field::to_json);)*
                let unread = missing.into_unread($main);)?
                $record {
                    $($field: self.$field.to_json(),)*
                    $($($reading,)* unread,)?
                }
            }

            fn from_json(json: $record) -> Self {
                $(let reasons = Reasons(json.unread.as_ref());
                $(let $reading = reasons.reading(stringify!($reading), json.$reading.map(<$of as Field>::from_json));)*)?
                Self {
                    $($field: <$type as Field>::from_json(json.$field),)*
                    $($($reading,)*)?
                }
            }
        }
    };
}

/// Returns the first shape: the field's own, or else its type's.
fn chosen<const N: usize>(shapes: [Shape; N]) -> Shape {
    shapes.into_iter().next().unwrap_or_else(schema::text)
}

define_record!(Accounting: AccountingInputs {} readings {
    /// The zones of the RAM, from /proc/zoneinfo.
    zones: Zones,
    /// zram devices, from `mm_stat` and `bd_stat`.
    zram: Vec<ZramDevice>,
    /// The pools of huge pages, by page size.
    huge: Vec<HugePool>,
    /// The mode of transparent huge pages: `always`, `madvise` or `never`.
    thp: Box<str>,
    /// Kernel same-page merging.
    ksm: Ksm,
    /// zswap is enabled.
    zswap_on: bool,
    /// The maximum share of the RAM for zswap.
    zswap_percent: u64 = schema::percent(),
    /// Pages of one repeated word in zswap. They use no RAM.
    zswap_same_filled: u64,
    /// All pressure stall information of memory.
    pressure: Pressure,
    /// Memory of sockets.
    sockets: Sockets,
    /// System V shared memory.
    sysv: SysvShm,
    /// File systems in memory: tmpfs and devtmpfs.
    mounts: Vec<MemoryMount>,
} main "zones");

define_record!(OomKillRecord: OomKill {
    /// The time at which the kill was detected.
    time: SystemTime,
    /// The number of its record in the kernel's log.
    record: Option<u64> = schema::id().null("it is not in the log"),
    /// The daemon that killed it.
    daemon: Option<DaemonKill> = schema::object(DaemonRecord::fields()).null("the kernel did"),
} readings {
    /// The killed process.
    victim: OomVictim,
    /// The time at which the kill was detected, on the monotonic clock, in milliseconds.
    monotonic_ms: u64 = schema::number(),
} main "victim");

define_record!(DaemonRecord: DaemonKill {
    /// Its name.
    name: Box<str>,
    /// Number of further processes that it killed within a second.
    others: u64 = schema::count(),
});

/// The meaning of null in figures of the kernel's report on a kill.
const NO_REPORT: &str = "the kernel left its report out";

define_record!(VictimRecord: OomVictim {
    /// Its pid.
    pid: u32,
    /// Its real uid.
    uid: Option<u32> = schema::id().null("the log does not have it, or a recording of an older version"),
    /// Its short name.
    comm: Box<[u8]>,
    /// Its RSS when it was killed.
    rss: u64,
    /// The limit of a cgroup was reached, not the machine's.
    by_cgroup: bool,
    /// The parts of its RSS.
    parts: Option<RssParts> = schema::object(RssRecord::fields()).null("a recording of an older version"),
    /// Its page tables, which are not in its RSS.
    page_tables: Option<u64> = schema::bytes().null("the log does not have them, or a recording of an older version"),
    /// The memory that the allocation could use: all, some NUMA nodes, or a cgroup.
    constraint: Option<Constraint> = Constraint::shape().null(NO_REPORT),
    /// The limit that was reached.
    limit: Option<OomLimit> = schema::object(LimitRecord::fields()).null("the machine's memory was full, or the kernel left its report out"),
    /// The path of its cgroup.
    cgroup: Option<Box<[u8]>> = schema::foreign().null(NO_REPORT),
    /// The cgroup that was killed as a whole (`memory.oom.group`).
    group: Option<Box<[u8]>> = schema::foreign().null("the process was killed alone"),
});

define_record!(RssRecord: RssParts {
    /// Anonymous memory.
    anon: u64,
    /// Pages of files.
    file: u64,
    /// Shared memory and tmpfs.
    shmem: u64,
});

define_record!(LimitRecord: OomLimit {
    /// The path of the cgroup that has the limit.
    cgroup: Box<[u8]>,
    /// The limit of memory, or (v1) of memory and swap.
    size: Option<u64> = schema::bytes().null("the log does not have it"),
    /// The usage that is limited.
    usage: Option<u64> = schema::bytes().null("the log does not have it"),
    /// The page cache at the kill without shared memory and tmpfs.
    files: Option<u64> = schema::bytes().null("the log does not have it"),
});

define_record!(ZonesRecord: Zones {
    /// The RAM known to the kernel.
    present: u64,
    /// The part managed by the page allocator, which is `MemTotal`.
    managed: u64,
    /// Free pages on per-CPU lists, which are not in `MemFree`.
    free_lists: u64,
});

define_record!(ZramRecord: ZramDevice {
    /// The name, such as `zram0`.
    name: Box<str>,
    /// The uncompressed size of the stored data.
    stored: u64,
    /// The RAM used.
    used: u64,
} readings {
    /// The size of the device.
    size: u64,
    /// Pages of one repeated word. They use no RAM.
    same_filled: u64,
    /// The maximum RAM; 0 for no limit.
    limit: u64,
    /// Data written back to its backing device.
    on_disk: u64,
} main "size");

define_record!(HugeRecord: HugePool {
    /// The size of a page.
    page: u64,
    /// The whole pool.
    total: u64,
    /// The free part.
    free: u64,
});

define_record!(KsmRecord: Ksm {
    /// It is enabled.
    on: bool,
    /// The RAM used by merged pages.
    shared: u64,
    /// The RAM saved by merging.
    saved: u64,
});

define_record!(PressureRecord: Pressure {
    /// The shares of the last 10, 60 and 300 s in which at least one task waited for memory.
    some: [f32; 3],
    /// The shares of the last 10, 60 and 300 s in which all tasks waited for memory.
    full: [f32; 3],
});

define_record!(SocketsRecord: Sockets {
    /// Buffers of TCP.
    tcp: u64,
    /// Buffers of UDP.
    udp: u64,
    /// Fragments of IP packets to be reassembled.
    fragments: u64,
});

define_record!(SysvRecord: SysvShm {
    /// The number of segments.
    segments: u64 = schema::count(),
    /// The resident part.
    resident: u64,
    /// The swapped-out part.
    swapped: u64,
} readings {
    /// The user whose segments have most RAM.
    creator: SysvCreator,
    /// The resident part of the segments that are locked (`SHM_LOCK`).
    locked: u64,
} main "creator");

define_record!(SysvCreatorRecord: SysvCreator {
    /// The uid of the user.
    uid: u32 = schema::id(),
    /// The creator of the user's largest segment, which may have ended.
    pid: u32 = schema::id(),
    /// The resident part of all segments of the user.
    resident: u64,
});

define_record!(MountRecord: MemoryMount {
    /// The device number.
    device: u64 = schema::id(),
    /// The mount point.
    path: Box<[u8]>,
    /// The type of the file system.
    kind: Box<str>,
} readings {
    /// Bytes of its files, in RAM or swap, including deleted files that are open.
    used: u64,
    /// The maximum size.
    size: u64,
} main "used");

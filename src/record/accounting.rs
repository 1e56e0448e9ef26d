//! The inputs of the system's account, and OOM kills, in `zmtop/1`.

use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use crate::model::snapshot::{OomKill, OomVictim};
use crate::model::system::{
    AccountingInputs, HugePool, Ksm, MemoryMount, Pressure, Sockets, SysvShm, Zones, ZramDevice,
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
                /// The reasons of what is null here.
                #[serde(default, skip_serializing_if = "Option::is_none")]
                unread: Option<Unread> = unread().absent("where nothing is unknown"),)?
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
    /// zram devices, with what `mm_stat` and `bd_stat` say of them.
    zram: Vec<ZramDevice>,
    /// The pools of huge pages, by the size of the page.
    huge: Vec<HugePool>,
    /// The mode of transparent huge pages: `always`, `madvise` or `never`.
    thp: Box<str>,
    /// Kernel same-page merging.
    ksm: Ksm,
    /// zswap is on.
    zswap_on: bool,
    /// The largest share of the RAM that zswap may take.
    zswap_percent: u64 = schema::percent(),
    /// Pages in zswap that hold one value throughout, and take no room.
    zswap_same_filled: u64,
    /// Pressure stall information of memory, whole.
    pressure: Pressure,
    /// Memory of sockets.
    sockets: Sockets,
    /// Shared memory of System V.
    sysv: SysvShm,
    /// File systems in memory, by device: tmpfs and devtmpfs.
    mounts: Vec<MemoryMount>,
} main "zones");

define_record!(OomKillRecord: OomKill {
    /// When the kill was seen.
    time: SystemTime,
} readings {
    /// The process that was killed.
    victim: OomVictim,
    /// When the kill was seen, on the monotonic clock, in milliseconds.
    monotonic_ms: u64 = schema::number(),
} main "victim");

define_record!(VictimRecord: OomVictim {
    /// Its pid.
    pid: u32,
    /// Its short name.
    comm: Box<[u8]>,
    /// Its resident memory when it was killed.
    rss: u64,
    /// The limit of a cgroup was reached, and not that of the machine.
    by_cgroup: bool,
});

define_record!(ZonesRecord: Zones {
    /// The RAM that the kernel knows of.
    present: u64,
    /// The part given to the page allocator, which is `MemTotal`.
    managed: u64,
    /// Free pages on the lists of each processor, which are not in `MemFree`.
    free_lists: u64,
});

define_record!(ZramRecord: ZramDevice {
    /// The name, such as `zram0`.
    name: Box<str>,
    /// The uncompressed size of what it stores.
    stored: u64,
    /// The RAM that it takes.
    used: u64,
} readings {
    /// The size of the device.
    size: u64,
    /// Pages that hold one value throughout, and take no room.
    same_filled: u64,
    /// The limit on the RAM that it may take; 0 for none.
    limit: u64,
    /// What was written back to its backing device.
    on_disk: u64,
} main "size");

define_record!(HugeRecord: HugePool {
    /// The size of a page.
    page: u64,
    /// The pool.
    total: u64,
    /// What of it is free.
    free: u64,
});

define_record!(KsmRecord: Ksm {
    /// It runs.
    on: bool,
    /// What the merged pages take.
    shared: u64,
    /// What merging saves.
    saved: u64,
});

define_record!(PressureRecord: Pressure {
    /// The shares of the last 10, 60 and 300 seconds in which some task waited for memory.
    some: [f32; 3],
    /// The shares of the last 10, 60 and 300 seconds in which every task waited for memory.
    full: [f32; 3],
});

define_record!(SocketsRecord: Sockets {
    /// Buffers of TCP.
    tcp: u64,
    /// Buffers of UDP.
    udp: u64,
    /// Fragments of IP packets that wait for the rest.
    fragments: u64,
});

define_record!(SysvRecord: SysvShm {
    /// The number of segments.
    segments: u64 = schema::count(),
    /// What of them is resident.
    resident: u64,
    /// What of them is swapped out.
    swapped: u64,
});

define_record!(MountRecord: MemoryMount {
    /// The number of its device.
    device: u64 = schema::id(),
    /// Where it is mounted.
    path: Box<[u8]>,
    /// The type of the file system.
    kind: Box<str>,
} readings {
    /// What its files have, in RAM or in swap, deleted files that are open included.
    used: u64,
    /// The limit of its size.
    size: u64,
} main "used");

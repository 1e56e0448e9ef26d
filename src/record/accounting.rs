//! The inputs of the account of the system, and processes that were killed, in `zmtop/1`.

use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use crate::model::oom::{OomKill, OomVictim};
use crate::model::system::AccountingInputs;
use crate::model::system::accounting::{HugePool, Ksm, MemoryMount, Pressure, Sockets, SysvShm, Zones, ZramDevice};
use crate::record::unread::{MissingFields, Reasons, Unread};
use crate::record::{bytes, string, time_text};
use crate::text::lossless;

/// A value, and its form in the schema.
pub(super) trait Field: Sized {
    /// Its form.
    type Json;

    fn to_json(&self) -> Self::Json;
    fn from_json(json: Self::Json) -> Self;
}

macro_rules! define_plain {
    ($($type:ty),*) => {
        $(impl Field for $type {
            type Json = Self;

            fn to_json(&self) -> Self {
                *self
            }

            fn from_json(json: Self) -> Self {
                json
            }
        })*
    };
}

define_plain!(u32, u64, bool, [f32; 3]);

impl Field for Box<str> {
    type Json = String;

    fn to_json(&self) -> String {
        lossless(self.as_bytes()).into_owned()
    }

    fn from_json(json: String) -> Self {
        string(&json).into()
    }
}

impl Field for Box<[u8]> {
    type Json = String;

    fn to_json(&self) -> String {
        lossless(self).into_owned()
    }

    fn from_json(json: String) -> Self {
        bytes(&json).into()
    }
}

/// A moment; one that is none is the beginning of time.
impl Field for SystemTime {
    type Json = String;

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

    fn to_json(&self) -> Self::Json {
        self.iter().map(Field::to_json).collect()
    }

    fn from_json(json: Self::Json) -> Self {
        json.into_iter().map(T::from_json).collect()
    }
}

/// Defines the form of a struct: fields that are always there, and readings, the first of which is the main one.
macro_rules! define_record {
    ($record:ident: $model:ty { $($field:ident: $type:ty,)* } $(readings { $($reading:ident: $of:ty,)* } main $main:literal)?) => {
        #[derive(Debug, Deserialize, Serialize)]
        pub(super) struct $record {
            $($field: <$type as Field>::Json,)*
            $($($reading: Option<<$of as Field>::Json>,)*
            #[serde(default, skip_serializing_if = "Option::is_none")]
            unread: Option<Unread>,)?
        }

        impl Field for $model {
            type Json = $record;

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

define_record!(Accounting: AccountingInputs {} readings {
    zones: Zones,
    zram: Vec<ZramDevice>,
    huge: Vec<HugePool>,
    thp: Box<str>,
    ksm: Ksm,
    zswap_on: bool,
    zswap_percent: u64,
    zswap_same_filled: u64,
    pressure: Pressure,
    sockets: Sockets,
    sysv: SysvShm,
    mounts: Vec<MemoryMount>,
} main "zones");

define_record!(OomKillRecord: OomKill { time: SystemTime, } readings {
    victim: OomVictim,
} main "victim");

define_record!(VictimRecord: OomVictim { pid: u32, comm: Box<[u8]>, rss: u64, by_cgroup: bool, });

define_record!(ZonesRecord: Zones { present: u64, managed: u64, free_lists: u64, });

define_record!(ZramRecord: ZramDevice { name: Box<str>, stored: u64, used: u64, } readings {
    size: u64,
    same_filled: u64,
    limit: u64,
    on_disk: u64,
} main "size");

define_record!(HugeRecord: HugePool { page: u64, total: u64, free: u64, });

define_record!(KsmRecord: Ksm { on: bool, shared: u64, saved: u64, });

define_record!(PressureRecord: Pressure { some: [f32; 3], full: [f32; 3], });

define_record!(SocketsRecord: Sockets { tcp: u64, udp: u64, fragments: u64, });

define_record!(SysvRecord: SysvShm { segments: u64, resident: u64, swapped: u64, });

define_record!(MountRecord: MemoryMount { device: u64, path: Box<[u8]>, kind: Box<str>, } readings {
    used: u64,
    size: u64,
} main "used");

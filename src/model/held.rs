//! Memory that a process holds through its descriptors and that is in no PSS.

use std::sync::{Arc, OnceLock};

use crate::model::reading::{Missing, Reading};
use crate::order;
use crate::text::named;

named! {
    /// The kind of an object that a descriptor holds, in the order of their columns.
    pub enum HeldKind {
        /// Buffers of a client of a graphics or compute device.
        Gpu = "gpu",
        DmaBuf = "dmabuf",
        /// A BPF map or program.
        Bpf = "bpf",
        /// A memfd, or an unlinked file on tmpfs.
        Memfd = "memfd",
        /// Registered buffers of an `io_uring`.
        Uring = "uring",
    }
}

/// Bytes held, by kind. An object that several processes hold is divided equally among them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeldFigures {
    /// Bytes of RAM by kind, in the order of [`HeldKind::ALL`].
    by_kind: [u64; HeldKind::ALL.len()],
    /// Memory on devices, which is not RAM.
    pub vram: u64,
    /// The kinds of which some could not be read, in the same order. More is held than `by_kind` says.
    unread: [bool; HeldKind::ALL.len()],
}

impl HeldFigures {
    pub const fn of(&self, kind: HeldKind) -> u64 {
        self.by_kind[kind as usize]
    }

    /// Returns the bytes of all kinds, without memory on devices.
    pub fn total(&self) -> u64 {
        self.by_kind.iter().fold(0, |sum, bytes| sum.saturating_add(*bytes))
    }

    pub const fn add_kind(&mut self, kind: HeldKind, bytes: u64) {
        let sum = &mut self.by_kind[kind as usize];
        *sum = sum.saturating_add(bytes);
    }

    /// Returns true if something of that kind, or by default of any kind, could not be read. The figures are then lower
    /// bounds.
    pub fn is_partial(&self, kind: Option<HeldKind>) -> bool {
        kind.map_or_else(|| self.unread.contains(&true), |kind| self.unread[kind as usize])
    }

    /// Records that something of that kind, or by default of every kind, could not be read.
    pub fn set_partial(&mut self, kind: Option<HeldKind>) {
        match kind {
            Some(kind) => self.unread[kind as usize] = true,
            None => self.unread = [true; HeldKind::ALL.len()],
        }
    }

    pub fn add(&mut self, other: &Self) {
        for kind in HeldKind::ALL {
            self.add_kind(kind, other.of(kind));
            self.unread[kind as usize] |= other.is_partial(Some(kind));
        }
        self.vram = self.vram.saturating_add(other.vram);
    }
}

/// An object that descriptors hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldObject {
    pub kind: HeldKind,
    /// Raw: processes choose the names of files and buffers.
    pub name: Box<[u8]>,
    /// RAM of the whole object.
    pub bytes: Reading<u64>,
    /// Memory on the device.
    pub vram: u64,
    /// The number of readable processes that hold it; never 0.
    pub holders: u32,
    /// The number of the process's descriptors for it.
    pub fds: u32,
}

impl HeldObject {
    /// Returns the process's part of its bytes.
    pub fn share(&self) -> Reading<u64> {
        Ok(self.bytes? / u64::from(self.holders.max(1)))
    }
}

/// All that a process holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// The process's parts of all objects.
    pub figures: HeldFigures,
    /// The objects with the largest parts, in descending order; at most [`Held::MAX_LISTED`].
    pub objects: Box<[HeldObject]>,
    /// The number of objects that are not listed.
    pub unlisted: u64,
}

impl Held {
    /// Maximum number of listed objects. Each takes some hundred bytes in every kept snapshot.
    pub const MAX_LISTED: usize = 100;

    /// Sums and sorts objects.
    pub fn new(mut objects: Vec<HeldObject>) -> Self {
        let mut figures = HeldFigures::default();
        for object in &objects {
            match object.share() {
                Ok(bytes) => figures.add_kind(object.kind, bytes),
                Err(_) => figures.set_partial(Some(object.kind)),
            }
            figures.vram = figures
                .vram
                .saturating_add(object.vram / u64::from(object.holders.max(1)));
        }
        order::sort_by(&mut objects, |a, b| {
            let key = |o: &HeldObject| std::cmp::Reverse((o.share().unwrap_or(0), o.vram));
            key(a)
                .cmp(&key(b))
                .then_with(|| (a.kind, &a.name).cmp(&(b.kind, &b.name)))
        });
        let unlisted = objects.len().saturating_sub(Self::MAX_LISTED) as u64;
        objects.truncate(Self::MAX_LISTED);
        Self {
            figures,
            objects: objects.into(),
            unlisted,
        }
    }
}

/// Memory that a process holds; `None` until requested. Processes that hold nothing share one allocation.
pub type SharedHeld = Option<Arc<Reading<Held>>>;

/// Shares a reading. The most frequent ones, "nothing" and "not read yet", are allocated once.
pub fn share(held: Reading<Held>) -> Arc<Reading<Held>> {
    static NOTHING: OnceLock<Arc<Reading<Held>>> = OnceLock::new();
    static PENDING: OnceLock<Arc<Reading<Held>>> = OnceLock::new();
    let known = match &held {
        Ok(all) if *all == Held::default() => &NOTHING,
        Err(Missing::Pending) => &PENDING,
        _ => return Arc::new(held),
    };
    Arc::clone(known.get_or_init(|| Arc::new(held)))
}

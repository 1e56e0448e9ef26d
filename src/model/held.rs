//! Memory that a process holds through its descriptors, and that is in nobody's PSS.

use std::sync::{Arc, OnceLock};

use crate::model::reading::{Missing, Reading};
use crate::order;

/// The kind of an object that a descriptor holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum HeldKind {
    /// The buffers of a client of a graphics or compute device.
    Gpu,
    /// A dma-buf.
    DmaBuf,
    /// A BPF map or program.
    Bpf,
    /// A memfd, or a file on tmpfs that has no name any more.
    Memfd,
    /// The registered buffers of an `io_uring`.
    Uring,
}

impl HeldKind {
    /// Every kind, in the order of their columns.
    pub const ALL: [Self; 5] = [Self::Gpu, Self::DmaBuf, Self::Bpf, Self::Memfd, Self::Uring];

    /// Returns its name, which is the column's too.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Gpu => "gpu",
            Self::DmaBuf => "dmabuf",
            Self::Bpf => "bpf",
            Self::Memfd => "memfd",
            Self::Uring => "uring",
        }
    }

    /// Returns the kind of that name.
    pub fn from_id(id: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.id() == id)
    }
}

/// Bytes held, by kind. The part of an object that several processes hold is the object divided by them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeldFigures {
    /// Bytes of RAM by kind, in the order of [`HeldKind::ALL`].
    by_kind: [u64; HeldKind::ALL.len()],
    /// Memory of a device's own, which is no RAM.
    pub vram: u64,
    /// The kinds of which more is held than that, in the same order: some of it could not be read.
    unread: [bool; HeldKind::ALL.len()],
}

impl HeldFigures {
    /// Returns the bytes of one kind.
    pub const fn of(&self, kind: HeldKind) -> u64 {
        self.by_kind[kind as usize]
    }

    /// Returns the bytes of all kinds, without a device's own memory.
    pub fn total(&self) -> u64 {
        self.by_kind.iter().fold(0, |sum, bytes| sum.saturating_add(*bytes))
    }

    /// Adds bytes of a kind.
    pub const fn add_kind(&mut self, kind: HeldKind, bytes: u64) {
        let sum = &mut self.by_kind[kind as usize];
        *sum = sum.saturating_add(bytes);
    }

    /// Returns true if of that kind, or of any where none is named, something could not be read: the figures are the least
    /// that it is.
    pub fn is_partial(&self, kind: Option<HeldKind>) -> bool {
        kind.map_or_else(|| self.unread.contains(&true), |kind| self.unread[kind as usize])
    }

    /// Notes that something of that kind, or of any where none is named, could not be read.
    pub fn set_partial(&mut self, kind: Option<HeldKind>) {
        match kind {
            Some(kind) => self.unread[kind as usize] = true,
            None => self.unread = [true; HeldKind::ALL.len()],
        }
    }

    /// Adds other figures.
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
    /// Its kind.
    pub kind: HeldKind,
    /// Its name, raw: processes choose those of files and buffers.
    pub name: Box<[u8]>,
    /// The bytes of RAM of the whole object.
    pub bytes: Reading<u64>,
    /// The bytes of the device's own memory.
    pub vram: u64,
    /// The number of processes that hold it, as far as they could be read; never 0.
    pub holders: u32,
    /// The number of the process's descriptors of it.
    pub fds: u32,
}

impl HeldObject {
    /// Returns the process's part of it.
    pub fn share(&self) -> Reading<u64> {
        Ok(self.bytes? / u64::from(self.holders.max(1)))
    }
}

/// All that a process holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// Its parts of all objects together.
    pub figures: HeldFigures,
    /// The objects, that with the largest part first; no more than [`Held::MAX_LISTED`].
    pub objects: Box<[HeldObject]>,
    /// The number of those that are not listed.
    pub unlisted: u64,
}

impl Held {
    /// Maximum number of objects listed of a process: more than anyone reads, and each takes some hundred bytes in every
    /// snapshot that is kept.
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

/// All that a process holds, or why that is not known; `None` where nobody asked. Most hold nothing, and have that in common.
pub type SharedHeld = Option<Arc<Reading<Held>>>;

/// Returns a reading to share: that a process holds nothing, and that it was not read yet, are there once.
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

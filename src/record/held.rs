//! Memory held through descriptors, in `zmtop/1`.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::model::{Held, HeldKind, HeldObject};
use crate::record::bytes;
use crate::record::unread::{Reasons, Unread};
use crate::schema::described;
use crate::text::lossless;

described! {
/// The figures are the process's parts, the objects are whole. The figures include unlisted objects, so they are read back
/// and not summed up again.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct HeldRecord<'a> {
    /// The sum of its parts in RAM.
    bytes: Option<u64> = bytes(),
    /// Its part of GPU buffers in RAM.
    gpu: Option<u64> = bytes(),
    /// Its part of GPU buffers in the memory of the graphics card. In no sum.
    vram: Option<u64> = bytes(),
    /// Its part of dma-bufs.
    dmabuf: Option<u64> = bytes(),
    /// Its part of BPF maps and programs.
    bpf: Option<u64> = bytes(),
    /// Its part of memfds and unlinked files on tmpfs.
    memfd: Option<u64> = bytes(),
    /// Its part of registered buffers of `io_uring`.
    uring: Option<u64> = bytes(),
    /// The kinds of which some objects could not be read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    partial: Vec<Cow<'a, str>> = list(text()).absent("if all could be read"),
    /// The objects, not divided by holders.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    objects: Vec<ObjectRecord<'a>> = list(object(ObjectRecord::fields())).absent("if there are none"),
    /// Number of objects that are not listed.
    #[serde(default, skip_serializing_if = "is_none")]
    unlisted: u64 = count().absent("if all are listed"),
}
}

described! {
#[derive(Debug, Deserialize, Serialize)]
struct ObjectRecord<'a> {
    /// Its kind: `gpu`, `dmabuf`, `bpf`, `memfd` or `uring`.
    kind: Cow<'a, str> = text(),
    /// The name, such as the path of a file.
    name: Cow<'a, str> = foreign(),
    /// The size.
    bytes: Option<u64> = bytes().unread(),
    /// The part in the memory of the graphics card.
    vram: Option<u64> = bytes(),
    /// Number of processes that hold it.
    holders: Option<u32> = count(),
    /// Number of this process's descriptors for it.
    fds: Option<u32> = count(),
    /// The reasons of nulls.
    unread: Option<Unread> = unread(),
}
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_none(count: &u64) -> bool {
    *count == 0
}

impl<'a> HeldRecord<'a> {
    pub(super) fn new(held: &'a Held) -> Self {
        let of = |kind| Some(held.figures.of(kind));
        Self {
            bytes: Some(held.figures.total()),
            gpu: of(HeldKind::Gpu),
            vram: Some(held.figures.vram),
            dmabuf: of(HeldKind::DmaBuf),
            bpf: of(HeldKind::Bpf),
            memfd: of(HeldKind::Memfd),
            uring: of(HeldKind::Uring),
            partial: HeldKind::ALL
                .into_iter()
                .filter(|kind| held.figures.is_partial(Some(*kind)))
                .map(|kind| kind.id().into())
                .collect(),
            objects: held.objects.iter().map(ObjectRecord::new).collect(),
            unlisted: held.unlisted,
        }
    }

    /// Converts it back. Skips objects of unknown kinds, which a later version may have.
    pub(super) fn held(self) -> Held {
        let objects = self.objects.into_iter().filter_map(ObjectRecord::object);
        let objects: Vec<_> = objects.take(Held::MAX_LISTED).collect();
        let mut held = Held {
            objects: objects.into(),
            unlisted: self.unlisted,
            ..Held::default()
        };
        let by_kind = [self.gpu, self.dmabuf, self.bpf, self.memfd, self.uring];
        for (kind, bytes) in HeldKind::ALL.into_iter().zip(by_kind) {
            held.figures.add_kind(kind, bytes.unwrap_or(0));
        }
        held.figures.vram = self.vram.unwrap_or(0);
        for kind in self.partial.iter().filter_map(|id| HeldKind::from_id(id)) {
            held.figures.set_partial(Some(kind));
        }
        held
    }
}

impl<'a> ObjectRecord<'a> {
    fn new(object: &'a HeldObject) -> Self {
        Self {
            kind: object.kind.id().into(),
            name: lossless(&object.name),
            bytes: object.bytes.ok(),
            vram: Some(object.vram),
            holders: Some(object.holders),
            fds: Some(object.fds),
            unread: object.bytes.err().map(Unread::All),
        }
    }

    fn object(self) -> Option<HeldObject> {
        let reasons = Reasons(self.unread.as_ref());
        Some(HeldObject {
            kind: HeldKind::from_id(&self.kind)?,
            bytes: reasons.reading("bytes", self.bytes),
            name: bytes(&self.name).into(),
            vram: self.vram.unwrap_or(0),
            holders: self.holders.unwrap_or(1).max(1),
            fds: self.fds.unwrap_or(1),
        })
    }
}

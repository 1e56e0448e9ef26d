//! Files and shmem of a process among those that map the same.

use super::effect::effect;
use super::held::{Held, Kind};
use super::{MAX_OBJECTS, MIN_OBJECT, Sharing, object_key, signed};
use crate::proc::objects::Objects;

/// Change of the files, and of the size of the address space, from which `maps` is read again; of large files it is a
/// part, as a shift.
const REMAPPED: u64 = 1 << 20;
const REMAPPED_SHIFT: u32 = 4;

/// The files and shmem of a process.
#[derive(Clone, Debug, Default)]
pub(super) struct Mapped {
    told: Told,
    /// All together, and what others can change of their PSS.
    whole: u64,
    mutable: u64,
    /// Its part of the level of all, and that of the others at its last walk, and when the next was asked for.
    posted: i64,
    seen: i64,
    asked: i64,
}

/// The objects that a process maps, as far as they are known.
#[derive(Clone, Debug, Default)]
enum Told {
    /// `maps` was not read.
    #[default]
    Unread,
    /// It has too little of files and shmem.
    Small,
    /// `maps` was read.
    Objects(Box<Mappings>),
}

#[derive(Clone, Debug)]
struct Mappings {
    /// The size of the address space, and the files and shmem, when `maps` was read.
    vsize: u64,
    files: u64,
    /// The sizes mapped of files and shmem.
    sizes: [u64; 2],
    /// Both at the last walk.
    kinds: [Kind; 2],
    objects: Vec<Mapping>,
}

/// An object that it maps.
#[derive(Clone, Copy, Debug)]
struct Mapping {
    group: u32,
    /// The most members since its last walk; 0 before.
    members: u32,
    is_shmem: bool,
    /// The size of all its areas.
    size: u64,
    held: Held,
    /// The level of the others at its last walk, and when the next was asked for.
    seen: i64,
    asked: i64,
}

/// The size of the address space, and the files and shmem, when `maps` was last read, if it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LastMaps(Option<(u64, u64)>);

impl LastMaps {
    /// Returns true if the figures of a walk, the size of the address space after it where that is known among them, ask
    /// for reading `maps`. An older size may be of before the mapping whose pages the walk found.
    pub fn asks(self, vsize: Option<u64>, files: u64) -> bool {
        match self.0 {
            None => files >= MIN_OBJECT,
            Some((at_vsize, at_files)) => {
                let least = remapped(at_files);
                files.abs_diff(at_files) >= least && vsize.is_none_or(|vsize| vsize.abs_diff(at_vsize) >= least)
            }
        }
    }
}

/// The figures of a walk.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found<'a> {
    /// Files and shmem, together and whole.
    pub(super) files: u64,
    /// The PSS of files and of shmem.
    pub(super) pss: [u64; 2],
    pub(super) vsize: u64,
    pub(super) objects: Option<&'a Objects>,
    /// It is the first walk of this process.
    pub(super) is_first: bool,
    /// It was there at the first scan, so that nothing of it is news.
    pub(super) is_initial: bool,
}

impl Mapped {
    /// Takes over what a parent has mapped, if that is known.
    pub(super) fn inherit(&mut self, parent: &Self, sharing: &mut Sharing) {
        if let Told::Objects(mappings) = &parent.told {
            let join = |object: &Mapping| Mapping {
                group: sharing.join(sharing.group(object.group).key),
                held: Held::default(),
                ..*object
            };
            self.told = Told::Objects(Box::new(Mappings {
                objects: mappings.objects.iter().map(join).collect(),
                // A child has touched nothing yet: only much more address space shows that it maps something else.
                files: mappings.sizes[0].saturating_add(mappings.sizes[1]),
                ..**mappings
            }));
        }
    }

    pub(super) fn leave(&mut self, sharing: &mut Sharing) {
        let gone = std::mem::take(self);
        if let Told::Objects(mappings) = gone.told {
            for object in mappings.objects {
                sharing.post(object.group, object.held.left(), 0);
                sharing.leave(object.group);
            }
        }
        if gone.whole >= MIN_OBJECT || gone.posted != 0 {
            sharing.post_files(-signed(gone.whole).max(gone.posted));
        }
    }

    pub(super) fn asked(&mut self, sharing: &Sharing) {
        self.asked = sharing.files - self.posted;
        if let Told::Objects(mappings) = &mut self.told {
            for object in &mut mappings.objects {
                object.asked = sharing.group(object.group).level - object.held.posted;
            }
        }
    }

    /// See [`super::Sharer::last_maps`].
    pub(super) fn last_maps(&self) -> LastMaps {
        LastMaps(match &self.told {
            Told::Unread | Told::Small => None,
            Told::Objects(then) => Some((then.vsize, then.files)),
        })
    }

    pub(super) fn walked(&mut self, found: &Found<'_>, sharing: &mut Sharing) {
        let files = found.files;
        let pss = found.pss[0].saturating_add(found.pss[1]);
        let before = std::mem::replace(&mut self.whole, files);
        self.mutable = files.saturating_sub(pss).max(pss / 2);
        self.seen = self.asked;
        let is_news = !(found.is_first && found.is_initial);
        if is_news && files.max(before) >= MIN_OBJECT {
            let change = signed(files) - signed(before);
            self.posted += change;
            sharing.post_files(change);
        }
        match &self.told {
            _ if found.objects.is_some() => self.tell(found, sharing),
            Told::Unread if files < MIN_OBJECT => self.told = Told::Small,
            Told::Small if files >= MIN_OBJECT => self.told = Told::Unread,
            _ => {}
        }
        let Told::Objects(mappings) = &mut self.told else {
            return;
        };
        mappings.kinds = kinds(files, mappings.sizes, found.pss);
        for object in &mut mappings.objects {
            let bytes = object.size.min(mappings.kinds[usize::from(object.is_shmem)].whole);
            let mut change = signed(bytes) - signed(object.held.bytes);
            if object.members == 0 {
                // Met for the first time, it may have been mapped long since.
                object.asked = sharing.group(object.group).level;
                let newly = if found.is_first {
                    files
                } else {
                    files.saturating_sub(before)
                };
                change = change.min(signed(newly));
            }
            if !is_news {
                change = 0;
            }
            object.held.bytes = bytes;
            object.held.posted += change;
            object.members = sharing.group(object.group).members;
            object.seen = object.asked;
            sharing.post(object.group, change, 0);
        }
    }

    /// Joins the groups of the large ones among the objects found; those known already stay as they are.
    fn tell(&mut self, found: &Found<'_>, sharing: &mut Sharing) {
        let Some(objects) = found.objects else { return };
        let known = match std::mem::take(&mut self.told) {
            Told::Objects(mappings) => mappings.objects,
            Told::Unread | Told::Small => Vec::new(),
        };
        let large = objects.large(MIN_OBJECT, MAX_OBJECTS);
        let mapped: Vec<Mapping> = large
            .iter()
            .map(|object| {
                let group = sharing.join(object_key(object));
                let old = known.iter().find(|k| k.group == group);
                Mapping {
                    group,
                    members: old.map_or(0, |o| o.members),
                    is_shmem: object.is_shmem,
                    size: object.bytes,
                    held: old.map_or_else(Held::default, |o| o.held),
                    seen: old.map_or(0, |o| o.seen),
                    asked: old.map_or(0, |o| o.asked),
                }
            })
            .collect();
        for old in known {
            if mapped.iter().all(|m| m.group != old.group) {
                sharing.post(old.group, old.held.left(), 0);
            }
            sharing.leave(old.group);
        }
        self.told = Told::Objects(Box::new(Mappings {
            vsize: found.vsize,
            files: found.files,
            sizes: objects.sizes(),
            kinds: <[Kind; 2]>::default(),
            objects: mapped,
        }));
    }

    /// Bounds what the others have changed.
    pub(super) fn bound(&mut self, sharing: &Sharing) -> u64 {
        match &mut self.told {
            Told::Small => 0,
            Told::Unread => {
                let change = sharing.files - self.posted - self.seen;
                (change.unsigned_abs() / 2).min(self.mutable)
            }
            Told::Objects(mappings) => mappings.bound(sharing),
        }
    }
}

impl Mappings {
    fn bound(&mut self, sharing: &Sharing) -> u64 {
        let kinds = self.kinds;
        let bounds = self.objects.iter_mut().map(|object| {
            let group = sharing.group(object.group);
            let change = group.level - object.held.posted - object.seen;
            // One that left may have come since this was last looked at.
            object.members = object.members.max(group.members + u32::from(change < 0));
            let kind = kinds[usize::from(object.is_shmem)];
            // As many share its kind on average, but this object had at least the one that left.
            let least = if change < 0 && object.members > 1 { 2.0 } else { 1.0 };
            effect(object.held.bytes, kind.sharers(object.members).max(least), change)
        });
        bounds.sum()
    }
}

fn remapped(files: u64) -> u64 {
    REMAPPED.max(files >> REMAPPED_SHIFT)
}

/// Splits the files and shmem of a walk, of which only the PSS is told apart: no kind has more resident than mapped.
fn kinds(files: u64, sizes: [u64; 2], pss: [u64; 2]) -> [Kind; 2] {
    let [mapped_files, mapped_shmem] = sizes;
    let least = files.saturating_sub(mapped_files);
    // Programs map more of files than they touch, and touch most of the shmem that they map.
    let shmem = mapped_shmem.min(files).max(least);
    let [pss_files, pss_shmem] = pss;
    [(files - shmem, pss_files), (shmem, pss_shmem)].map(|(whole, pss)| Kind { whole, pss })
}

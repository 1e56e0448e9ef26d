//! One process among those it may share memory with.

use super::effect::{Shared, effect};
use super::{MAX_OBJECTS, MIN_OBJECT, Sharing, object_key, signed};
use crate::model::Memory;
use crate::proc::objects::Objects;

/// Change of the files, and of the size of the address space, from which `maps` is read again; of large files it is a
/// part, as a shift.
const REMAPPED: u64 = 1 << 20;
const REMAPPED_SHIFT: u32 = 4;

/// The result of a walk, as far as it matters for what is shared.
#[derive(Clone, Copy, Debug)]
pub struct Walked<'a> {
    /// The figures.
    pub memory: &'a Memory,
    /// Anonymous pages, whole; `None` where the kernel does not tell.
    pub anonymous: Option<u64>,
    /// `VmSwap`, where it is known.
    pub swap: Option<u64>,
    /// The size of the address space.
    pub vsize: u64,
    /// The objects mapped, where they were read.
    pub objects: Option<&'a Objects>,
    /// Upper bound on the bytes that the process has changed since its walk before.
    pub own_change: u64,
    /// It was there at the first scan, so that what it has is news to nobody.
    pub is_initial: bool,
}

/// Bounds on what others have changed since a walk, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExternalBound {
    /// Of PSS and `SwapPss` together.
    pub footprint: u64,
    /// Of `Swap`, beyond that.
    pub swap: u64,
    /// Others may have pages of its anonymous memory, or that cannot be known.
    pub has_fork_relatives: bool,
}

/// Bytes that it would leave to a group.
#[derive(Clone, Copy, Debug, Default)]
struct Held {
    /// Those held now.
    bytes: u64,
    /// Its part of the group's level.
    posted: i64,
}

impl Held {
    /// Returns the change of the level when it leaves. Who came as an event goes as the same one, so that the two are none
    /// together.
    fn left(self) -> i64 {
        -signed(self.bytes).max(self.posted)
    }
}

/// An object that it maps.
#[derive(Clone, Copy, Debug)]
struct Mapped {
    group: u32,
    /// Members at its last walk.
    members: u32,
    is_shmem: bool,
    /// The size of its mappings.
    size: u64,
    held: Held,
    /// The level of the others at its last walk, and when the next was asked for.
    seen: i64,
    asked: i64,
}

/// A moment of its family.
#[derive(Clone, Copy, Debug, Default)]
struct Moment {
    heap: i64,
    swap: i64,
    /// Forks of its own, and those whose parent is not known.
    forks: u32,
}

/// Files or shmem at its last walk.
#[derive(Clone, Copy, Debug, Default)]
struct Kind {
    whole: u64,
    pss: u64,
}

impl Kind {
    fn sharers(self, members: u32) -> f64 {
        let told = self.whole as f64 / self.pss.max(1) as f64;
        told.clamp(1.0, f64::from(members.max(1)))
    }
}

/// The objects that a process maps, as far as they are known.
#[derive(Clone, Debug, Default)]
enum Told {
    /// `maps` was not read.
    #[default]
    Unread,
    /// It has too little of files and shmem.
    Small,
    /// The objects, with the address space, the files and shmem and the sizes mapped of both kinds at that time.
    Objects {
        vsize: u64,
        files: u64,
        sizes: [u64; 2],
        objects: Vec<Mapped>,
    },
}

/// The estimator of one process.
#[derive(Clone, Debug, Default)]
pub struct Sharer {
    family: Option<u32>,
    heap: Held,
    swap: Held,
    /// Anonymous pages and swap, whole, at its last walk.
    anonymous: Kind,
    swapped: Kind,
    /// The shared part of both.
    shared_heap: Shared,
    shared_swap: Shared,
    forks: u32,
    seen: Moment,
    asked: Moment,
    told: Told,
    /// Files and shmem together, whole, and what others can change of their PSS.
    files: u64,
    mutable_files: u64,
    posted_files: i64,
    /// The level of the others' files at its last walk, and when the next was asked for.
    seen_files: i64,
    asked_files: i64,
    kinds: [Kind; 2],
    /// Swapped-out shmem, and the machine's use of swap at its last walk, and when the next was asked for.
    swapped_shmem: u64,
    seen_swap: u64,
    asked_swap: u64,
    is_walked: bool,
    /// The last bound, and the count of events it is of.
    last: (u64, ExternalBound),
}

impl Sharer {
    /// Joins the family of `image`, the digest of where its program lies; none where that is hidden, as 0.
    pub fn join(&mut self, image: u64, sharing: &mut Sharing) {
        self.family = (image != 0).then(|| sharing.join(image));
    }

    /// Takes in that it was forked by `parent`, which has not run another program since, as far as that is known. `rss`
    /// is its own.
    pub fn forked(&mut self, parent: Option<&mut Self>, rss: u64, sharing: &mut Sharing) {
        let Some(family) = self.family else { return };
        let (heap, swap) = if let Some(parent) = parent {
            parent.forks += 1;
            self.inherit(parent, sharing);
            let heap = if parent.is_walked {
                rss.min(parent.anonymous.whole)
            } else {
                rss
            };
            (heap, parent.swapped.whole)
        } else {
            sharing.groups[family as usize].orphans += 1;
            (rss, 0)
        };
        for (held, bytes) in [(&mut self.heap, heap), (&mut self.swap, swap)] {
            *held = Held {
                bytes,
                posted: signed(bytes),
            };
        }
        sharing.post(family, signed(heap), signed(swap));
    }

    /// Takes over what its parent has mapped, if that is known.
    fn inherit(&mut self, parent: &Self, sharing: &mut Sharing) {
        if let Told::Objects {
            vsize, sizes, objects, ..
        } = &parent.told
        {
            let join = |object: &Mapped| Mapped {
                group: sharing.join(sharing.group(object.group).key),
                held: Held::default(),
                ..*object
            };
            self.told = Told::Objects {
                vsize: *vsize,
                // What is mapped and what is resident are two things: it has touched nothing yet.
                files: parent.files,
                sizes: *sizes,
                objects: objects.iter().map(join).collect(),
            };
        }
    }

    /// Leaves all groups: it has ended, or runs another program.
    pub fn leave(&mut self, sharing: &mut Sharing) {
        self.leave_family(sharing);
        self.leave_objects(sharing);
        if self.posted_files != 0 || self.files >= MIN_OBJECT {
            sharing.files -= signed(self.files).max(self.posted_files);
            sharing.events += 1;
        }
        *self = Self::default();
    }

    /// Leaves its family: also where it is found to have one address space with another of its members.
    pub fn leave_family(&mut self, sharing: &mut Sharing) {
        let Some(family) = self.family.take() else { return };
        sharing.leave(family);
        // What a parent had alone before it forked, it leaves to its children.
        if self.has_forked(self.seen, sharing.group(family).orphans) {
            self.heap.bytes = self.anonymous.whole;
            self.swap.bytes = self.swapped.whole;
        }
        sharing.post(family, self.heap.left(), self.swap.left());
        (self.heap, self.swap) = (Held::default(), Held::default());
    }

    fn leave_objects(&mut self, sharing: &mut Sharing) {
        if let Told::Objects { objects, .. } = std::mem::take(&mut self.told) {
            for object in objects {
                sharing.post(object.group, object.held.left(), 0);
                sharing.leave(object.group);
            }
        }
    }

    /// Returns true if others may have pages of its anonymous memory, or that cannot be known.
    pub fn has_fork_relatives(&self, sharing: &Sharing) -> bool {
        self.family.is_none_or(|family| sharing.group(family).members > 1)
    }

    /// Takes in its swap of a glance, from its swap of the glance before: what it read back it leaves to its family.
    pub fn swapped(&mut self, before: u64, now: u64, sharing: &mut Sharing) {
        if let (Some(family), Some(less)) = (self.family, before.checked_sub(now)) {
            let less = less.min(self.swap.bytes);
            self.swap.bytes -= less;
            self.swap.posted -= signed(less);
            sharing.post(family, 0, -signed(less));
        }
    }

    /// Remembers what the others have done by now, since a walk is asked for: what they do from here on it may miss.
    pub fn asked(&mut self, sharing: &Sharing) {
        if let Some(family) = self.family {
            self.asked = self.others(family, sharing);
        }
        self.asked_files = sharing.files - self.posted_files;
        self.asked_swap = sharing.swap_used;
        if let Told::Objects { objects, .. } = &mut self.told {
            for object in objects {
                object.asked = sharing.group(object.group).level - object.held.posted;
            }
        }
    }

    /// Returns what the others of its family have come and gone with so far.
    fn others(&self, family: u32, sharing: &Sharing) -> Moment {
        let group = sharing.group(family);
        Moment {
            heap: group.level - self.heap.posted,
            swap: group.swap - self.swap.posted,
            forks: self.forks.wrapping_add(group.orphans),
        }
    }

    fn has_forked(&self, since: Moment, orphans: u32) -> bool {
        since.forks != self.forks.wrapping_add(orphans)
    }

    /// Returns the files and shmem that it had when its `maps` was last read, 0 if it never was, where that is to be read
    /// with a walk if they have changed since.
    pub fn objects_at(&self, vsize: u64) -> Option<u64> {
        match &self.told {
            Told::Unread | Told::Small => Some(0),
            Told::Objects { vsize: then, files, .. } => (vsize.abs_diff(*then) >= remapped(*files)).then_some(*files),
        }
    }

    /// Returns true if a walk's `files`, those and shmem together, ask for reading `maps`; `before` are those at which it
    /// was read.
    pub fn asks_for_objects(before: u64, files: u64) -> bool {
        let least = if before == 0 { MIN_OBJECT } else { remapped(before) };
        files.abs_diff(before) >= least
    }

    /// Takes in a walk.
    pub fn walked(&mut self, walked: &Walked<'_>, sharing: &mut Sharing) {
        let memory = walked.memory;
        let anonymous = walked
            .anonymous
            .unwrap_or_else(|| memory.pss_anon.unwrap_or(memory.pss));
        let files = memory.rss.saturating_sub(anonymous);
        // Before Linux 5.4, nothing splits a PSS.
        let share = |part: u64| (part as f64 * (memory.pss as f64 / memory.rss.max(1) as f64)) as u64;
        let pss_files = match (memory.pss_file, memory.pss_shmem) {
            (Ok(file), Ok(shmem)) => file.saturating_add(shmem),
            _ => share(files),
        };
        self.walked_files(walked, files, pss_files, sharing);
        self.anonymous = Kind {
            whole: anonymous,
            pss: memory.pss_anon.unwrap_or_else(|_| share(anonymous)),
        };
        let swapped = walked.swap.unwrap_or(memory.swap).min(memory.swap);
        self.swapped = Kind {
            whole: swapped,
            pss: memory.swap_pss.unwrap_or(swapped).min(swapped),
        };
        self.swapped_shmem = memory.swap - swapped;
        self.seen_swap = self.asked_swap;
        self.walked_family(walked, pss_files, sharing);
        self.is_walked = true;
        self.last.0 = u64::MAX;
    }

    fn walked_family(&mut self, walked: &Walked<'_>, pss_files: u64, sharing: &mut Sharing) {
        let Some(family) = self.family else { return };
        let members = sharing.group(family).members;
        let memory = walked.memory;
        let Kind { whole, pss } = self.anonymous;
        // Of what is private, files have no more than their PSS.
        let own = memory.uss().saturating_sub(pss_files);
        let most = whole.saturating_sub(own).min(memory.shared());
        self.shared_heap = Shared::estimate(whole.saturating_sub(pss), most, members);
        let Kind { whole, pss } = self.swapped;
        self.shared_swap = Shared::estimate(whole - pss, whole, members);
        // What it changed itself, the others must hear of; what they changed, they know.
        let change = signed(self.shared_heap.bytes) - signed(self.heap.bytes);
        let limit = signed(if walked.is_initial { 0 } else { walked.own_change });
        let change = change.clamp(-limit, limit);
        self.heap.bytes = self.shared_heap.bytes;
        self.heap.posted += change;
        self.swap.bytes = self.shared_swap.bytes;
        self.seen = self.asked;
        sharing.post(family, change, 0);
    }

    fn walked_files(&mut self, walked: &Walked<'_>, files: u64, pss: u64, sharing: &mut Sharing) {
        let before = std::mem::replace(&mut self.files, files);
        let is_first = !self.is_walked;
        self.mutable_files = files.saturating_sub(pss).max(pss / 2);
        self.seen_files = self.asked_files;
        let change = signed(files) - signed(before);
        let is_news = !(is_first && walked.is_initial);
        if is_news && change != 0 && files.max(before) >= MIN_OBJECT {
            self.posted_files += change;
            sharing.files += change;
            sharing.events += 1;
        }
        if let Some(objects) = walked.objects {
            let told = self.tell(objects, walked.vsize, files, sharing);
            self.told = told;
        } else if matches!(self.told, Told::Unread) && files < MIN_OBJECT {
            self.told = Told::Small;
        } else if matches!(self.told, Told::Small) && files >= MIN_OBJECT {
            self.told = Told::Unread;
        }
        let Told::Objects { sizes, objects, .. } = &mut self.told else {
            return;
        };
        self.kinds = kinds(files, *sizes, walked.memory, pss);
        for object in objects {
            let bytes = object.size.min(self.kinds[usize::from(object.is_shmem)].whole);
            let mut change = signed(bytes) - signed(object.held.bytes);
            if object.members == 0 {
                // Met for the first time, it may have been mapped long since.
                object.asked = sharing.group(object.group).level;
                let newly = if is_first { files } else { files.saturating_sub(before) };
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

    /// Joins the groups of the large ones among `objects`; those known already stay as they are.
    fn tell(&mut self, objects: &Objects, vsize: u64, files: u64, sharing: &mut Sharing) -> Told {
        let known = match &mut self.told {
            Told::Objects { objects, .. } => std::mem::take(objects),
            Told::Unread | Told::Small => Vec::new(),
        };
        let large = objects.large(MIN_OBJECT, MAX_OBJECTS);
        let mut mapped: Vec<Mapped> = Vec::with_capacity(large.len());
        for object in &large {
            let group = sharing.join(object_key(object));
            let old = known.iter().find(|k| k.group == group);
            mapped.push(Mapped {
                group,
                members: old.map_or(0, |o| o.members),
                is_shmem: object.is_shmem,
                size: object.bytes,
                held: old.map_or_else(Held::default, |o| o.held),
                seen: old.map_or(0, |o| o.seen),
                asked: old.map_or(0, |o| o.asked),
            });
        }
        for old in known {
            if mapped.iter().all(|m| m.group != old.group) {
                sharing.post(old.group, old.held.left(), 0);
            }
            sharing.leave(old.group);
        }
        Told::Objects {
            vsize,
            files,
            sizes: objects.sizes(),
            objects: mapped,
        }
    }

    /// Bounds what others have changed since the last walk.
    pub fn external(&mut self, sharing: &Sharing) -> ExternalBound {
        if !self.is_walked {
            return ExternalBound::default();
        }
        if self.last.0 != sharing.events {
            self.last = (sharing.events, self.bound(sharing));
        }
        self.last.1
    }

    fn bound(&self, sharing: &Sharing) -> ExternalBound {
        let mut footprint = 0;
        if let Some(family) = self.family {
            let now = self.others(family, sharing);
            let (heap, swap) = (now.heap - self.seen.heap, now.swap - self.seen.swap);
            footprint += if now.forks == self.seen.forks {
                self.shared_heap.effect(heap) + self.shared_swap.effect(swap)
            } else {
                let of = |kind: Kind, change| effect(kind.whole, kind.sharers(u32::MAX), change);
                of(self.anonymous, heap) + of(self.swapped, swap)
            };
        }
        footprint += match &self.told {
            Told::Small => 0,
            Told::Unread => {
                let change = sharing.files - self.posted_files - self.seen_files;
                (change.unsigned_abs() / 2).min(self.mutable_files)
            }
            Told::Objects { objects, .. } => objects.iter().map(|o| self.object_bound(o, sharing)).sum(),
        };
        let swap = sharing.swap_used.abs_diff(self.seen_swap).min(self.swapped_shmem);
        ExternalBound {
            footprint,
            swap,
            has_fork_relatives: self.has_fork_relatives(sharing),
        }
    }

    fn object_bound(&self, object: &Mapped, sharing: &Sharing) -> u64 {
        let change = sharing.group(object.group).level - object.held.posted - object.seen;
        let kind = self.kinds[usize::from(object.is_shmem)];
        effect(object.held.bytes, kind.sharers(object.members), change)
    }
}

fn remapped(files: u64) -> u64 {
    REMAPPED.max(files >> REMAPPED_SHIFT)
}

/// Splits the files and shmem of a walk, of which only the PSS is told apart: no kind has more resident than mapped.
fn kinds(files: u64, sizes: [u64; 2], memory: &Memory, pss: u64) -> [Kind; 2] {
    let [mapped_files, mapped_shmem] = sizes;
    let least = files.saturating_sub(mapped_files);
    let shmem = least.midpoint(mapped_shmem.min(files).max(least));
    let whole = [files - shmem, shmem];
    let told = [memory.pss_file, memory.pss_shmem];
    std::array::from_fn(|kind| Kind {
        whole: whole[kind],
        pss: told[kind].unwrap_or_else(|_| (pss as f64 * (whole[kind] as f64 / files.max(1) as f64)) as u64),
    })
}

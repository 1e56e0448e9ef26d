//! Bounds the changes that other processes cause in the figures of one.
//!
//! A shared page is divided by its sharers. So the PSS of a process changes without any sign from that process if
//! another one maps or drops the same pages. Pure: the results of glances and walks go in. For each process, a bound
//! on the changes by others since its last walk comes out.
//!
//! # Groups
//! The kernel shows which processes may share memory, so unrelated processes never count:
//!
//! | memory | group | source |
//! | --- | --- | --- |
//! | anonymous, and swapped out | a *family*: forked from one another, no exec since | the addresses of the program in `stat`, which a fork keeps and an exec randomizes |
//! | files, shmem, tmpfs | an *object*: one device and inode | `maps`, read with a walk, once per program, and again if its files and the size of its address space have changed |
//!
//! Objects from 2 MiB are tracked. One sharer more or less changes a PSS by at most half of what it maps, and 1 MiB
//! is tolerated everywhere. Smaller objects count towards the program's own file, because processes with the same
//! program use the same small libraries. A process whose files and shmem are smaller in total is in no object's
//! group. Until its `maps` has been read, any file mapped or dropped by any process counts for a process.
//!
//! # Levels
//! Each group has a *level*: a running sum of the bytes that its members have added and removed. Each member stores
//! the level at its last walk, without its own part. The difference is what others have changed since; a process that
//! came and went in between has changed nothing. So an event costs the same however many members there are, and
//! unrelated processes cannot affect any learnt value.
//!
//! Between walks, glances show by how much the files and shmem of a member grow and shrink. A growth counts towards
//! the object with the most unmapped room, and a shrinkage towards the one with the most resident bytes, until the
//! member's next walk shows how much it has of each. Pages touched little by little have a level of their own, the
//! *drift*. If a member maps pages in place of others and the count stays the same, only its walk shows it: its PSS
//! changes in a way that neither its count nor the others explain.
//!
//! # Bounds
//! If the level of `S` bytes with `n` sharers changes by `d`, about `n + d / S` sharers remain, so the PSS changes
//! from `S / n` to `S / max(1, n + d / S)`: by `PSS / (n - 1)` for one equal sharer that leaves. The bound is twice
//! that, since sharers are not spread evenly, but never more than `d / 2` (a page goes from two sharers to one, or
//! back), nor more than all shared bytes. With two sharers, this is exact. If many processes share a few pages each,
//! and unevenly, single ones may change by more until the walk that their age requires.
//!
//! - *Files and shmem*: `S` is the object's mapped size or the resident bytes of its kind, whichever is less. `n` is
//!   what the last walk shows for the kind, without the objects that nobody else maps, but at most the number of
//!   known members.
//! - *Drift*: such pages may be anywhere in the object, so `d` bytes of them leave about `n + d / size` sharers. That
//!   estimate is added to the figures, and walks [show](super::estimate) by which fraction of the bound it errs.
//! - *Files below 2 MiB*: if any process came or went since the walk, the bound is their PSS, or half of their size
//!   if that is less. It causes no walk.
//! - *Anonymous*: `Anonymous - Pss_Anon` is the exact maximum that can be gained. `n` lies between the minimum that
//!   the figures allow and the number of members, and is estimated as their geometric mean.
//! - *Fork*: the parent's memory is shared with a new child from now on, up to the child's RSS. Half of it is the
//!   parent's bound, until the child ends or execs.
//! - *Copy on write* shows when the process that wrote is walked, which its faults cause.
//! - *Swap*: like anonymous memory, with `VmSwap` and `SwapPss`. A member that swaps in leaves the rest to the
//!   others.
//! - *Swapped-out shmem*, which any process may free or swap in, is in `Swap` but not in `SwapPss`. If a process has
//!   any, the change of the machine's use of swap bounds the change of its `Swap`.

use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

use crate::model::Memory;
use crate::proc::maps::{Object, Objects};

/// Minimum size of an object that is tracked, in bytes. Half of it is tolerated everywhere.
pub const MIN_OBJECT: u64 = 2 << 20;
/// Maximum number of tracked objects per process. Others count towards its program like small ones.
const MAX_OBJECTS: usize = 16;

#[derive(Debug, Default)]
pub struct Sharing {
    groups: Vec<Group>,
    free: Vec<u32>,
    by_key: HashMap<u64, u32>,
    /// The level of all files and shmem together.
    files: i64,
    /// Number of processes with files that came, and that went.
    came: u32,
    gone: u32,
    swap_used: u64,
    /// A counter of events. While it does not change, no bound changes.
    pub events: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Group {
    key: u64,
    members: u32,
    /// Forks whose parent is not known.
    orphans: u32,
    /// The level in RAM, in bytes.
    level: i64,
    /// The level in swap, in bytes.
    swap: i64,
    /// The drift in RAM, in bytes.
    drift: i64,
    /// Bytes that members have mapped in place of others, with an unchanged count.
    replaced: u64,
}

impl Sharing {
    pub fn set_swap_used(&mut self, used: u64) {
        if self.swap_used != used {
            self.swap_used = used;
            self.events += 1;
        }
    }

    /// Adds a member to the group of `key`, which is created if necessary; returns its index.
    fn join(&mut self, key: u64) -> u32 {
        let (groups, free) = (&mut self.groups, &mut self.free);
        let place = *self.by_key.entry(key).or_insert_with(|| {
            let group = Group {
                key,
                ..Group::default()
            };
            if let Some(place) = free.pop() {
                groups[place as usize] = group;
                return place;
            }
            groups.push(group);
            (groups.len() - 1) as u32
        });
        self.groups[place as usize].members += 1;
        // The earlier members have one more process to share with.
        self.events += u64::from(self.groups[place as usize].members > 1);
        place
    }

    fn leave(&mut self, place: u32) {
        let group = &mut self.groups[place as usize];
        group.members -= 1;
        // A last member needs no event.
        self.events += u64::from(group.members > 0);
        if group.members == 0 {
            self.by_key.remove(&group.key);
            self.free.push(place);
        }
    }

    fn group(&self, place: u32) -> &Group {
        &self.groups[place as usize]
    }

    fn post(&mut self, place: u32, level: i64, swap: i64) {
        if level != 0 || swap != 0 {
            let group = &mut self.groups[place as usize];
            group.level += level;
            group.swap += swap;
            self.events += 1;
        }
    }

    fn post_drift(&mut self, place: u32, change: i64) {
        if change != 0 {
            self.groups[place as usize].drift += change;
            self.events += 1;
        }
    }

    /// Records that a member has mapped `bytes` in place of others.
    fn replace(&mut self, place: u32, bytes: u64) {
        self.groups[place as usize].replaced += bytes;
        self.events += 1;
    }

    fn post_files(&mut self, change: i64) {
        if change != 0 {
            self.files += change;
            self.events += 1;
        }
    }
}

/// Returns the key of an object's group. Keys are hashes. If two groups collide, each also counts the changes of the
/// other.
fn object_key(object: &Object) -> u64 {
    BuildHasherDefault::<DefaultHasher>::default().hash_one((object.device, object.inode))
}

fn signed(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

/// The result of a walk, as far as it matters for sharing.
#[derive(Clone, Copy, Debug)]
pub struct Walked<'a> {
    pub memory: &'a Memory,
    /// Anonymous memory, shared or not; `None` if the kernel does not report it.
    pub anonymous: Option<u64>,
    /// `VmSwap`, if it is known.
    pub swap: Option<u64>,
    pub vsize: u64,
    pub objects: Option<&'a Objects>,
    /// Upper bound on the bytes that the process has changed since its previous walk.
    pub own_change: u64,
    /// The process existed at the first scan, so that its memory is not an event.
    pub is_initial: bool,
}

/// Bounds on the changes by others since a walk, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExternalBound {
    /// The bound on PSS + `SwapPss`.
    pub footprint: u64,
    /// The part of it due to drift: pages of files and shmem touched little by little.
    pub drift: u64,
    /// Estimates of the change of the PSS of files and of shmem due to drift.
    pub shifts: [i64; 2],
    /// The bound on the change of files too small to be tracked.
    pub small: u64,
    /// The bound on a change of `Swap` that does not affect `SwapPss`.
    pub swap: u64,
}

/// The sharing state of one process.
#[derive(Clone, Debug, Default)]
pub struct Sharer {
    kin: Kin,
    mapped: Mapped,
    /// Swapped-out shmem; the machine's use of swap at its last walk, and when the next was requested.
    swapped_shmem: u64,
    seen_swap: u64,
    asked_swap: u64,
    is_walked: bool,
    /// The last bound, and the event count for which it is valid.
    last: ExternalBound,
    events: u64,
}

impl Sharer {
    /// Joins the family of `image`, the digest of the addresses of its program. If these are hidden, `image` is 0,
    /// and it joins none.
    pub fn join(&mut self, image: u64, sharing: &mut Sharing) {
        self.kin.join(image, sharing);
    }

    /// Records that it was forked, by `parent` if known, and that neither has run exec since. `rss` is its own.
    pub fn forked(&mut self, parent: Option<&mut Self>, rss: u64, sharing: &mut Sharing) {
        let parent = parent.map(|parent| {
            self.mapped.inherit(&parent.mapped, sharing);
            (&mut parent.kin, parent.is_walked)
        });
        self.kin.forked(parent, rss, sharing);
    }

    /// Leaves all groups, because it has ended or runs another program.
    pub fn leave(&mut self, sharing: &mut Sharing) {
        self.kin.leave(sharing);
        self.mapped.leave(sharing);
        *self = Self::default();
    }

    /// Returns true if its family has other members.
    pub fn has_relatives(&self, sharing: &Sharing) -> bool {
        self.kin.family.is_some_and(|family| sharing.group(family).members > 1)
    }

    /// Records the change of its swap between two glances. Memory that it swapped in stays in the swap of its family.
    pub fn swapped(&mut self, before: u64, now: u64, sharing: &mut Sharing) {
        if now < before {
            self.kin.swapped_in(before - now, sharing);
        }
    }

    /// Records by how much its files and shmem have changed between two glances, and informs the others.
    pub fn resized(&mut self, change: i64, sharing: &mut Sharing) {
        self.mapped.resized(change, sharing);
    }

    /// Stores the changes by others so far, because a walk is being requested. It may miss later changes.
    pub fn asked(&mut self, sharing: &Sharing) {
        self.kin.asked(sharing);
        self.mapped.asked(sharing);
        self.asked_swap = sharing.swap_used;
    }

    /// Returns the state at the last read of its `maps`, by which a walk decides whether to read it again.
    pub fn last_maps(&self) -> LastMaps {
        LastMaps(match &self.mapped.maps {
            KnownMaps::Unread | KnownMaps::Small => None,
            KnownMaps::Objects(then) => Some((then.vsize, then.files)),
        })
    }

    pub fn walked(&mut self, walked: &Walked<'_>, sharing: &mut Sharing) {
        let memory = walked.memory;
        let anonymous = walked
            .anonymous
            .unwrap_or_else(|| memory.pss_anon.unwrap_or(memory.pss));
        let files = memory.rss.saturating_sub(anonymous);
        // Kernels before Linux 5.4 do not split PSS.
        let share = |part: u64| (part as f64 * (memory.pss as f64 / memory.rss.max(1) as f64)) as u64;
        let pss = match (memory.pss_file, memory.pss_shmem) {
            (Ok(file), Ok(shmem)) => [file, shmem],
            _ => [share(files), 0],
        };
        let is_first = !self.is_walked;
        self.mapped.walked(walked, files, pss, is_first, sharing);
        // The private part of files is at most their PSS.
        let own = memory.uss().saturating_sub(pss[0].saturating_add(pss[1]));
        let shared = anonymous.saturating_sub(own).min(memory.shared());
        let anonymous = Kind {
            whole: anonymous,
            pss: memory.pss_anon.unwrap_or_else(|_| share(anonymous)),
        };
        let swapped = walked.swap.unwrap_or(memory.swap).min(memory.swap);
        let swap = Kind {
            whole: swapped,
            pss: memory.swap_pss.unwrap_or(swapped),
        };
        let own_change = if walked.is_initial { 0 } else { walked.own_change };
        self.kin.walked([anonymous, swap], shared, own_change, sharing);
        self.swapped_shmem = memory.swap - swapped;
        self.seen_swap = self.asked_swap;
        self.is_walked = true;
        self.last = self.bound(sharing);
    }

    /// Bounds the changes by others since the last walk.
    pub fn external(&mut self, sharing: &Sharing) -> ExternalBound {
        if self.events != sharing.events {
            self.last = self.bound(sharing);
        }
        self.last
    }

    fn bound(&mut self, sharing: &Sharing) -> ExternalBound {
        self.events = sharing.events;
        if !self.is_walked {
            return ExternalBound::default();
        }
        let outside = self.mapped.outside(sharing);
        ExternalBound {
            footprint: self.kin.bound(sharing) + outside.footprint,
            swap: sharing.swap_used.abs_diff(self.seen_swap).min(self.swapped_shmem),
            ..outside
        }
    }
}

/// The bytes that a member holds in a group.
#[derive(Clone, Copy, Debug, Default)]
struct Held {
    bytes: u64,
    /// Its part of the group's level.
    posted: i64,
}

impl Held {
    /// Returns the bytes of a member whose arrival is an event.
    fn come(bytes: u64) -> Self {
        Self {
            bytes,
            posted: signed(bytes),
        }
    }

    /// Returns the change of the level when the member leaves. It cancels the change of an arrival that was an event.
    fn left(self) -> i64 {
        -signed(self.bytes).max(self.posted)
    }
}

/// Memory of one kind at a walk.
#[derive(Clone, Copy, Debug, Default)]
struct Kind {
    whole: u64,
    pss: u64,
}

impl Kind {
    /// Returns the average number of sharers, at most `members`.
    fn sharers(self, members: u32) -> f64 {
        let average = self.whole as f64 / self.pss.max(1) as f64;
        average.clamp(1.0, f64::from(members.max(1)))
    }

    /// Returns by how much the PSS would be higher without sharers, in bytes.
    const fn gain(self) -> u64 {
        self.whole.saturating_sub(self.pss)
    }
}

/// A process as a member of its family.
#[derive(Clone, Debug, Default)]
struct Kin {
    family: Option<u32>,
    heap: Held,
    swap: Held,
    /// Anonymous pages and swap at its last walk, and the shared part of both.
    anonymous: Kind,
    swapped: Kind,
    shared_heap: Shared,
    shared_swap: Shared,
    /// The number of its forks that were seen.
    forks: u32,
    /// The changes by others up to its last walk, and up to when the next walk was requested.
    seen: Moment,
    asked: Moment,
}

#[derive(Clone, Copy, Debug, Default)]
struct Moment {
    heap: i64,
    swap: i64,
    /// Its own forks, and those whose parent is not known.
    forks: u32,
}

impl Kin {
    fn join(&mut self, image: u64, sharing: &mut Sharing) {
        let Some(family) = (image != 0).then(|| sharing.join(image)) else {
            return;
        };
        self.family = Some(family);
        self.seen = self.others(family, sharing);
        self.asked = self.seen;
    }

    /// Records that `parent` forked it; the flag is true if the parent has been walked.
    fn forked(&mut self, parent: Option<(&mut Self, bool)>, rss: u64, sharing: &mut Sharing) {
        let Some(family) = self.family else { return };
        let (heap, swap) = if let Some((parent, is_known)) = parent {
            parent.forks += 1;
            let most = if is_known { parent.anonymous.whole } else { rss };
            (rss.min(most), parent.swapped.whole)
        } else {
            sharing.groups[family as usize].orphans += 1;
            (rss, 0)
        };
        (self.heap, self.swap) = (Held::come(heap), Held::come(swap));
        sharing.post(family, signed(heap), signed(swap));
    }

    fn leave(&mut self, sharing: &mut Sharing) {
        let Some(family) = self.family else { return };
        // A parent that leaves gives its children the memory that it had alone before it forked.
        if self.others(family, sharing).forks != self.seen.forks {
            self.heap.bytes = self.anonymous.whole;
            self.swap.bytes = self.swapped.whole;
        }
        sharing.post(family, self.heap.left(), self.swap.left());
        sharing.leave(family);
        *self = Self::default();
    }

    /// Records that `less` bytes are no longer swapped out.
    fn swapped_in(&mut self, less: u64, sharing: &mut Sharing) {
        let Some(family) = self.family else { return };
        let less = less.min(self.swap.bytes);
        self.swap.bytes -= less;
        self.swap.posted -= signed(less);
        sharing.post(family, 0, -signed(less));
    }

    fn asked(&mut self, sharing: &Sharing) {
        if let Some(family) = self.family {
            self.asked = self.others(family, sharing);
        }
    }

    /// Returns the changes by others so far.
    fn others(&self, family: u32, sharing: &Sharing) -> Moment {
        let group = sharing.group(family);
        Moment {
            heap: group.level - self.heap.posted,
            swap: group.swap - self.swap.posted,
            forks: self.forks.wrapping_add(group.orphans),
        }
    }

    /// Records a walk that found these pages and swap, of which at most `shared` bytes are shared. `own_change`
    /// bounds what the process has changed itself, which affects the others.
    fn walked(&mut self, found: [Kind; 2], shared: u64, own_change: u64, sharing: &mut Sharing) {
        [self.anonymous, self.swapped] = found;
        // A process just forked may be walked before it joins its family.
        let members = self.family.map_or(0, |family| sharing.group(family).members);
        self.shared_heap = Shared::estimate(self.anonymous.gain(), shared, members);
        self.shared_swap = Shared::estimate(self.swapped.gain(), self.swapped.whole, members);
        let Some(family) = self.family else { return };
        let limit = signed(own_change);
        let change = signed(self.shared_heap.bytes) - signed(self.heap.bytes);
        let change = change.clamp(-limit, limit);
        self.heap.bytes = self.shared_heap.bytes;
        self.heap.posted += change;
        self.swap.bytes = self.shared_swap.bytes;
        self.seen = self.asked;
        sharing.post(family, change, 0);
    }

    fn bound(&self, sharing: &Sharing) -> u64 {
        let Some(family) = self.family else { return 0 };
        let now = self.others(family, sharing);
        let (heap, swap) = (now.heap - self.seen.heap, now.swap - self.seen.swap);
        if now.forks == self.seen.forks {
            return self.shared_heap.effect(heap) + self.shared_swap.effect(swap);
        }
        // A child shares what was private before.
        let of = |kind: Kind, change| effect(kind.whole, kind.sharers(u32::MAX), change);
        of(self.anonymous, heap) + of(self.swapped, swap)
    }
}

/// Change of files, and of the size of the address space, from which on `maps` is read again: at least this many
/// bytes, and at least the files shifted right by [`REMAPPED_SHIFT`].
const REMAPPED: u64 = 1 << 20;
const REMAPPED_SHIFT: u32 = 4;
/// Newly mapped bytes from which on others are informed. Fewer make no noticeable difference.
const MIN_POSTED: u64 = 64 << 10;
/// Maximum number of file pages that the kernel maps with one fault: a folio since Linux 6.18.
const PAGES_PER_FAULT: u64 = 512;

#[derive(Clone, Debug, Default)]
struct Mapped {
    maps: KnownMaps,
    /// Their total size and PSS.
    whole: u64,
    pss: u64,
    /// Bytes that came or went since the last walk and that are not in a level yet.
    unposted: i64,
    /// The files too small to be tracked, and the processes that had come and gone by the last walk.
    small: Kind,
    others: Option<(u32, u32)>,
    /// Its part of the level of all files; and the part of others at its last walk, and when the next was requested.
    posted: i64,
    seen: i64,
    asked: i64,
}

/// The objects that a process maps, as far as they are known.
#[derive(Clone, Debug, Default)]
enum KnownMaps {
    #[default]
    Unread,
    Small,
    Objects(Box<Mappings>),
}

#[derive(Clone, Debug)]
struct Mappings {
    /// The size of the address space, and of the files and shmem, when `maps` was read.
    vsize: u64,
    files: u64,
    /// The mapped sizes of files and of shmem.
    sizes: [u64; 2],
    /// The size of the files too small to have a group of their own.
    small: u64,
    objects: Vec<Mapping>,
}

/// The size of the address space, and of the files and shmem, when `maps` was last read, if it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LastMaps(Option<(u64, u64)>);

impl LastMaps {
    /// Returns true if the figures of a walk require reading `maps`. `vsize` is the size of the address space after
    /// the walk, if known. An older size may predate the mapping whose pages the walk found.
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

impl Mapped {
    /// Copies the parent's mappings, if they are known and no walk has found its own yet.
    fn inherit(&mut self, parent: &Self, sharing: &mut Sharing) {
        if !matches!(self.maps, KnownMaps::Objects(_))
            && let KnownMaps::Objects(mappings) = &parent.maps
        {
            let join = |object: &Mapping| object.join(sharing.join(sharing.group(object.group).key));
            self.maps = KnownMaps::Objects(Box::new(Mappings {
                objects: mappings.objects.iter().map(join).collect(),
                // A child has touched nothing yet. Only a much larger address space shows that it maps something
                // else.
                files: mappings.sizes[0].saturating_add(mappings.sizes[1]),
                ..**mappings
            }));
        }
    }

    fn leave(&mut self, sharing: &mut Sharing) {
        let gone = std::mem::take(self);
        if let KnownMaps::Objects(mappings) = gone.maps {
            for object in mappings.objects {
                object.leave(sharing);
                sharing.leave(object.group);
            }
        }
        if gone.others.is_some() {
            sharing.gone = sharing.gone.wrapping_add(1);
            sharing.events += 1;
        }
        if gone.whole >= MIN_OBJECT || gone.posted != 0 {
            sharing.post_files(-signed(gone.whole).max(gone.posted));
        }
    }

    fn asked(&mut self, sharing: &Sharing) {
        self.asked = sharing.files - self.posted;
        if let KnownMaps::Objects(mappings) = &mut self.maps {
            for object in &mut mappings.objects {
                object.asked = object.others(sharing);
            }
        }
    }

    /// Records by how much its files and shmem have changed between two glances, and informs the others.
    fn resized(&mut self, change: i64, sharing: &mut Sharing) {
        self.unposted += change;
        let KnownMaps::Objects(mappings) = &mut self.maps else {
            return;
        };
        if self.unposted.unsigned_abs() < MIN_POSTED {
            return;
        }
        let change = std::mem::take(&mut self.unposted);
        // New bytes count towards the object with the most room; lost bytes are subtracted from the one with the most bytes.
        // The next walk corrects it.
        let room = |o: &Mapping| o.size.saturating_sub(o.held.bytes);
        let objects = mappings.objects.iter_mut();
        let (object, limit) = if change > 0 {
            (objects.max_by_key(|o| room(o)), 1)
        } else {
            (objects.max_by_key(|o| o.held.bytes), -1)
        };
        let Some(object) = object else { return };
        let most = if limit > 0 { room(object) } else { object.held.bytes };
        let change = limit * signed(change.unsigned_abs().min(most));
        object.resize(change, sharing);
    }

    /// Records a walk that found `files` bytes of files and shmem; `parts` is the PSS of each.
    fn walked(&mut self, found: &Walked<'_>, files: u64, parts: [u64; 2], is_first: bool, sharing: &mut Sharing) {
        let pss = parts[0].saturating_add(parts[1]);
        let outside = self.outside(sharing).footprint;
        let before = std::mem::replace(&mut self.whole, files);
        let explained = files.abs_diff(before).saturating_add(outside);
        let rest = std::mem::replace(&mut self.pss, pss)
            .abs_diff(pss)
            .saturating_sub(explained);
        // A page that replaces another changes the PSS by at least half of it. Without own faults, the rest is due to
        // unseen changes by others.
        let own = found.own_change.saturating_mul(PAGES_PER_FAULT);
        let replaced = rest.saturating_mul(2).min(files).min(own);
        let replaced = if is_first || replaced < MIN_OBJECT / 2 {
            0
        } else {
            replaced
        };
        self.unposted = 0;
        self.seen = self.asked;
        let is_news = !(is_first && found.is_initial);
        if is_news && files.max(before) >= MIN_OBJECT {
            let change = signed(files) - signed(before);
            self.posted += change;
            sharing.post_files(change);
        }
        if self.others.is_none() && is_news {
            sharing.came = sharing.came.wrapping_add(1);
            sharing.events += 1;
        }
        self.others = Some((sharing.came, sharing.gone));
        match &self.maps {
            _ if found.objects.is_some() => self.set_objects(found, files, sharing),
            KnownMaps::Unread if files < MIN_OBJECT => self.maps = KnownMaps::Small,
            KnownMaps::Small if files >= MIN_OBJECT => self.maps = KnownMaps::Unread,
            _ => {}
        }
        self.small = match &self.maps {
            KnownMaps::Small => Kind { whole: files, pss },
            KnownMaps::Unread | KnownMaps::Objects(_) => Kind::default(),
        };
        let KnownMaps::Objects(mappings) = &mut self.maps else {
            return;
        };
        self.small = Kind {
            whole: mappings.small.min(files),
            pss: mappings.small.min(parts[0]),
        };
        let kinds = kinds(files, mappings.sizes, parts);
        let shared = mappings.shared(kinds, sharing);
        for object in &mut mappings.objects {
            let kind = usize::from(object.is_shmem);
            let members = sharing.group(object.group).members;
            let (most, sharers) = match shared[kind] {
                Some(shared) if members > 1 => shared,
                Some(_) => (kinds[kind].whole, 1.0),
                // Its sharers may not be known yet.
                None => (kinds[kind].whole, kinds[kind].sharers(u32::MAX)),
            };
            let bytes = object.size.min(most);
            let mut change = signed(bytes) - signed(object.held.bytes);
            if object.members == 0 {
                // The object is new to zmtop, but may have been mapped long ago.
                object.asked = object.others(sharing);
                let newly = if is_first { files } else { files.saturating_sub(before) };
                change = change.min(signed(newly));
            }
            if !is_news {
                change = 0;
            }
            object.held.bytes = bytes;
            object.held.posted += change;
            object.members = members;
            object.sharers = sharers as f32;
            object.seen = object.asked;
            sharing.post(object.group, change, 0);
            object.replace(replaced, sharing);
        }
    }

    /// Joins the groups of the large objects found. Known objects keep their state.
    fn set_objects(&mut self, found: &Walked<'_>, files: u64, sharing: &mut Sharing) {
        let Some(objects) = found.objects else { return };
        let known = match std::mem::take(&mut self.maps) {
            KnownMaps::Objects(mappings) => mappings.objects,
            KnownMaps::Unread | KnownMaps::Small => Vec::new(),
        };
        let large = objects.large(MIN_OBJECT, MAX_OBJECTS);
        let mapped: Vec<Mapping> = large
            .iter()
            .map(|object| {
                let group = sharing.join(object_key(object));
                let old = known.iter().find(|k| k.group == group);
                Mapping {
                    group,
                    is_shmem: object.is_shmem,
                    size: object.bytes,
                    ..old.copied().unwrap_or_default()
                }
            })
            .collect();
        for old in known {
            if mapped.iter().all(|m| m.group != old.group) {
                old.leave(sharing);
            }
            sharing.leave(old.group);
        }
        self.maps = KnownMaps::Objects(Box::new(Mappings {
            vsize: found.vsize,
            files,
            sizes: objects.sizes(),
            small: objects.small(MIN_OBJECT),
            objects: mapped,
        }));
    }

    /// Bounds the changes by others, and estimates the drift.
    fn outside(&mut self, sharing: &Sharing) -> ExternalBound {
        let mut outside = ExternalBound {
            small: self.small_bound(sharing),
            ..ExternalBound::default()
        };
        match &mut self.maps {
            KnownMaps::Small => {}
            KnownMaps::Unread => {
                let change = sharing.files - self.posted - self.seen;
                let mutable = self.whole.saturating_sub(self.pss).max(self.pss / 2);
                outside.footprint = moved_at_most(change.unsigned_abs(), self.pss).min(mutable);
            }
            KnownMaps::Objects(mappings) => {
                for object in &mut mappings.objects {
                    object.add_effect(sharing, &mut outside);
                }
            }
        }
        outside
    }

    /// Bounds the change of files too small to be tracked, if any process came or went. Each process that leaves
    /// without another one coming takes at most the PSS of what is shared. Otherwise a process that comes takes at
    /// most half of a page, and so does one that leaves.
    fn small_bound(&self, sharing: &Sharing) -> u64 {
        let Some((came, gone)) = self.others else { return 0 };
        let (came, gone) = (sharing.came.wrapping_sub(came), sharing.gone.wrapping_sub(gone));
        if came == 0 && gone == 0 {
            return 0;
        }
        let less = u64::from(gone.saturating_sub(came)).max(1);
        self.small.pss.saturating_mul(less).min(self.small.whole / 2)
    }
}

impl Mappings {
    /// Returns for each kind the maximum shared size and the number of sharers, if other objects of that kind are
    /// mapped by this process alone.
    fn shared(&self, kinds: [Kind; 2], sharing: &Sharing) -> [Option<(u64, f64)>; 2] {
        [0, 1].map(|kind| {
            let of_kind = self.objects.iter().filter(|o| usize::from(o.is_shmem) == kind);
            let (alone, others): (Vec<&Mapping>, Vec<_>) = of_kind.partition(|o| sharing.group(o.group).members < 2);
            if alone.is_empty() || others.is_empty() {
                return None;
            }
            let alone = alone.iter().fold(0_u64, |sum, o| sum.saturating_add(o.size));
            let most = kinds[kind].whole.min(self.sizes[kind].saturating_sub(alone));
            // Only the shared objects explain that the PSS is less than the size.
            let pss = most.saturating_sub(kinds[kind].gain());
            Some((most, most as f64 / pss.max(1) as f64))
        })
    }
}

/// Bounds by how much a PSS changes if others map `bytes` more or less. A byte changes it by at most a half, as the
/// second of two sharers. But a small PSS has few pages with few sharers. A page with `s` sharers counts `1/s`, and
/// rises by `j/(s(s − j))` if `j` of them leave. By Cauchy and Schwarz, the total rise is at most the root of `Σj ×
/// Σj/(s(s − j))²`. The first sum is the bytes that others left. The second is at most the PSS, as `j < s`.
fn moved_at_most(bytes: u64, pss: u64) -> u64 {
    // The kernel reports whole KiB, separately for files and shmem.
    let pss = pss.saturating_add(2 << 10);
    let root = (bytes as f64 * pss as f64).sqrt();
    (bytes / 2).min(root as u64)
}

fn remapped(files: u64) -> u64 {
    REMAPPED.max(files >> REMAPPED_SHIFT)
}

/// Splits the files and shmem of a walk, which reports only their PSS separately. No kind has more resident than
/// mapped.
fn kinds(files: u64, sizes: [u64; 2], pss: [u64; 2]) -> [Kind; 2] {
    let [mapped_files, mapped_shmem] = sizes;
    let least = files.saturating_sub(mapped_files);
    // Programs map more of files than they touch, and touch most of the shmem that they map.
    let shmem = mapped_shmem.min(files).max(least);
    let [pss_files, pss_shmem] = pss;
    [(files - shmem, pss_files), (shmem, pss_shmem)].map(|(whole, pss)| Kind { whole, pss })
}

/// Maximum number of bytes touched between two glances that count as drift.
const MAX_DRIFT: i64 = 4 << 20;

#[derive(Clone, Copy, Debug, Default)]
struct Mapping {
    group: u32,
    /// The most members since its last walk; 0 before the first.
    members: u32,
    is_shmem: bool,
    /// The number of sharers of what it has mapped, at the last walk.
    sharers: f32,
    /// The size of all its areas, in bytes.
    size: u64,
    held: Held,
    /// Its part of the group's drift.
    drifted: i64,
    /// The changes by others up to its last walk, and up to when the next was requested.
    seen: Changes,
    asked: Changes,
}

/// The changes by others in a group, as running sums in bytes.
#[derive(Clone, Copy, Debug, Default)]
struct Changes {
    level: i64,
    /// Bytes touched little by little.
    drift: i64,
    /// Bytes mapped in place of others.
    replaced: u64,
}

impl Mapping {
    fn join(&self, group: u32) -> Self {
        Self {
            group,
            held: Held::default(),
            drifted: 0,
            ..*self
        }
    }

    /// Leaves its group, because it was unmapped or its process has ended.
    fn leave(&self, sharing: &mut Sharing) {
        let whole = Held {
            posted: self.held.posted + self.drifted,
            ..self.held
        };
        sharing.post(self.group, whole.left(), 0);
    }

    /// Returns the changes by others so far.
    fn others(&self, sharing: &Sharing) -> Changes {
        let group = sharing.group(self.group);
        Changes {
            level: group.level - self.held.posted,
            drift: group.drift - self.drifted,
            replaced: group.replaced,
        }
    }

    /// Records by how much it has grown or shrunk.
    fn resize(&mut self, change: i64, sharing: &mut Sharing) {
        self.held.bytes = self.held.bytes.saturating_add_signed(change);
        // There are no others to inform.
        if sharing.group(self.group).members < 2 {
            return;
        }
        if (0..=MAX_DRIFT).contains(&change) {
            self.drifted += change;
            sharing.post_drift(self.group, change);
        } else {
            self.held.posted += change;
            sharing.post(self.group, change, 0);
        }
    }

    /// Records that it has mapped `bytes` in place of others, which affects only the other members.
    fn replace(&mut self, bytes: u64, sharing: &mut Sharing) {
        let bytes = bytes.min(self.size);
        if bytes > 0 && self.members > 1 {
            sharing.replace(self.group, bytes);
            self.seen.replaced += bytes;
        }
    }

    /// Adds the effect on the PSS of the changes by others since the last walk.
    fn add_effect(&mut self, sharing: &Sharing, outside: &mut ExternalBound) {
        let group = sharing.group(self.group);
        let now = self.others(sharing);
        let (level, drift) = (now.level - self.seen.level, now.drift - self.seen.drift);
        // A member that left may have come since the last call.
        self.members = self.members.max(group.members + u32::from(level < 0));
        // That is the average number of sharers of its kind, but this object had at least the one that left.
        let least = if level < 0 && self.members > 1 { 2.0 } else { 1.0 };
        let sharers = f64::from(self.sharers).min(f64::from(self.members)).max(least);
        let of = |change| effect(self.held.bytes, sharers, change);
        let replaced = signed(now.replaced.saturating_sub(self.seen.replaced));
        let bound = of(level) + of(replaced).max(of(-replaced));
        // Pages touched little by little may be anywhere in the object.
        let shift = shift(self.held.bytes, sharers, drift, self.size);
        let drift = of(drift);
        outside.footprint += bound + drift;
        outside.drift += drift;
        outside.shifts[usize::from(self.is_shmem)] += shift;
    }
}

/// Factor on the effect for evenly spread sharers.
const MARGIN: f64 = 2.0;

/// Bounds the change of the PSS of `whole` bytes with on average `sharers`, if others map `change` bytes of them more
/// or fewer.
fn effect(whole: u64, sharers: f64, change: i64) -> u64 {
    if whole == 0 || change == 0 {
        return 0;
    }
    let whole = whole as f64;
    let after = (sharers + change as f64 / whole).max(1.0);
    let even = whole * (1.0 / sharers - 1.0 / after).abs();
    // At most, all of it becomes private, or the share of this process vanishes.
    let most = if change < 0 {
        whole - whole / sharers
    } else {
        whole / sharers
    };
    (MARGIN * even).min(most).min(change.unsigned_abs() as f64 / 2.0) as u64
}

/// Estimates the change of the PSS of `whole` bytes, if others touch `change` bytes more anywhere in an object of
/// `size`.
fn shift(whole: u64, sharers: f64, change: i64, size: u64) -> i64 {
    if whole == 0 || change == 0 {
        return 0;
    }
    let after = sharers + change as f64 / size.max(whole) as f64;
    (whole as f64 * (1.0 / after.max(1.0) - 1.0 / sharers)) as i64
}

/// Bytes of one kind that are shared, and the number of sharers.
#[derive(Clone, Copy, Debug, Default)]
struct Shared {
    bytes: u64,
    sharers: f32,
}

impl Shared {
    /// Estimates the shared part of memory whose PSS would be `gain` bytes more if it were private. `most` is an
    /// upper bound on the shared part, and `members` is the number of processes known to be able to share it.
    fn estimate(gain: u64, most: u64, members: u32) -> Self {
        if gain == 0 {
            return Self::default();
        }
        let (gain, most) = (gain as f64, most as f64);
        // Shared memory has at least two sharers.
        let least = (most / (most - gain).max(1.0)).max(2.0);
        let sharers = match f64::from(members) {
            known if known < 2.0 => least,
            known => (least.min(known) * known).sqrt(),
        };
        Self {
            bytes: (gain * sharers / (sharers - 1.0)) as u64,
            sharers: sharers as f32,
        }
    }

    /// Bounds the change of its PSS.
    fn effect(self, change: i64) -> u64 {
        effect(self.bytes, f64::from(self.sharers), change)
    }
}

//! Bounds what other processes do to the figures of one.
//!
//! A shared page is divided by its sharers, so a PSS changes without a sign of its own when another process maps or
//! drops the same pages. Pure: what glances and walks tell of each process goes in, and for each process a bound comes
//! out on what the others have changed since its last walk.
//!
//! # Groups
//! The kernel tells who may share with whom, so that unrelated processes never count:
//!
//! | memory | group | told by |
//! | --- | --- | --- |
//! | anonymous, and swapped out | a *family*: forked from one another, no exec since | the addresses of the program in `stat`, which a fork keeps and an exec draws anew |
//! | files, shmem, tmpfs | an *object*: one device and inode | `maps`, read with a walk, once per program and again when its files and the size of its address space changed |
//!
//! An object is worth remembering from 2 MiB, since one sharer more or less changes a PSS by half of what it maps at
//! most, and 1 MiB is tolerated everywhere. Smaller ones are counted to the program's own file: those that run the same
//! program use the same small libraries. A process whose files and shmem are smaller altogether is in no object's group.
//! Until its `maps` were read, a process hears of all files that anybody maps or drops.
//!
//! # Levels
//! Each group has a *level*: a running sum of the bytes that its members have come with and gone with. Each member
//! remembers the level at its last walk, without its own doing. The difference is what others have changed since; who came
//! and went in between has changed nothing. So an event costs the same however many members there are, and nothing is
//! learnt that unrelated processes could spoil.
//!
//! Between walks, glances tell by how much a member's files and shmem grow and shrink. That counts to the object in which
//! there is most room, or most resident, until the next walk of the member tells how much it has of each. What is touched
//! little by little has a level of its own, the *drift*. Pages that a member maps in
//! place of others, at an even count, are told by its walk alone: its PSS changes, which neither its count nor the others
//! explain.
//!
//! # Bounds
//! Of `S` bytes with `n` sharers, a change of the level by `d` leaves about `n + d / S`, so the PSS changes from `S / n` to
//! `S / max(1, n + d / S)`: for one equal sharer that leaves, `PSS / (n - 1)`. Twice that is the bound, since sharers
//! are not spread evenly, but never more than `d / 2` (a page goes from two sharers to one, or back), nor than all that
//! is shared. With two sharers, that is the truth itself; where many share a few pages each, and unevenly so, single ones
//! may change by more, until the walk that their age asks for.
//!
//! - *Files and shmem*: `S` is the lesser of the object's mapped size and of all that is resident of its kind. `n` is what
//!   the last walk tells of the kind, without the objects that nobody else maps, but at most the number of known members.
//! - *Drift*: such pages lie anywhere in the object, so that `d` of them leave about `n + d / size`. That estimate is added to
//!   the figures, and walks [show](super::estimate) which part of the bound it errs.
//! - *Files below 2 MiB*: once anybody came or went since the walk, their PSS, or half of their size if that is less. It
//!   asks for no walk.
//! - *Anonymous*: `Anonymous - Pss_Anon` is what can be gained at most, exactly. `n` lies between the least that figures allow
//!   and the number of members; it is taken to be their geometric mean.
//! - *Fork*: what the parent has is shared with a new child from now on, up to the child's RSS: half of it is the
//!   parent's bound, until the child ends or runs another program.
//! - *Copy on write* shows when the one that wrote is walked, which its faults ask for.
//! - *Swap*: like anonymous memory, with `VmSwap` and `SwapPss`. A member that swaps in leaves the rest to the others.
//! - *Swapped-out shmem*, of which any process may free or read back some, is in `Swap` and not in `SwapPss`: where a
//!   process has any, what the machine's use of swap has changed bounds its `Swap`.

mod effect;
mod family;
mod held;
mod mapped;
mod mapping;
mod sharer;

use std::collections::HashMap;

pub use mapped::LastMaps;
pub use sharer::{ExternalBound, Sharer, Walked};

use crate::proc::objects::Object;

/// The least size of an object that is remembered: half of it is tolerated everywhere.
pub const MIN_OBJECT: u64 = 2 << 20;
/// Objects remembered of one process; those beyond are counted to its program like small ones.
const MAX_OBJECTS: usize = 16;

/// The groups of all processes.
#[derive(Debug, Default)]
pub struct Sharing {
    groups: Vec<Group>,
    /// Places in `groups` that nobody uses.
    free: Vec<u32>,
    by_key: HashMap<u64, u32>,
    /// The level of all files and shmem together.
    files: i64,
    /// Processes with files that have come, and that have gone.
    came: u32,
    gone: u32,
    /// Swap in use on the machine.
    swap_used: u64,
    /// A counter of events: while it stands still, so does every bound.
    events: u64,
}

/// Processes that may share the same pages.
#[derive(Clone, Copy, Debug, Default)]
struct Group {
    key: u64,
    members: u32,
    /// Forks seen whose parent is not known.
    orphans: u32,
    /// Bytes in RAM that members have come and gone with.
    level: i64,
    /// The same of swap.
    swap: i64,
    /// Bytes in RAM that members have touched little by little.
    drift: i64,
    /// Bytes that members have mapped in place of others, at an even count.
    replaced: u64,
}

impl Sharing {
    /// Returns a count of events: while it stands still, so does every bound.
    pub const fn events(&self) -> u64 {
        self.events
    }

    /// Takes in how much swap the machine uses.
    pub fn set_swap_used(&mut self, used: u64) {
        if self.swap_used != used {
            self.swap_used = used;
            self.events += 1;
        }
    }

    /// Adds a member to the group of `key`, which is made where there is none; returns its place.
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
        // Those that were there may have one more to share with.
        self.events += u64::from(self.groups[place as usize].members > 1);
        place
    }

    fn leave(&mut self, place: u32) {
        let group = &mut self.groups[place as usize];
        group.members -= 1;
        // The last one knows that it is alone.
        self.events += u64::from(group.members > 0);
        if group.members == 0 {
            self.by_key.remove(&group.key);
            self.free.push(place);
        }
    }

    fn group(&self, place: u32) -> &Group {
        &self.groups[place as usize]
    }

    /// Changes a group's level, in RAM and in swap.
    fn post(&mut self, place: u32, level: i64, swap: i64) {
        if level != 0 || swap != 0 {
            let group = &mut self.groups[place as usize];
            group.level += level;
            group.swap += swap;
            self.events += 1;
        }
    }

    /// Takes in that a member has touched so much more.
    fn post_drift(&mut self, place: u32, change: i64) {
        if change != 0 {
            self.groups[place as usize].drift += change;
            self.events += 1;
        }
    }

    /// Takes in that a member has mapped so many bytes in place of others.
    fn replace(&mut self, place: u32, bytes: u64) {
        self.groups[place as usize].replaced += bytes;
        self.events += 1;
    }

    /// Changes the level of all files and shmem.
    fn post_files(&mut self, change: i64) {
        if change != 0 {
            self.files += change;
            self.events += 1;
        }
    }
}

/// Returns the key of an object's group. Keys are hashes: what two groups of one key would do is make each hear of the
/// other.
fn object_key(object: &Object) -> u64 {
    use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
    BuildHasherDefault::<DefaultHasher>::default().hash_one((object.device, object.inode))
}

/// Returns bytes as the change of a level.
fn signed(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

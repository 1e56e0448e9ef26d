//! Dangers: limits that will be reached soon at the present pace of memory growth.
//!
//! Growth counts against the nearest limit that stops it. The memory left below an outer limit, such as the machine's, is only
//! used up by growth outside of the cgroups that reach their own limit first.
//!
//! A danger is a fact, not a judgement of a program: the memory left, how fast it shrinks, and the process that uses it.
//! The cause may be a leak, a filling cache, or a load that the machine is too small for.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap, HashSet};
use std::hash::RandomState;
use std::sync::Arc;
use std::time::Duration;

use crate::account::countdown::{Countdown, Forecast};
use crate::account::headroom::{Room, address_space_left, digests, lazily_freed_in_use, machine_headroom, rooms};
use crate::account::{SHMEM, SLAB};
use crate::group::RowKey;
use crate::history::History;
use crate::history::charged::KINDS;
use crate::history::most::{GrowthBelow, LimitOf, fullest, most};
use crate::history::victims::EndedProcess;
use crate::model::CgroupFigures;
use crate::model::process::{Identity, ProcessSample};
use crate::model::snapshot::Snapshot;
use crate::model::system::SystemSample;
use crate::model::unit::owned_path;
use crate::order;
use crate::text;
use crate::trend::parameters::{CGROUP_REACH, DANGER_REACH};
use crate::units::{self, Units};

/// Width of a name in a text, in columns.
const NAME_WIDTH: usize = 120;
/// The key of the machine among the owners of dangers, stalls and kills. The other keys are paths, or have a blank.
pub(crate) const MACHINE: &[u8] = b"machine";
/// Maximum number of dangers.
const MAX_DANGERS: usize = 32;
/// Maximum number of dangers below one [owner](Limit::owner), and of address spaces. A user may have any number of cgroups.
const MAX_OF_OWNER: usize = 16;
/// Maximum number of cgroups whose limits are watched, those with the largest share of it in use; of more, maximum number of one owner.
const MAX_LIMITS: usize = 1024;
const MAX_LIMITS_OF_OWNER: usize = 64;
/// Multiple of its growth by which a cgroup may grow further, up to its limit.
const FURTHER: u64 = 4;
/// Minimum share of the pace that the reported process or program must have: others may grow unseen.
const MIN_SHARE: f64 = 0.5;
/// Bounds of the time over which the growth of that process is measured.
const TAKER_SPAN: [Duration; 2] = [Duration::from_secs(5), Duration::from_secs(240)];
/// Minimum time over which it is measured first.
const RECENT: Duration = Duration::from_secs(3);
/// The time over which the growth of file systems in memory is measured. They are read every 10 s, or every 2 s during a danger.
const MOUNT_SPAN: Duration = Duration::from_secs(15);
/// Minimum share of the growth of a part that is in a file system or a slab cache, to name it: an innocent one may grow beside memory
/// that is in none. Objects of several caches often grow together.
const MIN_SHARE_OF_MOUNT: f64 = 0.5;
const MIN_SHARE_OF_CACHE: f64 = 0.25;
/// Minimum rate at which a machine swaps in, in bytes per second, to count as swapping evenly.
const MIN_SWAP_IN: f64 = (1 << 20) as f64;
/// Inverse of the share of the RAM below which it is short. With more available, a machine does not swap for lack of it, but a program
/// may ask for that.
const SHORT: u64 = 4;
/// Inverse of the share of the memory left. If cgroups free that much at once, earlier falls no longer count.
const RELIEF_SHARE: u64 = 32;
/// Time within which memory must be free that was in a cgroup which is gone, and time before that in which it may have become free: the
/// figures of a cgroup may be some seconds old.
const FREED_WITHIN: Duration = Duration::from_millis(2750);
const FREED_BEFORE: Duration = Duration::from_secs(5);
/// Minimum time between two such moments of one owner: the longest window of a forecast. And the maximum number of them in that time: each
/// container is an owner.
const RELIEF_INTERVAL: Duration = Duration::from_secs(512);
const MAX_FREED: usize = 2;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Limit {
    /// Memory and swap of the machine.
    Machine,
    /// The limit of a cgroup, by path.
    Cgroup(Arc<[u8]>),
    /// The soft limit of a cgroup (`memory.high`), at which its tasks are throttled.
    CgroupHigh(Arc<[u8]>),
    /// The limit of a process's address space (`RLIMIT_AS`).
    AddressSpace(Identity),
}

impl Limit {
    const fn is_cgroup(&self) -> bool {
        matches!(self, Self::Cgroup(_) | Self::CgroupHigh(_))
    }

    /// Returns the place of its danger in the order of all: anyone can reserve address space, which costs nothing.
    const fn rank(&self) -> u8 {
        match self {
            Self::Machine => 0,
            Self::Cgroup(_) | Self::CgroupHigh(_) => 1,
            Self::AddressSpace(_) => 2,
        }
    }

    /// Returns its owner as a key: the machine, all address spaces, or the cgroup whose owner can make any number of such limits.
    pub(crate) fn owner(&self) -> Box<[u8]> {
        match self {
            Self::Machine => MACHINE.into(),
            Self::AddressSpace(_) => (*b"address space").into(),
            Self::Cgroup(path) | Self::CgroupHigh(path) => owned_path(path).into(),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Danger {
    pub limit: Limit,
    pub forecast: Forecast,
    /// The process, the program or the part of the kernel's memory that grows most, and its growth in bytes per second; `None` if
    /// none takes half.
    pub taker: Option<(RowKey, f64)>,
    /// The raw name of the file system or the slab cache that has a good part of the growth of the part that grows most, or of the
    /// process that has most of it.
    pub place: Option<Arc<[u8]>>,
}

impl Danger {
    /// Returns the limit that is reached, and the time until then: `/web reaches its limit of 120M in 20 s`; and a note: ` (memory.high)`. Safe to
    /// print, with a name of at most `width` columns.
    pub fn limit_text(&self, snapshot: &Snapshot, width: usize, units: Units) -> (String, &'static str) {
        let time = units::about(self.forecast.time());
        let of_cgroup = |path: &Arc<[u8]>, limit: &str| {
            let ceiling = snapshot.cgroups.get(path).and_then(CgroupFigures::ceiling);
            let size = ceiling.map_or(String::new(), |(bytes, _)| {
                format!(" of {}", units::bytes(bytes, units))
            });
            format!(
                "{} reaches its {limit}{size} in {time}",
                snapshot.name_of_cgroup(path, width)
            )
        };
        match &self.limit {
            Limit::Machine => (format!("memory is full in {time}"), ""),
            Limit::AddressSpace(id) => (format!("address space of {} is full in {time}", id.pid), " (RLIMIT_AS)"),
            Limit::Cgroup(path) => (of_cgroup(path, "limit"), ""),
            Limit::CgroupHigh(path) => (of_cgroup(path, "soft limit"), " (memory.high)"),
        }
    }

    /// Returns the memory left, and how fast it falls: `80.0M left, falling by 4.0M/s`.
    pub fn left_text(&self, units: Units) -> String {
        let left = units::bytes(self.forecast.left, units);
        format!("{left} left, falling by {}", units::pace(self.forecast.pace))
    }

    /// Returns all of it on one line, safe to print.
    pub fn text(&self, snapshot: &Snapshot, units: Units) -> String {
        let (limit, note) = self.limit_text(snapshot, NAME_WIDTH, units);
        let taker = match &self.taker {
            None => "no single process takes it".to_owned(),
            Some((key, pace)) => {
                let name = match key {
                    RowKey::Process(id) => snapshot.name_of_process(*id),
                    RowKey::Part(key) => text::safe(&key.name()).into_owned(),
                    RowKey::Group(key) => key.titled(text::safe_prefix(key.label(), NAME_WIDTH).into_owned()),
                };
                let place = self.place.as_ref();
                let place = place.map_or(String::new(), |place| {
                    format!(", {}", text::safe_prefix(place, NAME_WIDTH))
                });
                format!("{name}{place} +{}", units::pace(*pace))
            }
        };
        format!("{limit} at this rate{note}: {taker} ({})", self.left_text(units))
    }
}

/// The memory left below a limit.
#[derive(Clone, Debug, Default)]
struct Watched {
    countdown: Countdown,
    /// The memory left without the compensation below, once there was one.
    uncompensated: Option<Box<Countdown>>,
    left: u64,
    /// The compensation in the last snapshot.
    nearer: u64,
    /// The last great fall of the compensation, until it is known whether memory was freed.
    fall: Option<Fall>,
    /// The cgroups whose limits are nearer, without those below them, by digest. Their growth since they are among them is added to the
    /// memory left to compensate for it.
    stopping: Vec<Stopping>,
    /// The cgroups that together may use more than is left, though the limit of each is nearer, by digest, and the time of that. They do not
    /// return at once.
    left_out: HashMap<u64, Duration>,
    /// The last time at which cgroups had filled up one after the other. For a while, none counts as stopping.
    in_turn_at: Option<Duration>,
    /// The owners of cgroups that are gone, or no longer stop, while their memory is not free, by digest, and the time of that. For a while,
    /// their cgroups do not count as stopping.
    escaped: HashMap<u64, Duration>,
    /// The owners of cgroups that freed so much that earlier falls no longer counted, by digest, and the time of that.
    freed: HashMap<u64, Duration>,
}

/// The cgroups whose limits stop growth now, and those whose limits are nearer but allow more than is left together, by digest.
#[derive(Debug, Default)]
struct Stops {
    stopping: Vec<u64>,
    left_out: Vec<u64>,
    /// They fill up one after the other, so that all together use more than is left.
    are_in_turn: bool,
}

/// A fall of the compensation for growth that counted as stopped.
#[derive(Clone, Debug)]
struct Fall {
    at: Duration,
    by: u64,
    /// The lowest memory left, compensation included, just before.
    before: u64,
    /// The owners of the cgroups, by digest.
    owners: Vec<u64>,
}

/// A cgroup whose limit stops its growth.
#[derive(Clone, Copy, Debug)]
struct Stopping {
    digest: u64,
    /// The least memory that it used since it is among them, and since when that is.
    used: u64,
    since: Duration,
}

/// The memory in use below the limit of a cgroup.
#[derive(Clone, Copy, Debug)]
struct InUse {
    bytes: u64,
    ceilings: [u64; 2],
    /// The digest of its owner.
    owner: u64,
    /// Its limit does not stop growth: it was raised or removed lately, or is a soft one and exceeded.
    is_raised: bool,
}

impl Watched {
    /// Adds the memory left now, and the cgroups that are stopping. `before` and `used` have the memory of all cgroups.
    fn push(
        &mut self,
        now: Duration,
        left: u64,
        stops: Stops,
        before: &HashMap<u64, InUse>,
        used: &HashMap<u64, InUse>,
    ) {
        self.left_out.retain(|_, at| now.saturating_sub(*at) < RELIEF_INTERVAL);
        self.left_out
            .extend(stops.left_out.into_iter().map(|digest| (digest, now)));
        self.escaped.retain(|_, at| now.saturating_sub(*at) < RELIEF_INTERVAL);
        // Memory that is freed with a cgroup may be seen some time later. Then the sum is as before.
        let sum = self.left.saturating_add(self.nearer);
        let fall = self.fall.take_if(|fall| now.saturating_sub(fall.at) >= FREED_WITHIN);
        let fall = fall.filter(|fall| sum.saturating_add(fall.by / 2) < fall.before);
        let has_escaped = stops.are_in_turn || fall.is_some();
        if has_escaped {
            self.in_turn_at = Some(now).filter(|_| stops.are_in_turn).or(self.in_turn_at);
            self.fall = None;
            let owners = fall.into_iter().flat_map(|fall| fall.owners);
            self.escaped.extend(owners.map(|owner| (owner, now)));
            if let Some(all) = self.uncompensated.take() {
                self.countdown = *all;
            }
        }
        let stopping = if has_escaped { Vec::new() } else { stops.stopping };
        // A cgroup that is gone no longer stops.
        let gone = self.stopping.iter().map(|one| one.digest);
        let gone = gone.filter(|digest| !used.contains_key(digest));
        let (mut growth, mut owners) = (0_i64, HashMap::<u64, i64>::new());
        for digest in stopping.iter().copied().chain(gone) {
            let Some(then) = before.get(&digest) else { continue };
            let now = used.get(&digest).map_or(0, |now| now.bytes);
            let by = now.cast_signed().saturating_sub(then.bytes.cast_signed());
            growth = growth.saturating_add(by);
            if by < 0 {
                let sum = owners.entry(then.owner).or_default();
                *sum = sum.saturating_add(by);
            }
        }
        let mut nearer = 0_u64;
        let found = stopping.into_iter().filter_map(|digest| {
            let in_use = used.get(&digest)?;
            let known = self.known(digest);
            let used = known.map_or(in_use.bytes, |known| known.used.min(in_use.bytes));
            let since = known.map_or(now, |known| known.since);
            nearer = nearer.saturating_add(in_use.bytes - used);
            Some(Stopping { digest, used, since })
        });
        let mut found: Vec<_> = found.collect();
        found.sort_unstable_by_key(|one| one.digest);
        if !found.is_empty() && self.uncompensated.is_none() {
            self.uncompensated = Some(Box::new(self.countdown.without_forecast()));
        }
        if let Some(all) = &mut self.uncompensated {
            all.push(now, left);
        }
        let by = self.nearer.saturating_sub(nearer);
        if by > left / RELIEF_SHARE && !has_escaped && self.fall.is_none() {
            let compensation = |one: &Stopping, all: &HashMap<u64, InUse>| {
                let in_use = all.get(&one.digest);
                in_use.map_or(0, |in_use| in_use.bytes.saturating_sub(one.used))
            };
            let is_less = |one: &&Stopping| {
                let place = found.binary_search_by_key(&one.digest, |one| one.digest);
                let after = place.map_or(0, |place| compensation(&found[place], used));
                after < compensation(one, before)
            };
            let less = self.stopping.iter().filter(is_less);
            self.fall = Some(Fall {
                at: now,
                by,
                before: self.countdown.lowest_within(now, FREED_BEFORE),
                owners: less.filter_map(|one| Some(before.get(&one.digest)?.owner)).collect(),
            });
        }
        (self.left, self.nearer, self.stopping) = (left, nearer, found);
        self.countdown.push(now, left.saturating_add(nearer));
        // The memory of a killed process is free at one moment and uncharged at another. An owner that frees much again and again must
        // not end the danger each time.
        self.freed.retain(|_, at| now.saturating_sub(*at) < RELIEF_INTERVAL);
        let least = -((left / RELIEF_SHARE).cast_signed());
        let new: Vec<_> = owners
            .into_iter()
            .filter(|(owner, by)| *by < least && !self.freed.contains_key(owner))
            .collect();
        if growth < least && !new.is_empty() && self.freed.len() < MAX_FREED {
            self.countdown.relieve(now);
            self.freed.extend(new.iter().map(|(owner, _)| (*owner, now)));
        }
    }

    /// Returns a cgroup that was stopping before.
    fn known(&self, digest: u64) -> Option<&Stopping> {
        let place = self.stopping.binary_search_by_key(&digest, |one| one.digest).ok()?;
        self.stopping.get(place)
    }
}

/// Tracks the memory left below each limit.
#[derive(Clone, Debug, Default)]
pub(super) struct DangerWatch {
    limits: BTreeMap<Limit, Watched>,
    rooms: BTreeMap<Arc<[u8]>, Room>,
    /// The memory in use below each of the rooms, by the digest of its cgroup.
    used: HashMap<u64, InUse>,
    /// The cgroups whose limit was raised or removed lately, by digest, and the time of that.
    raised: HashMap<u64, Duration>,
    /// The key of the digests.
    key: RandomState,
    dangers: Vec<Danger>,
}

/// The cgroups with rooms, each after its ancestors.
struct Tree {
    nodes: Vec<Node>,
    /// The numbers of the outermost ones.
    outermost: Vec<usize>,
}

struct Node {
    digest: u64,
    left: u64,
    /// The least memory left of its ancestors.
    left_above: u64,
    /// The numbers of the next ones below.
    below: Vec<usize>,
}

impl Tree {
    fn new(key: &RandomState, rooms: &BTreeMap<Arc<[u8]>, Room>) -> Self {
        let (mut nodes, mut outermost): (Vec<Node>, Vec<usize>) = Default::default();
        let mut numbers: HashMap<u64, usize> = HashMap::new();
        for (path, room) in rooms {
            let (mut digest, mut above) = (None, None);
            for next in digests(key, path) {
                above = digest.and_then(|digest| numbers.get(&digest)).copied().or(above);
                digest = Some(next);
            }
            let number = nodes.len();
            let digest = digest.unwrap_or_default();
            numbers.insert(digest, number);
            let siblings = above.map_or(&mut outermost, |above: usize| &mut nodes[above].below);
            siblings.push(number);
            let left_above = above.map_or(u64::MAX, |above| nodes[above].left.min(nodes[above].left_above));
            nodes.push(Node {
                digest,
                left: room.left,
                left_above,
                below: Vec::new(),
            });
        }
        Self { nodes, outermost }
    }

    /// Returns the outermost cgroups whose limits are reached before `left` is used up, of these and those below them. If those that grow
    /// may use more than that together, the ones that leave least come first.
    fn stopping(&self, now: Duration, of: &[usize], left: u64, watched: &Watched, used: &HashMap<u64, InUse>) -> Stops {
        let key = |number: usize| Reverse((self.nodes[number].left, number));
        let grown = |node: &Node| {
            let is_out = |now: &&InUse| {
                let has_escaped = watched.escaped.contains_key(&now.owner);
                now.is_raised || has_escaped || watched.left_out.contains_key(&node.digest)
            };
            let now = used.get(&node.digest).filter(|now| !is_out(now))?;
            let known = watched.known(node.digest);
            Some(known.map_or(0, |known| now.bytes.saturating_sub(known.used)))
        };
        let were_in_turn = watched
            .in_turn_at
            .is_some_and(|at| now.saturating_sub(at) < RELIEF_INTERVAL);
        let of = if were_in_turn { &[] } else { of };
        let mut open: BinaryHeap<_> = of.iter().copied().map(key).collect();
        let (mut found, mut rest) = (Stops::default(), left);
        // What others may need, and the growth of each that is full. As many new ones may follow as have come lately.
        let (mut further, mut full) = (0_u64, Vec::new());
        while let Some(Reverse((_, number))) = open.pop() {
            let node = &self.nodes[number];
            let needed = |grown: u64| node.left.min(grown.saturating_mul(FURTHER));
            let grown = grown(node).filter(|_| node.left < left);
            let Some(grown) = grown.filter(|grown| needed(*grown) <= rest) else {
                open.extend(node.below.iter().copied().map(key));
                // Together with others, it may use more than is left.
                found.left_out.extend(grown.map(|_| node.digest));
                continue;
            };
            rest -= needed(grown);
            further = further.saturating_add(node.left - needed(grown));
            if grown > 0 && node.left <= grown / FURTHER {
                let since = watched.known(node.digest).map_or(now, |known| known.since);
                let is_new = now.saturating_sub(since) < RELIEF_INTERVAL;
                further = further.saturating_add(if is_new { grown } else { 0 });
                full.push(grown);
            }
            found.stopping.push(node.digest);
        }
        // A single one that is full is no sign that others follow.
        let largest = full.iter().max().copied().unwrap_or(0);
        let as_much = full.iter().sum::<u64>().saturating_sub(largest);
        found.are_in_turn = further.min(as_much) > rest;
        found
    }
}

impl DangerWatch {
    /// Updates the memory in use below the rooms, and which limits were raised; returns the memory in use before.
    fn update_use(&mut self, snapshot: &Snapshot, tree: &Tree) -> HashMap<u64, InUse> {
        let now = snapshot.monotonic;
        self.raised.retain(|_, at| now.saturating_sub(*at) < RELIEF_INTERVAL);
        let before = std::mem::take(&mut self.used);
        for (node, (path, room)) in tree.nodes.iter().zip(&self.rooms) {
            let is_higher = |then: &InUse| room.ceilings.iter().zip(then.ceilings).any(|(now, then)| *now > then);
            if before.get(&node.digest).is_some_and(is_higher) {
                self.raised.insert(node.digest, now);
            }
            let in_use = InUse {
                bytes: room.used,
                ceilings: room.ceilings,
                owner: digests(&self.key, owned_path(path)).last().unwrap_or_default(),
                // Above a soft limit, growth is only slowed.
                is_raised: self.raised.contains_key(&node.digest) || room.is_soft && room.left == 0,
            };
            self.used.insert(node.digest, in_use);
        }
        let lost: HashSet<_> = before
            .keys()
            .filter(|digest| !self.used.contains_key(*digest))
            .collect();
        // A cgroup with processes lost its limit; others are gone.
        let rows = snapshot.rows().iter().filter(|_| !lost.is_empty());
        let paths: HashSet<_> = rows.filter_map(|row| row.facts.cgroup.as_ref().ok()).collect();
        let digests = paths.into_iter().flat_map(|path| digests(&self.key, path));
        self.raised.extend(
            digests
                .filter(|digest| lost.contains(digest))
                .map(|digest| (digest, now)),
        );
        before
    }

    /// Adds the memory left in a snapshot; returns forecasts for limits that are reached within that time.
    fn forecasts(&mut self, snapshot: &Snapshot, within: Duration) -> Vec<(Limit, Forecast)> {
        let now = snapshot.monotonic;
        self.rooms = rooms(snapshot);
        let tree = Tree::new(&self.key, &self.rooms);
        let before = self.update_use(snapshot, &tree);
        let (rooms, used) = (&self.rooms, &self.used);
        let machine = machine_headroom(snapshot).map(|left| left.saturating_sub(lazily_freed_in_use(snapshot)));
        let limit = |(path, room): (&Arc<[u8]>, &Room)| {
            if room.is_soft {
                Limit::CgroupHigh(Arc::clone(path))
            } else {
                Limit::Cgroup(Arc::clone(path))
            }
        };
        let kept = (rooms.len() > MAX_LIMITS).then(|| {
            let used = |room: &Room| room.used as f64 / (room.used.saturating_add(room.left)).max(1) as f64;
            let used = rooms.iter().map(|(path, room)| (path, used(room)));
            fullest(used, MAX_LIMITS, MAX_LIMITS_OF_OWNER)
        });
        let is_kept = |path: &Arc<[u8]>| kept.as_ref().is_none_or(|kept| kept.contains(path));
        self.limits.retain(|known, _| match known {
            Limit::Machine => true,
            Limit::Cgroup(path) | Limit::CgroupHigh(path) => {
                let room = rooms.get_key_value(path).filter(|(path, _)| is_kept(path));
                room.is_some_and(|room| limit(room) == *known)
            }
            Limit::AddressSpace(id) => snapshot.address_limits.contains_key(id),
        });
        if let Some(left) = machine {
            let watched = self.limits.entry(Limit::Machine).or_default();
            let stopping = tree.stopping(now, &tree.outermost, left, watched, used);
            watched.push(now, left, stopping, &before, used);
        }
        let mut nearest = HashSet::new();
        let all = tree.nodes.iter().zip(rooms);
        for (node, (path, room)) in all.filter(|(_, (path, _))| is_kept(path)) {
            let watched = self.limits.entry(limit((path, room))).or_default();
            let stopping = tree.stopping(now, &node.below, room.left, watched, used);
            watched.push(now, room.left, stopping, &before, used);
            // If the machine or a cgroup above is full first, that is the danger.
            if node.left_above.min(machine.unwrap_or(u64::MAX)) >= room.left {
                nearest.insert(limit((path, room)));
            }
        }
        // Few: address space is only read for growing processes.
        for id in snapshot.address_limits.keys() {
            if let Some(left) = address_space_left(snapshot, *id) {
                let watched = self.limits.entry(Limit::AddressSpace(*id)).or_default();
                watched.push(now, left, Stops::default(), &before, used);
            }
        }
        let limits = self.limits.iter_mut();
        let forecasts = limits.filter_map(|(limit, watched)| {
            let reach = if limit.is_cgroup() { CGROUP_REACH } else { DANGER_REACH };
            let forecast = watched.countdown.forecast(within, watched.left, reach)?;
            (!limit.is_cgroup() || nearest.contains(limit)).then(|| (limit.clone(), forecast))
        });
        forecasts.collect()
    }

    /// Returns true if the memory left below a limit is clearly less than ever before that fall, as far as it is remembered.
    fn is_new_low(&self, limit: &Limit, forecast: &Forecast) -> bool {
        let watched = self.limits.get(limit);
        watched.is_none_or(|watched| watched.countdown.is_new_low(forecast))
    }

    /// Returns the highest memory left on the machine within `age` before the lowest of the `newest` values, and that lowest one.
    pub(super) fn fall_of_machine(&self, age: Duration, newest: usize) -> Option<[u64; 2]> {
        let watched = self.limits.get(&Limit::Machine)?;
        let left = watched.uncompensated.as_deref().unwrap_or(&watched.countdown);
        left.fall_within(age, newest)
    }

    /// Returns the memory left below the limits of cgroups as of the last snapshot.
    pub(super) const fn rooms(&self) -> &BTreeMap<Arc<[u8]>, Room> {
        &self.rooms
    }

    pub(super) fn bytes(&self) -> usize {
        let bytes = |watched: &Watched| {
            let all = watched.uncompensated.as_ref();
            watched.countdown.bytes() + all.map_or(0, |all| size_of::<Countdown>() + all.bytes())
        };
        self.limits.values().map(bytes).sum()
    }
}

/// Returns true if little of the machine's RAM is available, or if that is not known.
pub(crate) fn is_short(system: &SystemSample) -> bool {
    let known = system.available().ok().zip(system.mem_total.ok());
    known.is_none_or(|(available, total)| available < total / SHORT)
}

impl History {
    /// Returns the dangers to the machine and to cgroups. Reserving address space costs nothing, and a process that
    /// reaches the limit of its own harms no other.
    pub fn shared_dangers(&self) -> impl Iterator<Item = &Danger> {
        let all = self.dangers().iter();
        all.filter(|danger| !matches!(danger.limit, Limit::AddressSpace(_)))
    }

    /// Returns the dangers: the machine first, then cgroups, then address spaces. Within each kind, the soonest danger of each owner
    /// comes first, so that the many cgroups of one user do not push those of others out of sight.
    pub fn dangers(&self) -> &[Danger] {
        &self.danger_watch.dangers
    }

    /// Updates the dangers from a snapshot.
    pub(super) fn find_dangers(&mut self, snapshot: &Snapshot) {
        let mut forecasts = self.danger_watch.forecasts(snapshot, self.config.trend.danger);
        // A machine that is short of memory and swaps in as much as it swaps out is not about to be full: its memory only seems to fall, and
        // is soon as much as before.
        let rates = self.system.swap_in.zip(self.system.swap_out);
        let even = rates.filter(|(read, written)| *read >= MIN_SWAP_IN && read * 2.0 >= *written);
        let even = even.filter(|_| is_short(&snapshot.system));
        let is_even = |forecast: &Forecast| {
            let is_slow = even.is_some_and(|(read, _)| forecast.pace <= read);
            is_slow && !self.danger_watch.is_new_low(&Limit::Machine, forecast)
        };
        forecasts.retain(|(limit, forecast)| *limit != Limit::Machine || !is_even(forecast));
        order::sort_by(&mut forecasts, |(a, one), (b, other)| {
            a.rank().cmp(&b.rank()).then(one.seconds().total_cmp(&other.seconds()))
        });
        let mut of_owners: Vec<Vec<(Limit, Forecast)>> = Vec::new();
        let mut numbers = HashMap::new();
        for (limit, forecast) in forecasts {
            let number = *numbers.entry(limit.owner()).or_insert(of_owners.len());
            if number == of_owners.len() {
                of_owners.push(Vec::new());
            }
            of_owners[number].push((limit, forecast));
        }
        let mut of_owners: Vec<_> = of_owners.into_iter().map(Vec::into_iter).collect();
        let (mut dangers, mut teeth) = (Vec::new(), 0);
        for turn in 0..MAX_OF_OWNER {
            for owner in &mut of_owners {
                if dangers.len() < MAX_DANGERS {
                    let danger = owner.find_map(|(limit, forecast)| self.danger(snapshot, limit, forecast, &mut teeth));
                    dangers.extend(danger.map(|danger| (turn, danger)));
                }
            }
        }
        order::sort_by(&mut dangers, |(turn, one), (other_turn, other)| {
            let place = |turn: &usize, danger: &Danger| (danger.limit.rank(), *turn);
            let soonest = one.forecast.seconds().total_cmp(&other.forecast.seconds());
            place(turn, one).cmp(&place(other_turn, other)).then(soonest)
        });
        self.danger_watch.dangers = dangers.into_iter().map(|(_, danger)| danger).collect();
    }

    /// Returns a danger with the process or program that causes it; `None` for a tooth that is no new high. `teeth` counts those
    /// searched for: a search reads all processes.
    fn danger(&self, snapshot: &Snapshot, limit: Limit, forecast: Forecast, teeth: &mut usize) -> Option<Danger> {
        if forecast.is_tooth && *teeth == MAX_DANGERS {
            return None;
        }
        *teeth += usize::from(forecast.is_tooth);
        let taker = self.taker(snapshot, &limit, &forecast);
        let key = taker.as_ref().map(|(key, _)| key);
        if forecast.is_tooth && !key.is_some_and(|key| self.is_new_high(key, forecast.window)) {
            return None;
        }
        Some(Danger {
            // Of a cgroup's memory, it is not known.
            place: key
                .filter(|_| limit == Limit::Machine)
                .and_then(|key| self.place(snapshot, key, &forecast)),
            taker,
            limit,
            forecast,
        })
    }

    /// Returns the process or program that now grows fastest below a limit, and its pace.
    fn taker(&self, snapshot: &Snapshot, limit: &Limit, forecast: &Forecast) -> Option<(RowKey, f64)> {
        if let Limit::AddressSpace(id) = limit {
            return Some((RowKey::Process(*id), forecast.pace));
        }
        // Another process may have grown more since the window began, and stopped.
        let recent = (forecast.window / 4)
            .max(snapshot.interval * 2)
            .clamp(RECENT, TAKER_SPAN[1]);
        // Growth may show late, by the age of the walk.
        let longest = forecast.window.clamp(TAKER_SPAN[0], TAKER_SPAN[1]);
        let mut spans = [recent, longest].into_iter();
        spans.find_map(|span| self.taker_within(snapshot, limit, forecast, span))
    }

    /// Returns the process or program that grew most below a limit within `span`, and its pace.
    fn taker_within(
        &self,
        snapshot: &Snapshot,
        limit: &Limit,
        forecast: &Forecast,
        span: Duration,
    ) -> Option<(RowKey, f64)> {
        let stopping = self.danger_watch.limits.get(limit);
        // What is left may have fallen more slowly lately, or faster.
        let fall = stopping.and_then(|watched| watched.countdown.fall_over(span));
        // The series of rows have whole seconds.
        let fall = fall.map(|(bytes, time)| (bytes as f64, Duration::from_secs(time.as_secs_f64().round() as u64)));
        let (fall, span) = fall.unwrap_or((forecast.pace * span.as_secs_f64(), span));
        let key = &self.danger_watch.key;
        let is_stopped = |path: &[u8]| {
            let stopping = stopping.filter(|watched| !watched.stopping.is_empty());
            stopping.is_some_and(|watched| digests(key, path).any(|above| watched.known(above).is_some()))
        };
        let limit_of = match limit {
            Limit::Cgroup(above) | Limit::CgroupHigh(above) => LimitOf::Cgroup(above),
            Limit::Machine | Limit::AddressSpace(_) => LimitOf::Machine,
        };
        let is_within = |sample: &ProcessSample| {
            let cgroup = &sample.facts.cgroup;
            limit_of.covers(cgroup) && !cgroup.as_ref().is_ok_and(|path| is_stopped(path))
        };
        let is_victim = |_: &EndedProcess| false;
        let processes = self.grown(snapshot, span, is_within, is_victim);
        // The processes of a program or a user may be in several cgroups.
        let outside = snapshot.rows().iter().filter(|sample| !is_within(sample));
        let below = GrowthBelow {
            limit: limit_of,
            from: self.begin_of(snapshot.monotonic, span),
            span,
            processes: &processes,
            partial: &self.groups_of(outside, &processes),
            bound: forecast.pace * span.as_secs_f64(),
            enough: fall * MIN_SHARE,
            is_victim,
        };
        let part = match limit {
            Limit::Machine => self.growing_part(span),
            Limit::Cgroup(path) | Limit::CgroupHigh(path) => {
                let grown = self.charged().growth(path, snapshot.monotonic, span);
                let kinds = KINDS.iter().cloned().map(RowKey::Part);
                most(kinds.zip(grown.map(|bytes| bytes as f64)))
            }
            Limit::AddressSpace(_) => None,
        };
        let found = self.most_below(&below, part.into_iter());
        let found = found.filter(|(_, grown)| *grown >= below.enough);
        found.map(|(key, grown)| (key, grown / span.as_secs_f64()))
    }

    /// Returns true if a row has more memory than in the minutes before `window`. On a sawtooth, it would not.
    fn is_new_high(&self, key: &RowKey, window: Duration) -> bool {
        self.row(key).is_some_and(|row| {
            let view = row.footprint();
            let before = view.highest_before(window);
            before.is_none_or(|before| view.last().is_some_and(|now| now > before))
        })
    }

    /// Returns the file system or the slab cache that has most of the growth of that part of the RAM, or the process with most of it.
    fn place(&self, snapshot: &Snapshot, key: &RowKey, forecast: &Forecast) -> Option<Arc<[u8]>> {
        let RowKey::Part(key) = key else { return None };
        let whole = self.parts.get(key.id);
        match key.id {
            SHMEM => self.mounts().fastest(MOUNT_SPAN, whole?, MIN_SHARE_OF_MOUNT),
            SLAB => {
                let span = forecast.window.clamp(TAKER_SPAN[0], TAKER_SPAN[1]);
                self.slab().fastest(span, whole?, MIN_SHARE_OF_CACHE)
            }
            id => Some(self.part_share(id, snapshot)?.holder().into()),
        }
    }

    /// Returns the part of the kernel's memory that grows fastest.
    fn growing_part(&self, span: Duration) -> Option<(RowKey, f64)> {
        let parts = self.parts.taking();
        most(parts.map(|(key, row)| (RowKey::Part(key), row.footprint().change_over(span))))
    }
}

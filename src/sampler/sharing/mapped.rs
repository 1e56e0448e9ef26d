//! Files and shmem of a process among those that map the same.

use super::held::Kind;
use super::mapping::Mapping;
use super::{MAX_OBJECTS, MIN_OBJECT, Sharing, object_key, signed};
use crate::proc::objects::Objects;

/// Change of the files, and of the size of the address space, from which `maps` is read again; of large files it is a
/// part, as a shift.
const REMAPPED: u64 = 1 << 20;
const REMAPPED_SHIFT: u32 = 4;
/// Bytes of newly mapped pages from which others hear of them: fewer make no difference to anybody.
const TOLD: u64 = 64 << 10;
/// Pages of a file that the kernel maps with one fault at most: since Linux 6.18, a folio.
const PAGES_PER_FAULT: u64 = 512;

/// The files and shmem of a process.
#[derive(Clone, Debug, Default)]
pub(super) struct Mapped {
    told: Told,
    /// All together, and their PSS.
    whole: u64,
    pss: u64,
    /// Pages that came, or went, since the last walk, which the others have not heard of.
    untold: i64,
    /// The files too small to be remembered, and how many processes had come and gone at the last walk.
    small: Kind,
    others: Option<(u32, u32)>,
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
    /// The size of the files too small to have a group of their own.
    small: u64,
    objects: Vec<Mapping>,
}

/// The doings of others to the files and shmem of a process since its last walk.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Outside {
    /// The bound on what came and went at once, and on what was touched little by little.
    pub(super) bound: u64,
    pub(super) drift: u64,
    /// An estimate of the latter, of files and of shmem.
    pub(super) shifts: [i64; 2],
    /// The bound on the change of what is too small to be told of.
    pub(super) small: u64,
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
    /// The bound on the bytes that it has changed itself since the walk before, by its faults.
    pub(super) own_change: u64,
    /// It is the first walk of this process.
    pub(super) is_first: bool,
    /// It was there at the first scan, so that nothing of it is news.
    pub(super) is_initial: bool,
}

impl Mapped {
    /// Takes over what a parent has mapped, if that is known, unless a walk has told it by now.
    pub(super) fn inherit(&mut self, parent: &Self, sharing: &mut Sharing) {
        if !matches!(self.told, Told::Objects(_))
            && let Told::Objects(mappings) = &parent.told
        {
            let join = |object: &Mapping| object.join(sharing.join(sharing.group(object.group).key));
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

    pub(super) fn asked(&mut self, sharing: &Sharing) {
        self.asked = sharing.files - self.posted;
        if let Told::Objects(mappings) = &mut self.told {
            for object in &mut mappings.objects {
                object.asked = object.others(sharing);
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

    /// Takes in by how much its files and shmem have grown or shrunk from one glance to the next: the others hear of it.
    pub(super) fn resized(&mut self, change: i64, sharing: &mut Sharing) {
        self.untold += change;
        let Told::Objects(mappings) = &mut self.told else {
            return;
        };
        if self.untold.unsigned_abs() < TOLD {
            return;
        }
        let change = std::mem::take(&mut self.untold);
        // What comes goes where there is most room, and what goes leaves where there is most. The next walk tells.
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

    pub(super) fn walked(&mut self, found: &Found<'_>, sharing: &mut Sharing) {
        let files = found.files;
        let pss = found.pss[0].saturating_add(found.pss[1]);
        let outside = self.outside(sharing);
        let outside = outside.bound + outside.drift;
        let before = std::mem::replace(&mut self.whole, files);
        let explained = files.abs_diff(before).saturating_add(outside);
        let rest = std::mem::replace(&mut self.pss, pss)
            .abs_diff(pss)
            .saturating_sub(explained);
        // A page in place of another changes the PSS by half of it, or more. What others did untold is no doing of its own.
        let own = found.own_change.saturating_mul(PAGES_PER_FAULT);
        let replaced = rest.saturating_mul(2).min(files).min(own);
        let replaced = if found.is_first || replaced < MIN_OBJECT / 2 {
            0
        } else {
            replaced
        };
        self.untold = 0;
        self.seen = self.asked;
        let is_news = !(found.is_first && found.is_initial);
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
        match &self.told {
            _ if found.objects.is_some() => self.tell(found, sharing),
            Told::Unread if files < MIN_OBJECT => self.told = Told::Small,
            Told::Small if files >= MIN_OBJECT => self.told = Told::Unread,
            _ => {}
        }
        self.small = match &self.told {
            Told::Small => Kind { whole: files, pss },
            Told::Unread | Told::Objects(_) => Kind::default(),
        };
        let Told::Objects(mappings) = &mut self.told else {
            return;
        };
        self.small = Kind {
            whole: mappings.small.min(files),
            pss: mappings.small.min(found.pss[0]),
        };
        let kinds = kinds(files, mappings.sizes, found.pss);
        let shared = mappings.shared(kinds, sharing);
        for object in &mut mappings.objects {
            let kind = usize::from(object.is_shmem);
            let members = sharing.group(object.group).members;
            let (most, sharers) = match shared[kind] {
                Some(shared) if members > 1 => shared,
                Some(_) => (kinds[kind].whole, 1.0),
                // Those that share it may not have been told of yet.
                None => (kinds[kind].whole, kinds[kind].sharers(u32::MAX)),
            };
            let bytes = object.size.min(most);
            let mut change = signed(bytes) - signed(object.held.bytes);
            if object.members == 0 {
                // Met for the first time, it may have been mapped long since.
                object.asked = object.others(sharing);
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
            object.members = members;
            object.sharers = sharers as f32;
            object.seen = object.asked;
            sharing.post(object.group, change, 0);
            object.replace(replaced, sharing);
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
        self.told = Told::Objects(Box::new(Mappings {
            vsize: found.vsize,
            files: found.files,
            sizes: objects.sizes(),
            small: objects.small(MIN_OBJECT),
            objects: mapped,
        }));
    }

    /// Bounds what the others have changed, and estimates it.
    pub(super) fn outside(&mut self, sharing: &Sharing) -> Outside {
        let mut outside = Outside {
            small: self.small_bound(sharing),
            ..Outside::default()
        };
        match &mut self.told {
            Told::Small => {}
            Told::Unread => {
                let change = sharing.files - self.posted - self.seen;
                let mutable = self.whole.saturating_sub(self.pss).max(self.pss / 2);
                outside.bound = moved_at_most(change.unsigned_abs(), self.pss).min(mutable);
            }
            Told::Objects(mappings) => {
                for object in &mut mappings.objects {
                    let effect = object.effect(sharing);
                    outside.bound += effect.bound;
                    outside.drift += effect.drift;
                    outside.shifts[usize::from(object.is_shmem)] += effect.shift;
                }
            }
        }
        outside
    }

    /// Bounds what the files change that are too small to be told of, once anybody came or went: as many as leave more
    /// than come take the PSS of what is shared at most, each, and who comes takes half of a page at most, as does the one
    /// that leaves.
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
    /// Returns of each kind how much is shared at most, and among how many, where some of it is mapped by nobody else.
    fn shared(&self, kinds: [Kind; 2], sharing: &Sharing) -> [Option<(u64, f64)>; 2] {
        [0, 1].map(|kind| {
            let of_kind = self.objects.iter().filter(|o| usize::from(o.is_shmem) == kind);
            let (alone, others): (Vec<&Mapping>, Vec<_>) = of_kind.partition(|o| sharing.group(o.group).members < 2);
            if alone.is_empty() || others.is_empty() {
                return None;
            }
            let alone = alone.iter().fold(0_u64, |sum, o| sum.saturating_add(o.size));
            let most = kinds[kind].whole.min(self.sizes[kind].saturating_sub(alone));
            // Nothing else explains that the PSS is less than the whole.
            let pss = most.saturating_sub(kinds[kind].gain());
            Some((most, most as f64 / pss.max(1) as f64))
        })
    }
}

/// Bounds by how much a PSS changes where others map so many bytes more, or less. A byte changes it by a half at most, as
/// the second of two sharers. But few pages of a small PSS have few sharers: one with `s` counts `1/s`, and rises by
/// `j/(s(s − j))` where `j` of them leave. By Cauchy and Schwarz all rise by the root of `Σj × Σj/(s(s − j))²` at most, of
/// which the first is the bytes that others left, and the second is no more than the PSS, as `j < s`.
fn moved_at_most(bytes: u64, pss: u64) -> u64 {
    // It is told in whole KiB, of files and of shmem.
    let pss = pss.saturating_add(2 << 10);
    let root = (bytes as f64 * pss as f64).sqrt();
    (bytes / 2).min(root as u64)
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

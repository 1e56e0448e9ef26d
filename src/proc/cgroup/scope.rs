//! Shows a cgroup's memory in place of the machine's: selects the cgroup, reads its files and derives the system's
//! figures.

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use super::figures::{self, MAX_STAT, open_directory, read_opened, slurp, value};
use super::{Mounts, Version, above, charged, is_below};
use crate::account::headroom::swap_adds;
use crate::model::system::{AccountingInputs, Pressure, Scope, ScopeEvents, ScopeKind, ScopeLevel};
use crate::model::{CgroupFigures, Missing, Reading, SystemSample};
use crate::proc::files::{self, Roots};
use crate::proc::parse::{number, words};
use crate::proc::pids::PidList;
use crate::proc::system;

/// A cgroup that stands in for the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub kind: ScopeKind,
    pub path: Arc<[u8]>,
    mounts: Arc<Mounts>,
}

#[derive(Clone, Debug)]
pub struct ScopeReading {
    pub place: Place,
    /// The cgroup, and its ancestors that have a limit.
    levels: Vec<Level>,
    /// The lowest effective limit that the cgroup itself reports (v1). It includes limits that are not visible.
    limit_in_stat: Option<u64>,
    stat: Stat,
    kernel_total: Reading<u64>,
    pressure: Reading<Pressure>,
    stalled: Reading<[Duration; 2]>,
    events: ScopeEvents,
}

#[derive(Clone, Debug)]
struct Level {
    path: Arc<[u8]>,
    figures: CgroupFigures,
    reclaimable: Reading<u64>,
}

#[derive(Clone, Debug)]
struct Stat {
    version: Version,
    values: Reading<HashMap<Box<[u8]>, u64>>,
}

impl Place {
    /// Returns the cgroup that the user chose by its path or its directory. Fails if no cgroup of the memory controller is
    /// visible there.
    pub fn chosen(mounts: Arc<Mounts>, path: &[u8]) -> Reading<Self> {
        let by_directory = mounts.path(path).filter(|_| files::open_dir(path).is_ok());
        let path = by_directory.unwrap_or_else(|| {
            let path = path.strip_suffix(b"/").unwrap_or(path);
            if path.starts_with(b"/") {
                path.to_vec()
            } else {
                [b"/", path].concat()
            }
        });
        Self::at(mounts, path.into())
    }

    /// Returns the cgroup at `path`. Fails if it is not visible.
    pub fn at(mounts: Arc<Mounts>, path: Arc<[u8]>) -> Reading<Self> {
        let directory = mounts.directory(&path).ok_or(Missing::OutOfView)?;
        open_directory(&directory)?;
        let kind = ScopeKind::Chosen;
        Ok(Self { kind, path, mounts })
    }

    /// Returns the cgroup of the container that zmtop runs in: the innermost one that holds both zmtop and the pid
    /// namespace's first process. Returns `None` if the tree shows the processes of the whole machine, or if its charge
    /// or its limit is not visible.
    pub fn of_container(roots: &Roots) -> Option<Self> {
        if !is_container(roots) {
            return None;
        }
        let mounts = Arc::new(figures::mounts(roots).ok()?);
        let path = |process: &str| {
            let mut buf = [0; 4096];
            let file = roots.proc.join(process).join("cgroup");
            let bytes = files::slurp(file.as_os_str().as_encoded_bytes(), &mut buf).ok()?;
            charged(bytes, mounts.version).ok().map(<[u8]>::to_vec)
        };
        let (own, first) = (path("self")?, path("1"));
        let mut levels = std::iter::successors(Some(&own[..]), |path| above(path));
        let common = levels.find(|path| first.as_ref().is_some_and(|first| is_below(first, path)));
        let place = Self {
            kind: ScopeKind::Container,
            path: common.unwrap_or(&own).into(),
            mounts: Arc::clone(&mounts),
        };
        let reading = place.read();
        // Only a limit above it may be visible, but the cgroup itself may not.
        reading.levels.first()?.figures.current.ok()?;
        let is_limited = reading.effective().is_ok_and(|limit| limit.is_some())
            || reading
                .levels
                .iter()
                .any(|level| matches!(level.ceiling(), Ok(Some(_))));
        is_limited.then_some(place)
    }

    /// Lists the processes of the tree that are in the cgroup.
    pub fn processes(&self, roots: &Roots, has_own_pids: bool, buf: &mut [u8]) -> Reading<PidList> {
        if has_own_pids {
            super::processes_below(&self.mounts, &self.path, buf)
        } else {
            super::processes_by_files(roots, self.mounts.version, &self.path, buf)
        }
    }

    /// Reads the memory files of the cgroup and of its ancestors that limit it.
    pub fn read(&self) -> ScopeReading {
        let version = self.mounts.version;
        let directories = self.mounts.levels(&self.path);
        let own = directories.first().ok_or(Missing::OutOfView);
        let dir = own.and_then(|own| open_directory(own));
        let stat = Stat::read(version, &dir);
        let mut buf = [0; 1024];
        let mut file = |name: &[u8]| slurp(dir.as_ref().map_err(|why| *why)?, name, &mut buf).map(<[u8]>::to_vec);
        let number = |text: Reading<Vec<u8>>| text.and_then(|text| figures::figure(text.trim_ascii()));
        let (kernel_total, events) = match version {
            Version::V1 => {
                let oom_kill = file(b"memory.oom_control").and_then(|text| value(&text, b"oom_kill"));
                let events = ScopeEvents {
                    max: number(file(b"memory.failcnt")),
                    oom_kill,
                    ..ScopeEvents::missing(Missing::Unsupported)
                };
                (number(file(b"memory.kmem.usage_in_bytes")), events)
            }
            Version::V2 => {
                let text = file(b"memory.events");
                let get = |name: &[u8]| value(text.as_deref().map_err(|why| *why)?, name);
                let events = ScopeEvents {
                    low: get(b"low"),
                    high: get(b"high"),
                    max: get(b"max"),
                    oom: get(b"oom"),
                    oom_kill: get(b"oom_kill"),
                    oom_group_kill: get(b"oom_group_kill"),
                };
                (stat.get(b"kernel"), events)
            }
        };
        let waits = file(b"memory.pressure");
        let stalled = waits.as_deref().map_err(|why| *why).and_then(figures::stalls);
        let pressure = waits.and_then(|text| system::pressure(&text));
        let level = |(at, directory): (usize, &Vec<u8>)| {
            let dir = open_directory(directory);
            let figures = dir
                .as_ref()
                .map_or_else(|why| CgroupFigures::missing(*why), |dir| read_opened(version, dir));
            let limits = [figures.limit, figures.swap_limit, figures.high];
            let is_limited = limits
                .iter()
                .any(|limit| !matches!(limit, Ok(None) | Err(Missing::Unsupported)));
            (at == 0 || is_limited).then(|| Level {
                path: self.ancestor(at),
                figures,
                reclaimable: if at == 0 {
                    figures::reclaimable(|name| stat.get(name))
                } else {
                    let stat = Stat::read(version, &dir);
                    figures::reclaimable(|name| stat.get(name))
                },
            })
        };
        ScopeReading {
            place: self.clone(),
            levels: directories.iter().enumerate().filter_map(level).collect(),
            limit_in_stat: stat
                .get(b"hierarchical_memory_limit")
                .ok()
                .filter(|limit| *limit < figures::NO_LIMIT),
            stat,
            kernel_total,
            pressure,
            stalled,
            events,
        }
    }

    /// Returns the path of the cgroup so many levels above this one.
    fn ancestor(&self, levels: usize) -> Arc<[u8]> {
        let mut paths = std::iter::successors(Some(&self.path[..]), |path| above(path)).skip(levels);
        let depth = std::iter::successors(Some(&self.path[..]), |path| above(path)).count();
        match paths.next() {
            Some(path) => path.into(),
            None => b"/..".repeat(levels + 1 - depth).into(),
        }
    }
}

/// Returns true if the tree shows a pid namespace that zmtop is in.
fn is_container(roots: &Roots) -> bool {
    /// `PROC_PID_INIT_INO` of the kernel: the machine's initial pid namespace.
    const INITIAL: &[u8] = b"pid:[4026531836]";
    let namespace = |process: &str| {
        let link = roots.proc.join(process).join("ns/pid");
        rustix::fs::readlinkat(rustix::fs::CWD, link, Vec::new()).ok()
    };
    let Some(own) = namespace("self").filter(|own| own.to_bytes() != INITIAL) else {
        return false;
    };
    if roots.is_own() {
        // If pids differ, the mounted tree belongs to another namespace.
        files::has_own_pids(&roots.proc)
    } else {
        namespace("1").as_ref() == Some(&own)
    }
}

impl Stat {
    fn read(version: Version, dir: &Reading<OwnedFd>) -> Self {
        let mut buf = vec![0; MAX_STAT];
        let bytes = dir
            .as_ref()
            .map_err(|why| *why)
            .and_then(|dir| slurp(dir, b"memory.stat", &mut buf));
        Self {
            version,
            values: bytes.map(Self::parse),
        }
    }

    fn parse(bytes: &[u8]) -> HashMap<Box<[u8]>, u64> {
        let lines = bytes.split(|b| *b == b'\n').map(words);
        lines
            .filter_map(|mut line| Some((line.next()?.into(), number(line.next()?)?)))
            .collect()
    }

    /// Returns the value that v2 calls `name`.
    fn get(&self, name: &[u8]) -> Reading<u64> {
        let values = self.values.as_ref().map_err(|why| *why)?;
        let name = figures::stat_name(self.version, name);
        values.get(&name[..]).copied().ok_or(Missing::Unsupported)
    }

    fn pages(&self, name: &[u8]) -> Reading<u64> {
        Ok(self.get(name)?.saturating_mul(rustix::param::page_size() as u64))
    }

    /// Returns the file pages, without the swap cache, which the kernel counts among them.
    fn cached(&self) -> Reading<u64> {
        Ok(self.get(b"file")?.saturating_sub(self.get(b"swapcached").unwrap_or(0)))
    }
}

fn less(a: Reading<u64>, b: Reading<u64>) -> Reading<u64> {
    Ok(a?.saturating_sub(b?))
}

/// Returns the lowest of several bounds, or the first reason if one is unknown.
fn least(bounds: impl Iterator<Item = Reading<Option<u64>>>) -> Reading<Option<u64>> {
    bounds.into_iter().try_fold(None, |least: Option<u64>, bound| {
        Ok(match (least, bound?) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (one, other) => one.or(other),
        })
    })
}

impl Level {
    fn limit(&self) -> Reading<Option<u64>> {
        match self.figures.limit {
            // The cgroup has no controller of its own.
            Err(Missing::Unsupported) => Ok(None),
            limit => limit,
        }
    }

    fn high(&self) -> Reading<Option<u64>> {
        self.figures.high.or(Ok(None))
    }

    /// Returns the lower of the hard limit and the soft one (`high`).
    fn ceiling(&self) -> Reading<Option<u64>> {
        least([self.limit(), self.high()].into_iter())
    }

    fn used(&self) -> Reading<u64> {
        less(self.figures.current, self.reclaimable)
    }

    fn limits(&self) -> ScopeLevel {
        ScopeLevel {
            path: Arc::clone(&self.path),
            current: self.figures.current,
            swap: self.figures.swap,
            limit: self.figures.limit,
            high: self.figures.high,
            swap_limit: self.figures.swap_limit,
        }
    }

    /// Returns `bound − amount`, or `None` if there is no bound.
    fn beside(bound: Reading<Option<u64>>, amount: Reading<u64>) -> Reading<Option<u64>> {
        match bound? {
            Some(bound) => Ok(Some(bound.saturating_sub(amount?))),
            None => Ok(None),
        }
    }
}

impl ScopeReading {
    #[must_use]
    pub fn late(&self) -> Self {
        let stat = Stat {
            version: self.stat.version,
            values: Err(Missing::TimedOut),
        };
        Self {
            place: self.place.clone(),
            levels: Vec::new(),
            limit_in_stat: None,
            stat,
            kernel_total: Err(Missing::TimedOut),
            pressure: Err(Missing::TimedOut),
            stalled: Err(Missing::TimedOut),
            events: ScopeEvents::missing(Missing::TimedOut),
        }
    }

    fn effective(&self) -> Reading<Option<u64>> {
        least(self.levels.iter().map(Level::limit).chain([Ok(self.limit_in_stat)]))
    }

    fn fault(&self) -> Missing {
        self.stat.values.as_ref().err().copied().unwrap_or(Missing::OutOfView)
    }

    fn scope(&self, host: &SystemSample, inputs: &AccountingInputs) -> Scope {
        let Place { kind, path, .. } = &self.place;
        let Some(own) = self.levels.first() else {
            return Scope::missing(*kind, Arc::clone(path), self.fault());
        };
        let levels = || self.levels.iter();
        let effective = self.effective();
        let own_use = own.used();
        // Under a limit that is not visible, at most the limit minus this cgroup's own use is left.
        let hidden = |amount| Level::beside(effective, amount);
        let leaves = |bound: fn(&Level) -> Reading<Option<u64>>, amount: fn(&Level) -> Reading<u64>| {
            least(levels().map(|level| Level::beside(bound(level), amount(level))))
        };
        let free = least([leaves(Level::limit, |l| l.figures.current), hidden(own.figures.current)].into_iter());
        let free = match (free, effective) {
            (Ok(None), Ok(None)) => leaves(Level::ceiling, |l| l.figures.current),
            (free, _) => free,
        };
        let room = least([leaves(Level::ceiling, Level::used), hidden(own_use)].into_iter());
        let swap = least(levels().map(|level| Level::beside(level.figures.swap_limit, level.figures.swap)));
        let host_swap = host.swap_free.unwrap_or(0);
        let swap = swap.ok().flatten().map_or(host_swap, |left| left.min(host_swap));
        let host_left = swap_adds(host, inputs).and_then(|added| Ok(host.available()?.saturating_add(added)));
        Scope {
            kind: *kind,
            path: Arc::clone(path),
            limit: effective,
            high: least(levels().map(Level::high)),
            current: own.figures.current,
            used: own_use,
            free: free.and_then(|free| free.ok_or(Missing::Unsupported)),
            left: match (room, host_left) {
                (Ok(Some(room)), Ok(host)) => Ok(room.saturating_add(swap).min(host)),
                (Ok(Some(room)), Err(_)) => Ok(room.saturating_add(swap)),
                (Ok(None), host) => host,
                (Err(why), _) => Err(why),
            },
            sockets: self.stat.get(b"sock"),
            hugetlb: self.stat.get(b"hugetlb"),
            kernel: self.other_kernel(),
            host_total: host.mem_total,
            host_available: host.available(),
            levels: levels().map(Level::limits).collect(),
            events: self.events,
        }
    }

    /// Returns the kernel memory that no other figure includes.
    fn other_kernel(&self) -> Reading<u64> {
        const KNOWN: [&[u8]; 8] = [
            b"slab_reclaimable",
            b"slab_unreclaimable",
            b"kernel_stack",
            b"pagetables",
            b"sec_pagetables",
            b"percpu",
            b"vmalloc",
            b"zswap",
        ];
        let known = KNOWN.iter().filter_map(|name| self.stat.get(name).ok());
        less(self.kernel_total, Ok(known.fold(0, u64::saturating_add)))
    }

    /// Returns the system's figures with the cgroup's in place of the machine's. Figures that no cgroup has are
    /// missing. Returns `None` for a container without a limit, since its memory is the machine's.
    pub fn narrow(&self, host: &SystemSample, inputs: &AccountingInputs) -> Option<SystemSample> {
        let scope = self.scope(host, inputs);
        let ceiling = scope.ceiling();
        if scope.kind == ScopeKind::Container && ceiling == Ok(None) {
            return None;
        }
        let stat = &self.stat;
        let get = |name: &[u8]| stat.get(name);
        let own = self
            .levels
            .first()
            .map_or(CgroupFigures::missing(self.fault()), |own| own.figures);
        let lists: [&[u8]; 5] = [
            b"active_anon",
            b"inactive_anon",
            b"active_file",
            b"inactive_file",
            b"unevictable",
        ];
        let room = ceiling.and_then(|ceiling| match ceiling {
            Some(_) => {
                let levels = self
                    .levels
                    .iter()
                    .map(|level| Level::beside(level.ceiling(), level.used()));
                let all = levels.chain([Level::beside(scope.limit, scope.used)]);
                Ok(least(all)?.unwrap_or(0).min(host.available().unwrap_or(u64::MAX)))
            }
            None => host.available(),
        });
        let limits = least(self.levels.iter().map(|level| level.figures.swap_limit));
        let (swap_total, swap_free) = match (host.swap_total, limits) {
            (Ok(0), _) => (Ok(0), Ok(0)),
            (Ok(total), Ok(limit)) => {
                let total = limit.map_or(total, |limit| limit.min(total));
                (Ok(total), less(Ok(total), own.swap))
            }
            (Ok(_), Err(why)) | (Err(why), _) => (Err(why), Err(why)),
        };
        let mut system = SystemSample {
            mem_total: ceiling.and_then(|ceiling| ceiling.map_or(host.mem_total, Ok)),
            mem_free: match ceiling {
                Ok(None) => host.mem_free,
                _ => scope.free,
            },
            mem_available: room,
            buffers: Ok(0),
            cached: stat.cached(),
            shmem: get(b"shmem"),
            anon_pages: get(b"anon"),
            mapped: get(b"file_mapped"),
            slab: get(b"slab"),
            sreclaimable: get(b"slab_reclaimable"),
            sunreclaim: get(b"slab_unreclaimable"),
            swap_total,
            swap_free,
            swap_cached: get(b"swapcached"),
            zswap: get(b"zswap"),
            zswapped: get(b"zswapped"),
            pswpin: stat.pages(b"pswpin"),
            pswpout: stat.pages(b"pswpout"),
            pgmajfault: get(b"pgmajfault"),
            lru: lists
                .iter()
                .try_fold(0_u64, |sum, name| Ok(sum.saturating_add(get(name)?))),
            dirty: get(b"file_dirty"),
            writeback: get(b"file_writeback"),
            kernel_stack: get(b"kernel_stack"),
            page_tables: get(b"pagetables"),
            sec_page_tables: get(b"sec_pagetables"),
            percpu: get(b"percpu"),
            // In meminfo this figure includes the stacks.
            vmalloc: get(b"vmalloc").and_then(|n| Ok(n.saturating_add(get(b"kernel_stack")?))),
            anon_huge: get(b"anon_thp"),
            shmem_huge: get(b"shmem_thp"),
            file_huge: get(b"file_thp"),
            scan_kswapd: stat.pages(b"pgscan_kswapd"),
            steal_kswapd: stat.pages(b"pgsteal_kswapd"),
            scan_direct: stat.pages(b"pgscan_direct"),
            steal_direct: stat.pages(b"pgsteal_direct"),
            refault_anon: stat.pages(b"workingset_refault_anon"),
            refault_file: stat.pages(b"workingset_refault_file"),
            zswap_written: stat.pages(b"zswpwb"),
            oom_kill: self.events.oom_kill,
            psi: self.pressure.map(system::psi),
            stalled: self.stalled,
            uptime: host.uptime,
            loadavg: host.loadavg,
            limit: host.limit,
            ..SystemSample::missing(Missing::Unsupported)
        };
        system.scope = Some(Box::new(scope));
        Some(system)
    }

    /// Returns the inputs of the account that exist for a cgroup.
    pub fn accounting(&self) -> AccountingInputs {
        AccountingInputs {
            pressure: self.pressure,
            ..AccountingInputs::missing(Missing::Unsupported)
        }
    }
}

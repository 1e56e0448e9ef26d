//! Figures of the system as a whole. Each file is read on its own, so that a fault in one, or a read that never
//! returns, costs its own fields only.

pub mod accounting;
pub mod memory;
pub mod memory_mounts;
pub mod swaps;
pub mod zram;

use std::sync::Arc;

use procfs::prelude::FromRead;

use super::cgroup::{self, figures};
use super::files::{self, Roots};
use crate::model::system::Psi;
use crate::model::{CgroupFigures, Missing, Reading, SystemSample};

/// The machine: its figures and its identity.
#[derive(Clone, Debug)]
pub struct Machine {
    /// Its figures.
    pub sample: SystemSample,
    /// Its name, raw.
    pub host: Arc<[u8]>,
    /// `/proc/sys/kernel/random/boot_id`.
    pub boot_id: Reading<Arc<str>>,
    /// Counters that tell if any process did something.
    pub page_events: PageEvents,
}

/// Events of pages on the whole machine, of `/proc/vmstat`. The kernel counts each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PageEvents {
    /// Page faults; `None` where they are not counted.
    pub faults: Option<u64>,
    /// Anonymous pages taken back from processes, swapped in or collapsed, which their processes need not run for.
    pub taken: u64,
}

impl Default for Machine {
    fn default() -> Self {
        Self {
            sample: SystemSample::missing(Missing::Pending),
            host: Arc::default(),
            boot_id: Err(Missing::Pending),
            page_events: PageEvents::default(),
        }
    }
}

/// The result of reading one file, to be applied to [`Machine`].
pub type MachineUpdate = Box<dyn FnOnce(&mut Machine) + Send>;

/// A file, or a few that belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SystemFile {
    /// `/proc/meminfo`.
    Meminfo,
    /// `/proc/vmstat`.
    Vmstat,
    /// `/proc/spl/kstat/zfs/arcstats`.
    Arcstats,
    /// `/proc/swaps`.
    Swaps,
    /// `/sys/block/zram*/mm_stat`.
    Zram,
    /// `/proc/pressure/memory`.
    Pressure,
    /// `/proc/uptime`.
    Uptime,
    /// `/proc/loadavg`.
    Loadavg,
    /// The host's name.
    Host,
    /// `/proc/sys/kernel/random/boot_id`.
    BootId,
    /// `/proc/self/cgroup`, and the figures of that cgroup and those above it.
    Limit,
}

impl SystemFile {
    /// Every file.
    pub const ALL: [Self; 11] = [
        Self::Meminfo,
        Self::Vmstat,
        Self::Arcstats,
        Self::Swaps,
        Self::Zram,
        Self::Pressure,
        Self::Uptime,
        Self::Loadavg,
        Self::Host,
        Self::BootId,
        Self::Limit,
    ];

    /// Returns the path below the proc tree.
    const fn path(self) -> &'static str {
        match self {
            Self::Meminfo => "meminfo",
            Self::Vmstat => "vmstat",
            Self::Arcstats => "spl/kstat/zfs/arcstats",
            Self::Swaps => "swaps",
            Self::Pressure => "pressure/memory",
            Self::Uptime => "uptime",
            Self::Loadavg => "loadavg",
            Self::Host => "sys/kernel/hostname",
            Self::BootId => "sys/kernel/random/boot_id",
            Self::Limit => "self/cgroup",
            Self::Zram => "",
        }
    }

    /// Reads it. A file that does not exist is [`Missing::Unsupported`].
    pub fn read(self, roots: &Roots, buf: &mut [u8]) -> MachineUpdate {
        if self == Self::Zram {
            let devices = roots.sys.as_deref().map(zram::read).unwrap_or_default();
            return update(devices, |m, devices| m.sample.zram = devices);
        }
        if self == Self::Host && roots.is_own() {
            return host(rustix::system::uname().nodename().to_bytes());
        }
        let path = roots.proc.join(self.path());
        let bytes = files::slurp(path.as_os_str().as_encoded_bytes(), buf).map_err(files::optional_reason);
        match self {
            Self::Limit => limit(bytes.and_then(|bytes| {
                let mounts = figures::mounts(roots)?;
                let path = cgroup::charged(bytes, mounts.version)?;
                Ok(figures::tightest(&mounts, path))
            })),
            Self::Host if bytes.is_err() => host(rustix::system::uname().nodename().to_bytes()),
            _ => self.parse(bytes),
        }
    }

    /// Parses its bytes; if there are none, everything it holds is missing for that reason.
    pub fn parse(self, bytes: Reading<&[u8]>) -> MachineUpdate {
        match self {
            Self::Meminfo => memory::meminfo(bytes),
            Self::Vmstat => memory::vmstat(bytes),
            Self::Arcstats => memory::arcstats(bytes),
            Self::Swaps => update(bytes.and_then(swaps::parse), |m, swaps| m.sample.swaps = swaps),
            Self::Zram => update((), |m, ()| m.sample.zram.clear()),
            Self::Pressure => update(bytes.and_then(pressure), |m, psi| m.sample.psi = psi),
            Self::Uptime => update(bytes.and_then(uptime), |m, uptime| m.sample.uptime = uptime),
            Self::Loadavg => update(bytes.and_then(loadavg), |m, loads| m.sample.loadavg = loads),
            Self::Host => bytes.map_or_else(|_| update((), |_, ()| {}), host),
            Self::BootId => update(bytes.and_then(boot_id), |m, id| m.boot_id = id),
            // The bytes only name a cgroup, whose figures are in other files.
            Self::Limit => limit(bytes.and(Err(Missing::Unsupported))),
        }
    }
}

/// Returns an update that sets `value`.
fn update<T: Send + 'static>(value: T, set: fn(&mut Machine, T)) -> MachineUpdate {
    Box::new(move |machine| set(machine, value))
}

fn limit(figures: Reading<CgroupFigures>) -> MachineUpdate {
    let figures = figures.unwrap_or_else(CgroupFigures::missing);
    update(figures, |m, figures| m.sample.limit = figures)
}

fn host(name: &[u8]) -> MachineUpdate {
    update(name.trim_ascii_end().into(), |m, name| m.host = name)
}

fn boot_id(bytes: &[u8]) -> Reading<Arc<str>> {
    let id = bytes.trim_ascii();
    let well_formed = (1..=64).contains(&id.len()) && id.iter().all(|b| b.is_ascii_hexdigit() || *b == b'-');
    match str::from_utf8(id) {
        Ok(id) if well_formed => Ok(id.into()),
        _ => Err(Missing::Malformed),
    }
}

fn uptime(bytes: &[u8]) -> Reading<f64> {
    procfs::Uptime::from_read(bytes)
        .ok()
        .map(|u| u.uptime)
        .filter(|s| s.is_finite() && *s >= 0.0)
        .ok_or(Missing::Malformed)
}

fn loadavg(bytes: &[u8]) -> Reading<[f32; 3]> {
    procfs::LoadAverage::from_read(bytes)
        .ok()
        .map(|l| [l.one, l.five, l.fifteen])
        .filter(|l| l.iter().all(|x| x.is_finite() && *x >= 0.0))
        .ok_or(Missing::Malformed)
}

fn pressure(bytes: &[u8]) -> Reading<Psi> {
    // procfs cuts each line at its fifth byte without a check, and would panic.
    let lines = bytes.split(|b| *b == b'\n').take(2);
    if !bytes.is_ascii() || lines.into_iter().any(|line| line.len() < 5) {
        return Err(Missing::Malformed);
    }
    procfs::MemoryPressure::from_read(bytes)
        .ok()
        .map(|p| Psi {
            some_avg10: p.some.avg10,
            full_avg10: p.full.avg10,
        })
        .filter(|p| p.some_avg10.is_finite() && p.full_avg10.is_finite())
        .ok_or(Missing::Malformed)
}

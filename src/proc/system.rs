//! The system as a whole. Each file is read for itself, so that a fault in one, or a read that never
//! returns, is the reason of its own fields only.

pub mod accounting;
pub mod memory;
pub mod swaps;
pub mod zram;

use std::sync::Arc;

use procfs::prelude::FromRead;
use rustix::io::Errno;

use super::cgroup::{self, figures};
use super::files::{self, Roots};
use crate::model::system::Psi;
use crate::model::{CgroupFigures, Missing, Reading, SystemSample};

/// What is known of the machine.
#[derive(Clone, Debug)]
pub struct Machine {
    /// Its figures.
    pub sample: SystemSample,
    /// Its name, raw.
    pub host: Arc<[u8]>,
    /// `/proc/sys/kernel/random/boot_id`.
    pub boot_id: Reading<Arc<str>>,
}

impl Default for Machine {
    fn default() -> Self {
        Self {
            sample: SystemSample::missing(Missing::Pending),
            host: Arc::default(),
            boot_id: Err(Missing::Pending),
        }
    }
}

/// What one file told, to be put in its place.
pub type Portion = Box<dyn FnOnce(&mut Machine) + Send>;

/// One thing to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    /// `/proc/meminfo`.
    Meminfo,
    /// `/proc/vmstat`.
    Vmstat,
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
    /// The cgroup that holds zmtop itself: `/proc/self/cgroup`, and the figures of that and those above it.
    Limit,
}

impl Part {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Meminfo,
        Self::Vmstat,
        Self::Swaps,
        Self::Zram,
        Self::Pressure,
        Self::Uptime,
        Self::Loadavg,
        Self::Host,
        Self::BootId,
        Self::Limit,
    ];

    /// Where it is below the proc tree.
    const fn path(self) -> &'static str {
        match self {
            Self::Meminfo => "meminfo",
            Self::Vmstat => "vmstat",
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

    /// Reads it. A file that is not there is [`Missing::Unsupported`].
    pub fn read(self, roots: &Roots, buf: &mut [u8]) -> Portion {
        if self == Self::Zram {
            let devices = roots.sys.as_deref().map(zram::read).unwrap_or_default();
            return Box::new(move |m| m.sample.zram = devices);
        }
        if self == Self::Host && roots.is_own() {
            return host(rustix::system::uname().nodename().to_bytes());
        }
        let path = roots.proc.join(self.path());
        let bytes = files::slurp(path.as_os_str().as_encoded_bytes(), buf).map_err(|e| match e {
            // Where pressure is built in but switched off, reading it is not supported.
            Errno::NOENT | Errno::NOTDIR | Errno::OPNOTSUPP => Missing::Unsupported,
            other => files::reason(other),
        });
        if self == Self::Limit {
            return limit(bytes.and_then(|bytes| {
                let mounts = figures::mounts(roots)?;
                let path = cgroup::charged(bytes, mounts.version)?;
                Ok(figures::tightest(&mounts, path))
            }));
        }
        if self == Self::Host && bytes.is_err() {
            return host(rustix::system::uname().nodename().to_bytes());
        }
        self.parse(bytes)
    }

    /// What `bytes`, or the reason that there are none, tell.
    pub fn parse(self, bytes: Reading<&[u8]>) -> Portion {
        match self {
            Self::Meminfo => memory::meminfo(bytes),
            Self::Vmstat => memory::vmstat(bytes),
            Self::Swaps => {
                let swaps = bytes.and_then(swaps::parse);
                Box::new(move |m| m.sample.swaps = swaps)
            }
            Self::Zram => Box::new(|m| m.sample.zram.clear()),
            Self::Pressure => {
                let psi = bytes.and_then(pressure);
                Box::new(move |m| m.sample.psi = psi)
            }
            Self::Uptime => {
                let uptime = bytes.and_then(uptime);
                Box::new(move |m| m.sample.uptime = uptime)
            }
            Self::Loadavg => {
                let loadavg = bytes.and_then(loadavg);
                Box::new(move |m| m.sample.loadavg = loadavg)
            }
            Self::Host => bytes.map_or_else(|_| Box::new(|_: &mut Machine| {}) as Portion, host),
            Self::BootId => {
                let id = bytes.and_then(boot_id);
                Box::new(move |m| m.boot_id = id)
            }
            // The bytes alone name a cgroup, whose figures are elsewhere.
            Self::Limit => limit(bytes.and(Err(Missing::Unsupported))),
        }
    }
}

fn limit(figures: Reading<CgroupFigures>) -> Portion {
    let figures = figures.unwrap_or_else(CgroupFigures::missing);
    Box::new(move |m| m.sample.limit = figures)
}

fn host(name: &[u8]) -> Portion {
    let name: Arc<[u8]> = name.trim_ascii_end().into();
    Box::new(move |m| m.host = name)
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
    // The crate cuts each line at its fifth byte without looking.
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

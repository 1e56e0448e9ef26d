//! Figures of the system as a whole: `meminfo`, `vmstat`, ZFS's `arcstats`, `swaps`, zram, pressure, load, uptime.
//!
//! Each file is read separately, so that a malformed file, or a read that never returns, affects its own fields only.

use std::path::Path;
use std::sync::Arc;

use procfs::prelude::FromRead;

use super::cgroup::{self, figures};
use super::files::{self, Roots};
use super::parse::{kib, number, unescape_octal, words, words_after};
use crate::model::system::{FigureSource, Pressure, SwapArea, Zram};
use crate::model::{CgroupFigures, Missing, Reading, SystemSample};
use crate::order;

#[derive(Clone, Debug)]
pub struct Machine {
    pub sample: SystemSample,
    /// Raw.
    pub host: Arc<[u8]>,
    /// `/proc/sys/kernel/random/boot_id`.
    pub boot_id: Reading<Arc<str>>,
    /// Counters that show whether any process was active.
    pub page_events: PageEvents,
}

/// Page events on the whole machine, from `/proc/vmstat`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PageEvents {
    /// Page faults; `None` if the kernel does not count them.
    pub faults: Option<u64>,
    /// Anonymous pages reclaimed, swapped in or collapsed. Their processes need not run for that.
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

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SystemFile {
    Meminfo,
    Vmstat,
    Arcstats,
    Swaps,
    /// `/sys/block/zram*/mm_stat`.
    Zram,
    Pressure,
    Uptime,
    Loadavg,
    Host,
    BootId,
    /// `/proc/self/cgroup`, and the figures of that cgroup and those above it.
    Limit,
}

impl SystemFile {
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

    /// Reads the file. A file that does not exist is [`Missing::Unsupported`].
    pub fn read(self, roots: &Roots, buf: &mut [u8]) -> MachineUpdate {
        if self == Self::Zram {
            let devices = roots.sys.as_deref().map(zram).unwrap_or_default();
            return update(devices, |m, devices| m.sample.zram = devices);
        }
        if self == Self::Host && roots.is_own() {
            return host(rustix::system::uname().nodename().to_bytes());
        }
        let path = roots.proc.join(self.path());
        let bytes = files::slurp(path.as_os_str().as_encoded_bytes(), buf).map_err(files::optional_reason);
        match self {
            Self::Limit => limit(&bytes.and_then(|bytes| {
                let mounts = figures::mounts(roots)?;
                let path = cgroup::charged(bytes, mounts.version)?;
                Ok(figures::tightest(&mounts, path))
            })),
            Self::Host if bytes.is_err() => host(rustix::system::uname().nodename().to_bytes()),
            _ => self.parse(bytes),
        }
    }

    /// Parses the file's bytes. If they are missing, so are all its figures, for the same reason.
    pub fn parse(self, bytes: Reading<&[u8]>) -> MachineUpdate {
        match self {
            Self::Meminfo => meminfo(bytes),
            Self::Vmstat => vmstat(bytes),
            Self::Arcstats => arcstats(bytes),
            Self::Swaps => update(bytes.and_then(swaps), |m, swaps| m.sample.swaps = swaps),
            Self::Zram => update((), |m, ()| m.sample.zram.clear()),
            Self::Pressure => {
                let found = bytes.and_then(pressure).map(psi);
                update((found, bytes.and_then(figures::stalls)), |m, (pressure, stalls)| {
                    (m.sample.psi, m.sample.stalled) = (pressure, stalls);
                })
            }
            Self::Uptime => update(bytes.and_then(uptime), |m, uptime| m.sample.uptime = uptime),
            Self::Loadavg => update(bytes.and_then(loadavg), |m, loads| m.sample.loadavg = loads),
            Self::Host => bytes.map_or_else(|_| update((), |_, ()| {}), host),
            Self::BootId => update(bytes.and_then(boot_id), |m, id| m.boot_id = id),
            // The bytes only name a cgroup; its figures are in other files.
            Self::Limit => limit(&bytes.and(Err(Missing::Unsupported))),
        }
    }
}

fn update<T: Send + 'static>(value: T, set: fn(&mut Machine, T)) -> MachineUpdate {
    Box::new(move |machine| set(machine, value))
}

fn limit(figures: &Reading<CgroupFigures>) -> MachineUpdate {
    update(figures.unwrap_or_else(CgroupFigures::missing), |m, figures| {
        m.sample.limit = figures;
    })
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
    let uptime = procfs::Uptime::from_read(bytes).map(|uptime| uptime.uptime).ok();
    uptime
        .filter(|seconds| seconds.is_finite() && *seconds >= 0.0)
        .ok_or(Missing::Malformed)
}

fn loadavg(bytes: &[u8]) -> Reading<[f32; 3]> {
    let loads = procfs::LoadAverage::from_read(bytes).map(|load| [load.one, load.five, load.fifteen]);
    loads
        .ok()
        .filter(|loads| loads.iter().all(|load| load.is_finite() && *load >= 0.0))
        .ok_or(Missing::Malformed)
}

fn decimal(word: &[u8]) -> Option<f64> {
    let number: f64 = str::from_utf8(word).ok()?.parse().ok()?;
    (number.is_finite() && number >= 0.0).then_some(number)
}

/// Parses a `pressure/memory`: `some avg10=0.00 avg60=0.00 avg300=0.00 total=0` and the same line for `full`.
pub(super) fn pressure(bytes: &[u8]) -> Reading<Pressure> {
    let line = |name: &[u8]| {
        let line = bytes.split(|b| *b == b'\n').find_map(|l| l.strip_prefix(name))?;
        let value = |key: &[u8]| Some(decimal(words(line).find_map(|w| w.strip_prefix(key))?)? as f32);
        Some([value(b"avg10=")?, value(b"avg60=")?, value(b"avg300=")?])
    };
    match (line(b"some "), line(b"full ")) {
        (Some(some), Some(full)) => Ok(Pressure { some, full }),
        _ => Err(Missing::Malformed),
    }
}

/// Keeps the averages of the last 10 s.
pub(super) fn psi(pressure: Pressure) -> Pressure<1> {
    let first = |[avg10, ..]: [f32; 3]| [avg10];
    Pressure {
        some: first(pressure.some),
        full: first(pressure.full),
    }
}

/// The lines of `vmstat` that [`PageEvents::taken`] sums up. Not every kernel has all of them.
const TAKEN: [&str; 4] = ["pgsteal_anon", "pswpin", "pswpout", "thp_collapse_alloc"];

struct Lines<'a>(Vec<(&'a [u8], &'a [u8])>);

impl<'a> Lines<'a> {
    /// Splits each line at its first `separator`. Lines without one are skipped.
    fn split(bytes: &'a [u8], separator: u8) -> Self {
        let lines = bytes.split(|b| *b == b'\n').filter_map(|line| {
            let at = line.iter().position(|b| *b == separator)?;
            Some((&line[..at], &line[at + 1..]))
        });
        Self(lines.collect())
    }

    /// Returns the parsed value of the first line of that name. A malformed line affects its own figure only.
    fn get(&self, name: &str, parse: fn(&[u8]) -> Option<u64>) -> Reading<u64> {
        let line = self.0.iter().find(|(found, _)| *found == name.as_bytes());
        let (_, value) = line.ok_or(Missing::Unsupported)?;
        parse(value.trim_ascii()).ok_or(Missing::Malformed)
    }
}

fn meminfo(bytes: Reading<&[u8]>) -> MachineUpdate {
    let lines = bytes.map(|bytes| Lines::split(bytes, b':'));
    let get = |name: &str, parse| lines.as_ref().map_err(|why| *why)?.get(name, parse);
    update_figures(|source| match source {
        FigureSource::Meminfo(names) => {
            let add = |sum: u64, name: &&str| Ok(sum.saturating_add(get(name, kib)?));
            Some(names.iter().try_fold(0, add))
        }
        FigureSource::HugePages(name) => Some(get(name, number).and_then(|count| {
            let size = get("Hugepagesize", kib)?;
            Ok(count.saturating_mul(size))
        })),
        // A kernel that also reports the largest free chunk counts address space, not pages.
        FigureSource::Vmalloc => Some(match (get("VmallocUsed", kib), get("VmallocChunk", kib)) {
            (Ok(0), _) | (Ok(_), Ok(1..)) => Err(Missing::Unsupported),
            (used, _) => used,
        }),
        FigureSource::VmstatPages(_) | FigureSource::VmstatCount(_) | FigureSource::Arcstats(_) => None,
    })
}

/// Parses ZFS's `arcstats`: lines of a name, a type number and a value. A line without a newline is ignored, since part
/// of its number would look like a whole one.
fn arcstats(bytes: Reading<&[u8]>) -> MachineUpdate {
    let value = |name: &str| {
        let bytes = bytes?;
        let end = bytes.iter().rposition(|b| *b == b'\n').unwrap_or(0);
        let line = words_after(&bytes[..end], name.as_bytes());
        line.and_then(|mut words| number(words.nth(1)?))
            .ok_or(Missing::Malformed)
    };
    update_figures(|source| match source {
        FigureSource::Arcstats(names) => {
            let add = |sum: u64, name: &&str| Ok(sum.saturating_add(value(name)?));
            Some(names.iter().try_fold(0, add))
        }
        _ => None,
    })
}

fn vmstat(bytes: Reading<&[u8]>) -> MachineUpdate {
    let page = rustix::param::page_size() as u64;
    let lines = bytes.map(|bytes| Lines::split(bytes, b' '));
    let get = |name: &str| lines.as_ref().map_err(|why| *why)?.get(name, number);
    let page_events = PageEvents {
        faults: get("pgfault").ok(),
        taken: TAKEN
            .iter()
            .filter_map(|name| get(name).ok())
            .fold(0, u64::wrapping_add),
    };
    let figures = update_figures(|source| match source {
        FigureSource::VmstatCount(name) => Some(get(name)),
        FigureSource::VmstatPages(name) => {
            Some(get(name).and_then(|pages| pages.checked_mul(page).ok_or(Missing::Malformed)))
        }
        FigureSource::Meminfo(_) | FigureSource::HugePages(_) | FigureSource::Vmalloc | FigureSource::Arcstats(_) => {
            None
        }
    });
    Box::new(move |machine| {
        figures(machine);
        machine.page_events = page_events;
    })
}

/// Sets every figure whose source `read` knows.
fn update_figures(read: impl Fn(FigureSource) -> Option<Reading<u64>>) -> MachineUpdate {
    let figures = SystemSample::FIGURES.iter();
    let values: Vec<_> = figures
        .filter_map(|figure| Some((figure.field, read(figure.source)?)))
        .collect();
    Box::new(move |machine| {
        for (field, value) in values {
            *field(&mut machine.sample) = value;
        }
    })
}

/// Parses `/proc/swaps`.
///
/// A heading comes first, then one line for each area: path (blanks and backslashes escaped as `\040` and the like),
/// kind, size and use in KiB, and priority. One malformed line makes the whole file malformed, since a sum over the
/// rest would be wrong.
fn swaps(bytes: &[u8]) -> Reading<Vec<SwapArea>> {
    let mut lines = bytes.split(|b| *b == b'\n').filter(|line| !line.is_empty());
    if !lines.next().is_some_and(|titles| titles.starts_with(b"Filename")) {
        return Err(Missing::Malformed);
    }
    lines.map(|line| area(line).ok_or(Missing::Malformed)).collect()
}

fn area(line: &[u8]) -> Option<SwapArea> {
    let mut words = words(line);
    let path = words.next()?;
    let kind = str::from_utf8(words.next()?).ok()?;
    let mut kib = || words.next().and_then(number)?.checked_mul(1024);
    Some(SwapArea {
        path: unescape_octal(path).into(),
        kind: kind.into(),
        size: kib()?,
        used: kib()?,
        priority: match words.next() {
            None => Err(Missing::Unsupported),
            Some(word) => str::from_utf8(word)
                .ok()
                .and_then(|w| w.parse().ok())
                .ok_or(Missing::Malformed),
        },
    })
}

/// Figures from a device's `mm_stat`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MmStat {
    /// `orig_data_size`, in bytes.
    pub stored: u64,
    /// `mem_used_total`, in bytes.
    pub used: u64,
    /// `mem_limit`, in bytes; 0 for none.
    pub limit: Reading<u64>,
    pub same_pages: Reading<u64>,
}

/// Reads the zram devices of the sysfs at `sys`, sorted by name. The list is empty without the driver. A device whose
/// figures cannot be read is left out.
fn zram(sys: &Path) -> Vec<Zram> {
    let zram = |(name, stat): (Box<str>, MmStat)| Zram {
        name,
        stored: stat.stored,
        compressed: stat.used,
        limit: stat.limit.ok().filter(|bytes| *bytes > 0),
        is_swap: false,
    };
    zram_devices(sys).into_iter().map(zram).collect()
}

/// Reads the devices' names and figures, sorted by name.
pub(super) fn zram_devices(sys: &Path) -> Vec<(Box<str>, MmStat)> {
    let block = sys.join("block");
    let mut names = Vec::new();
    let listed = files::names(block.as_os_str().as_encoded_bytes(), |name| {
        let number = name.strip_prefix(b"zram").unwrap_or_default();
        if !number.is_empty() && number.iter().all(u8::is_ascii_digit) {
            names.extend(str::from_utf8(name).map(Box::<str>::from));
        }
    });
    if listed.is_err() {
        return Vec::new();
    }
    order::sort_by_key(&mut names, |name| (name.len(), name.clone()));
    let device = |name: Box<str>| {
        let path = block.join(&*name).join("mm_stat");
        let mut buf = [0; 512];
        let bytes = files::slurp(path.as_os_str().as_encoded_bytes(), &mut buf).ok()?;
        Some((name, mm_stat(bytes)?))
    };
    names.into_iter().filter_map(device).collect()
}

/// Parses an `mm_stat`. Older kernels write fewer fields.
pub fn mm_stat(bytes: &[u8]) -> Option<MmStat> {
    let fields: Vec<_> = words(bytes).map(number).collect();
    let later = |at: usize| fields.get(at).ok_or(Missing::Unsupported)?.ok_or(Missing::Malformed);
    Some(MmStat {
        stored: (*fields.first()?)?,
        used: (*fields.get(2)?)?,
        limit: later(3),
        same_pages: later(5),
    })
}

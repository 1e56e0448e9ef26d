//! Reads and parses the inputs of the account of the system: see [`AccountingInputs`].

use std::path::Path;

use rustix::io::Errno;

use crate::model::system::AccountingInputs;
use crate::model::system::accounting::{HugePool, Ksm, Pressure, Zones, ZramDevice};
use crate::model::{Missing, Reading};
use crate::proc::files::{self, Roots};
use crate::proc::parse::{number, words};

/// Puts what one file or directory says into its place.
pub type Portion = Box<dyn FnOnce(&mut AccountingInputs) + Send>;

/// A file or directory; each is read for itself, so that one that never returns costs its own figures only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// `/proc/zoneinfo`.
    Zones,
    /// `/sys/block/zram*`.
    Zram,
    /// `/sys/kernel/mm/hugepages`.
    Huge,
    /// `/sys/kernel/mm/transparent_hugepage/enabled`.
    Thp,
    /// `/sys/kernel/mm/ksm`.
    Ksm,
    /// `/sys/module/zswap/parameters/enabled`.
    Zswap,
    /// `/proc/pressure/memory`.
    Pressure,
}

impl Part {
    /// Lists all of them.
    pub const ALL: [Self; 7] = [
        Self::Zones,
        Self::Zram,
        Self::Huge,
        Self::Thp,
        Self::Ksm,
        Self::Zswap,
        Self::Pressure,
    ];

    /// Reads it. What is not there is [`Missing::Unsupported`].
    pub fn read(self, roots: &Roots) -> Portion {
        let sys = roots.sys.as_deref().ok_or(Missing::Unsupported);
        match self {
            Self::Zones => {
                let zones = text(&roots.proc, "zoneinfo").and_then(|t| zoneinfo(&t));
                Box::new(move |d| d.zones = zones)
            }
            Self::Zram => {
                let zram = sys.map(zram);
                Box::new(move |d| d.zram = zram)
            }
            Self::Huge => {
                let pools = sys.and_then(huge);
                Box::new(move |d| d.huge = pools)
            }
            Self::Thp => {
                let thp = sys.and_then(|s| text(s, "kernel/mm/transparent_hugepage/enabled"));
                let thp = thp.and_then(|t| chosen(&t));
                Box::new(move |d| d.thp = thp)
            }
            Self::Ksm => {
                let ksm = sys.and_then(ksm);
                Box::new(move |d| d.ksm = ksm)
            }
            Self::Zswap => {
                let on = sys.and_then(|s| text(s, "module/zswap/parameters/enabled"));
                let on = on.and_then(|t| match t.trim_ascii() {
                    b"Y" | b"1" => Ok(true),
                    b"N" | b"0" => Ok(false),
                    _ => Err(Missing::Malformed),
                });
                Box::new(move |d| d.zswap_on = on)
            }
            Self::Pressure => {
                let found = text(&roots.proc, "pressure/memory").and_then(|t| pressure(&t));
                Box::new(move |d| d.pressure = found)
            }
        }
    }

    /// Returns what it says where it was not read, for `why`.
    pub fn missing(self, why: Missing) -> Portion {
        Box::new(move |d| match self {
            Self::Zones => d.zones = Err(why),
            Self::Zram => d.zram = Err(why),
            Self::Huge => d.huge = Err(why),
            Self::Thp => d.thp = Err(why),
            Self::Ksm => d.ksm = Err(why),
            Self::Zswap => d.zswap_on = Err(why),
            Self::Pressure => d.pressure = Err(why),
        })
    }
}

/// Reads a whole file; of `zoneinfo` a thousand processors' worth.
fn text(root: &Path, name: &str) -> Reading<Vec<u8>> {
    let path = root.join(name);
    let mut buf = vec![0; if name == "zoneinfo" { 4 << 20 } else { 4096 }];
    let read = files::slurp(path.as_os_str().as_encoded_bytes(), &mut buf);
    let len = read.map(<[u8]>::len).map_err(|e| match e {
        Errno::NOENT | Errno::NOTDIR | Errno::OPNOTSUPP => Missing::Unsupported,
        other => files::reason(other),
    })?;
    buf.truncate(len);
    Ok(buf)
}

fn figure(root: &Path, name: &str) -> Reading<u64> {
    number(text(root, name)?.trim_ascii()).ok_or(Missing::Malformed)
}

/// Parses `zoneinfo` into the sums over all zones of `present`, `managed` and each processor's `count`.
pub fn zoneinfo(bytes: &[u8]) -> Reading<Zones> {
    let page = rustix::param::page_size() as u64;
    let mut zones = Zones::default();
    let mut any = false;
    for line in bytes.split(|b| *b == b'\n') {
        let mut words = words(line);
        let sum = match words.next() {
            Some(b"present") => &mut zones.present,
            Some(b"managed") => &mut zones.managed,
            Some(b"count:") => &mut zones.free_lists,
            _ => continue,
        };
        any = true;
        let pages = words.next().and_then(number);
        *sum = pages
            .and_then(|n| n.checked_mul(page))
            .and_then(|n| sum.checked_add(n))
            .ok_or(Missing::Malformed)?;
    }
    if any { Ok(zones) } else { Err(Missing::Malformed) }
}

fn zram(sys: &Path) -> Vec<ZramDevice> {
    let page = 4096; // The unit of bd_stat, whatever the processor's page is.
    let device = |found: crate::model::system::Zram| {
        let dir = sys.join("block").join(&*found.name);
        ZramDevice {
            size: figure(&dir, "disksize"),
            on_disk: text(&dir, "bd_stat").and_then(|t| {
                let count = words(&t).next().and_then(number);
                count.and_then(|n| n.checked_mul(page)).ok_or(Missing::Malformed)
            }),
            name: found.name,
            stored: found.stored,
            used: found.compressed,
        }
    };
    super::zram::read(sys).into_iter().map(device).collect()
}

/// Reads the pools in `hugepages-2048kB` and their like.
fn huge(sys: &Path) -> Reading<Vec<HugePool>> {
    let dir = sys.join("kernel/mm/hugepages");
    let mut sizes = Vec::new();
    let listed = files::names(dir.as_os_str().as_encoded_bytes(), |name| {
        let size = name.strip_prefix(b"hugepages-").and_then(|n| n.strip_suffix(b"kB"));
        sizes.extend(size.and_then(number));
    });
    listed.map_err(|e| match e {
        Errno::NOENT | Errno::NOTDIR => Missing::Unsupported,
        other => files::reason(other),
    })?;
    sizes.sort_unstable();
    let pool = |kib: u64| {
        let dir = dir.join(format!("hugepages-{kib}kB"));
        let page = kib.checked_mul(1024).ok_or(Missing::Malformed)?;
        let of = |count: u64| count.checked_mul(page).ok_or(Missing::Malformed);
        Ok(HugePool {
            page,
            total: of(figure(&dir, "nr_hugepages")?)?,
            free: of(figure(&dir, "free_hugepages")?)?,
        })
    };
    sizes.into_iter().map(pool).collect()
}

/// Parses the word in brackets of `always [madvise] never`.
fn chosen(bytes: &[u8]) -> Reading<Box<str>> {
    let chosen = words(bytes).find_map(|w| w.strip_prefix(b"[")?.strip_suffix(b"]"));
    chosen
        .filter(|w| !w.is_empty() && w.iter().all(u8::is_ascii_lowercase))
        .and_then(|w| str::from_utf8(w).ok())
        .map(Into::into)
        .ok_or(Missing::Malformed)
}

fn ksm(sys: &Path) -> Reading<Ksm> {
    let dir = sys.join("kernel/mm/ksm");
    let page = rustix::param::page_size() as u64;
    let pages = |name| figure(&dir, name)?.checked_mul(page).ok_or(Missing::Malformed);
    Ok(Ksm {
        on: figure(&dir, "run")? == 1,
        shared: pages("pages_shared")?,
        saved: pages("pages_sharing")?,
    })
}

/// Parses `some avg10=0.00 avg60=0.00 avg300=0.00 total=0` and the same of `full`.
fn pressure(bytes: &[u8]) -> Reading<Pressure> {
    let line = |name: &[u8]| {
        let line = bytes.split(|b| *b == b'\n').find_map(|l| l.strip_prefix(name))?;
        let value = |key: &[u8]| -> Option<f32> {
            let word = words(line).find_map(|w| w.strip_prefix(key))?;
            let x: f32 = str::from_utf8(word).ok()?.parse().ok()?;
            (x.is_finite() && x >= 0.0).then_some(x)
        };
        Some([value(b"avg10=")?, value(b"avg60=")?, value(b"avg300=")?])
    };
    match (line(b"some "), line(b"full ")) {
        (Some(some), Some(full)) => Ok(Pressure { some, full }),
        _ => Err(Missing::Malformed),
    }
}

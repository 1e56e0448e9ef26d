//! The [`AccountingInputs`] of the system's account, and the file systems that are kept in memory.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{fstat, fstatfs, makedev};
use rustix::io::Errno;

use super::files::{self, Roots};
use super::namespace::Namespace;
use super::parse::{mount_lines, number, unescape_octal, words, words_after};
use super::system::{self, MmStat};
use crate::model::system::{AccountingInputs, HugePool, Ksm, Sockets, SysvCreator, SysvShm, Zones, ZramDevice};
use crate::model::{Missing, Reading};

/// The result of reading one input, to be applied to [`AccountingInputs`].
pub type InputUpdate = Box<dyn FnOnce(&mut AccountingInputs) + Send>;

/// Defines the inputs: variant, field of the result, and read function.
macro_rules! define_inputs {
    ($($input:ident: $field:ident = $read:expr,)*) => {
        /// A file or a directory that only the account of the system needs. Each is read separately, so that a read
        /// that never returns affects its own figures only.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum AccountingFile {
            $($input,)*
        }

        impl AccountingFile {
            pub const ALL: &[Self] = &[$(Self::$input,)*];

            /// Reads the input. A file that does not exist is [`Missing::Unsupported`].
            pub fn read(self, roots: &Roots) -> InputUpdate {
                match self {
                    $(Self::$input => {
                        let read: fn(&Roots) -> _ = $read;
                        let value = read(roots);
                        Box::new(move |inputs| inputs.$field = value)
                    })*
                }
            }

            pub fn missing(self, why: Missing) -> InputUpdate {
                match self {
                    $(Self::$input => Box::new(move |inputs| inputs.$field = Err(why)),)*
                }
            }
        }
    };
}

define_inputs! {
    Zones: zones = |roots| zoneinfo(&read_file(&roots.proc, "zoneinfo")?),
    Zram: zram = |roots| sys(roots).map(zram),
    HugePages: huge = |roots| huge_pages(sys(roots)?),
    Thp: thp = |roots| chosen(&read_file(sys(roots)?, "kernel/mm/transparent_hugepage/enabled")?),
    Ksm: ksm = |roots| ksm(sys(roots)?),
    Zswap: zswap_on = |roots| switch(&read_file(sys(roots)?, "module/zswap/parameters/enabled")?),
    ZswapPercent: zswap_percent = |roots| read_number(sys(roots)?, "module/zswap/parameters/max_pool_percent"),
    ZswapSame: zswap_same_filled = |roots| pages(read_number(sys(roots)?, "kernel/debug/zswap/same_filled_pages")?),
    Pressure: pressure = |roots| system::pressure(&read_file(&roots.proc, "pressure/memory")?),
    Sockets: sockets = |roots| sockets(&read_file(&roots.proc, "net/sockstat")?),
    Sysv: sysv = |roots| {
        let path = roots.proc.join("sysvipc/shm");
        let bytes = files::slurp_grown(path.as_os_str().as_encoded_bytes(), 16 << 10, MAX_SYSV);
        sysv(&bytes.map_err(files::optional_reason)?)
    },
}

/// Maximum number of bytes read of `sysvipc/shm`: enough for about 10,000 segments.
const MAX_SYSV: usize = 2 << 20;

fn sys(roots: &Roots) -> Reading<&Path> {
    roots.sys.as_deref().ok_or(Missing::Unsupported)
}

/// Reads a whole file. The limit is enough for a `zoneinfo` with 1,000 CPUs.
fn read_file(root: &Path, name: &str) -> Reading<Vec<u8>> {
    let path = root.join(name);
    let mut buf = vec![0; if name == "zoneinfo" { 4 << 20 } else { 4096 }];
    let read = files::slurp(path.as_os_str().as_encoded_bytes(), &mut buf);
    let len = read.map(<[u8]>::len).map_err(files::optional_reason)?;
    buf.truncate(len);
    Ok(buf)
}

fn read_number(root: &Path, name: &str) -> Reading<u64> {
    number(read_file(root, name)?.trim_ascii()).ok_or(Missing::Malformed)
}

fn pages(count: u64) -> Reading<u64> {
    let page = rustix::param::page_size() as u64;
    count.checked_mul(page).ok_or(Missing::Malformed)
}

/// Parses a boolean parameter of a kernel module.
fn switch(bytes: &[u8]) -> Reading<bool> {
    match bytes.trim_ascii() {
        b"Y" | b"1" => Ok(true),
        b"N" | b"0" => Ok(false),
        _ => Err(Missing::Malformed),
    }
}

/// Parses `zoneinfo` into sums over all zones of `present`, `managed` and each CPU's `count`.
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
    let device = |(name, stat): (Box<str>, MmStat)| {
        let dir = sys.join("block").join(&*name);
        ZramDevice {
            size: read_number(&dir, "disksize"),
            on_disk: read_file(&dir, "bd_stat").and_then(|t| {
                let count = words(&t).next().and_then(number);
                count.and_then(|n| n.checked_mul(page)).ok_or(Missing::Malformed)
            }),
            name,
            stored: stat.stored,
            same_filled: stat.same_pages.and_then(pages),
            limit: stat.limit,
            used: stat.used,
        }
    };
    system::zram_devices(sys).into_iter().map(device).collect()
}

/// Reads the pools in `hugepages-2048kB` and the like.
fn huge_pages(sys: &Path) -> Reading<Vec<HugePool>> {
    let dir = sys.join("kernel/mm/hugepages");
    let mut sizes = Vec::new();
    let listed = files::names(dir.as_os_str().as_encoded_bytes(), |name| {
        let size = name.strip_prefix(b"hugepages-").and_then(|n| n.strip_suffix(b"kB"));
        sizes.extend(size.and_then(number));
    });
    listed.map_err(files::optional_reason)?;
    sizes.sort_unstable();
    let pool = |kib: u64| {
        let dir = dir.join(format!("hugepages-{kib}kB"));
        let page = kib.checked_mul(1024).ok_or(Missing::Malformed)?;
        let bytes = |count: u64| count.checked_mul(page).ok_or(Missing::Malformed);
        Ok(HugePool {
            page,
            total: bytes(read_number(&dir, "nr_hugepages")?)?,
            free: bytes(read_number(&dir, "free_hugepages")?)?,
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
    let pages = |name| pages(read_number(&dir, name)?);
    Ok(Ksm {
        on: read_number(&dir, "run")? == 1,
        shared: pages("pages_shared")?,
        saved: pages("pages_sharing")?,
    })
}

/// Parses `sockstat`. Each line is a protocol and pairs of a name and a number; `mem` is in pages.
pub fn sockets(bytes: &[u8]) -> Reading<Sockets> {
    let value = |protocol: &[u8], key: &[u8]| {
        let value = words_after(bytes, protocol).and_then(|mut words| {
            words.find(|word| *word == key)?;
            number(words.next()?)
        });
        value.ok_or(Missing::Malformed)
    };
    Ok(Sockets {
        tcp: pages(value(b"TCP:", b"mem")?)?,
        udp: pages(value(b"UDP:", b"mem")?)?,
        fragments: value(b"FRAG:", b"memory")?,
    })
}

/// Parses `sysvipc/shm`: a heading, then one line for each segment. One malformed line makes the whole file malformed,
/// since a sum over the rest would be wrong.
pub fn sysv(bytes: &[u8]) -> Reading<SysvShm> {
    let mut sum = SysvShm {
        creator: sysv_creator(bytes),
        ..SysvShm::default()
    };
    for segment in segments(bytes, [b"rss", b"swap", b"perms"])? {
        let [resident, swapped, mode] = segment?;
        // `SHM_LOCKED` is 02000. The digits are octal.
        let is_locked = (mode / 1000) & 2 != 0;
        let add = |a: u64, b: u64| a.checked_add(b).ok_or(Missing::Malformed);
        sum = SysvShm {
            segments: sum.segments + 1,
            resident: add(sum.resident, resident)?,
            swapped: add(sum.swapped, swapped)?,
            locked: add(sum.locked?, if is_locked { resident } else { 0 }),
            ..sum
        };
    }
    Ok(sum)
}

/// Finds the user whose segments have most RAM in `sysvipc/shm`; `NotAsked` if none has any.
fn sysv_creator(bytes: &[u8]) -> Reading<SysvCreator> {
    // Of each user: the sum, then its largest segment and the creator of that.
    let mut users: BTreeMap<u32, (u64, u64, u32)> = BTreeMap::new();
    for segment in segments(bytes, [b"rss", b"cuid", b"cpid"])? {
        let [resident, uid, pid] = segment?;
        let id = |n| u32::try_from(n).map_err(|_| Missing::Malformed);
        let (sum, largest, creator) = users.entry(id(uid)?).or_default();
        *sum = sum.saturating_add(resident);
        if resident > *largest {
            (*largest, *creator) = (resident, id(pid)?);
        }
    }
    let most = users.into_iter().max_by_key(|(_, (sum, ..))| *sum);
    let (uid, (resident, _, pid)) = most.filter(|(_, (sum, ..))| *sum > 0).ok_or(Missing::NotAsked)?;
    Ok(SysvCreator { uid, pid, resident })
}

/// Parses these columns of the lines of `sysvipc/shm`.
fn segments<const N: usize>(bytes: &[u8], titles: [&[u8]; N]) -> Reading<impl Iterator<Item = Reading<[u64; N]>>> {
    let mut lines = bytes.split(|b| *b == b'\n').filter(|line| !line.is_empty());
    let heading = lines.next().ok_or(Missing::Malformed)?;
    let mut places = [0; N];
    for (place, title) in places.iter_mut().zip(titles) {
        *place = words(heading)
            .position(|word| word == title)
            .ok_or(Missing::Unsupported)?;
    }
    Ok(lines.map(move |line| {
        let mut values = [0; N];
        for (value, place) in values.iter_mut().zip(places) {
            *value = words(line).nth(place).and_then(number).ok_or(Missing::Malformed)?;
        }
        Ok(values)
    }))
}

/// Maximum number of file systems that are examined. Nobody reads a longer list.
const MAX_FILE_SYSTEMS: usize = 1000;
/// Maximum number of mount points tried for each. A hostile namespace may have many thousands.
const MAX_POINTS: usize = 32;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryFs {
    pub device: u64,
    /// `tmpfs` or `devtmpfs`.
    pub kind: Box<str>,
    /// The mount points, raw, in the order they were mounted. Never empty.
    pub points: Vec<Box<[u8]>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    pub path: Box<[u8]>,
    /// Bytes in its files.
    pub used: Reading<u64>,
    pub size: Reading<u64>,
}

/// Parses a `mountinfo` into file systems in memory, without duplicates. `ramfs` is excluded, as it reports no size.
pub fn memory_mounts(mountinfo: &[u8]) -> Vec<MemoryFs> {
    let mut all: Vec<MemoryFs> = Vec::new();
    let mut places: BTreeMap<u64, usize> = BTreeMap::new();
    let mounts = mount_lines(mountinfo).filter_map(|line| {
        let kind = ["tmpfs", "devtmpfs"]
            .into_iter()
            .find(|kind| kind.as_bytes() == line.kind)?;
        let (major, minor) = line.device()?;
        Some((makedev(major, minor), unescape_octal(line.point).into(), kind))
    });
    for (device, point, kind) in mounts {
        let place = match places.get(&device) {
            Some(place) => *place,
            None if all.len() < MAX_FILE_SYSTEMS => {
                places.insert(device, all.len());
                all.push(MemoryFs {
                    device,
                    kind: kind.into(),
                    points: Vec::new(),
                });
                all.len() - 1
            }
            None => continue,
        };
        if all[place].points.len() < MAX_POINTS {
            all[place].points.push(point);
        }
    }
    all
}

/// Reads the file systems in memory that the mount table of `self` lists.
pub fn list(roots: &Roots) -> Reading<Vec<MemoryFs>> {
    let bytes = files::mountinfo(roots).map_err(files::optional_reason)?;
    Ok(memory_mounts(&bytes))
}

/// Reads how much a file system holds, through its first mount point that no other mount hides.
///
/// Paths are relative to `/proc/self/root`, as in `mountinfo`.
pub fn held(fs: &MemoryFs, roots: &Roots) -> Held {
    let namespace = Namespace::new(roots.proc.join("self"));
    let mut why = Missing::Unsupported;
    for point in &fs.points {
        match at(&namespace, point, fs.device) {
            Ok(Some(held)) => return held,
            // Another mount hides it, or it is gone.
            Ok(None) | Err(Errno::NOENT | Errno::NOTDIR) => {}
            Err(errno) => why = files::reason(errno),
        }
    }
    Held {
        path: fs.points.first().cloned().unwrap_or_default(),
        used: Err(why),
        size: Err(why),
    }
}

/// Returns the figures of the file system at a mount point, if it has that device number.
fn at(namespace: &Namespace, point: &[u8], device: u64) -> Result<Option<Held>, Errno> {
    // O_PATH does not trigger an automount.
    let fd = namespace.pin(Path::new(OsStr::from_bytes(point)))?;
    if fstat(&fd)?.st_dev != device {
        return Ok(None);
    }
    let stat = fstatfs(&fd)?;
    let unit = u64::try_from(stat.f_bsize).unwrap_or(0);
    let bytes = |blocks: u64| match stat.f_blocks {
        // Without a size limit, tmpfs does not count its blocks.
        0 => Err(Missing::Unsupported),
        _ => blocks.checked_mul(unit).ok_or(Missing::Malformed),
    };
    Ok(Some(Held {
        path: point.into(),
        used: bytes(stat.f_blocks.saturating_sub(stat.f_bfree)),
        size: bytes(stat.f_blocks),
    }))
}

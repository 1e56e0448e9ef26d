//! Parses the parts of `/proc/<pid>/fd` and `/proc/<pid>/fdinfo` that describe memory held by a descriptor.
//!
//! The link of a descriptor names the kind of object; its fdinfo has the figures.
//! `Documentation/gpu/drm-usage-stats.rst` and `Documentation/filesystems/proc.rst` of the kernel define the fields.

use super::parse::number;
use crate::model::{Missing, Reading};

/// The kind of object that the link of a descriptor names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    /// A device of the kernel's graphics and compute drivers.
    Drm,
    DmaBuf,
    BpfMap,
    BpfProgram,
    Uring,
    /// A file without a name: a memfd, or a file that was removed.
    Unlinked,
}

/// The suffix that the kernel appends to the path of a file without a name.
const DELETED: &[u8] = b" (deleted)";

impl Link {
    /// Returns the kind of object a link may name, or `None` for objects that hold no memory.
    pub fn of(link: &[u8]) -> Option<Self> {
        match link {
            b"anon_inode:bpf-map" => Some(Self::BpfMap),
            b"anon_inode:bpf-prog" => Some(Self::BpfProgram),
            b"anon_inode:[io_uring]" => Some(Self::Uring),
            // The name of dma-bufs before Linux 5.3.
            b"anon_inode:dmabuf" => Some(Self::DmaBuf),
            _ if link.starts_with(b"/dmabuf:") => Some(Self::DmaBuf),
            _ if link.starts_with(b"/dev/dri/") || link.starts_with(b"/dev/accel/") => Some(Self::Drm),
            _ if link.ends_with(DELETED) => Some(Self::Unlinked),
            _ => None,
        }
    }
}

/// Returns the path of a file without a name, without the suffix.
pub fn unlinked_name(link: &[u8]) -> &[u8] {
    link.strip_suffix(DELETED).unwrap_or(link)
}

/// Returns the fields of an fdinfo: keys, and values with surrounding blanks removed.
fn fields(fdinfo: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    fdinfo.split(|b| *b == b'\n').filter_map(|line| {
        let colon = line.iter().position(|b| *b == b':')?;
        Some((&line[..colon], line[colon + 1..].trim_ascii()))
    })
}

fn field(fdinfo: &[u8], key: &[u8]) -> Reading<u64> {
    let found = fields(fdinfo).find(|(name, _)| *name == key);
    let (_, value) = found.ok_or(Missing::Unsupported)?;
    number(value).ok_or(Missing::Malformed)
}

/// Returns the inode of the open file (Linux 5.14).
pub fn inode(fdinfo: &[u8]) -> Option<u64> {
    field(fdinfo, b"ino").ok().filter(|inode| *inode != 0)
}

/// A client of a graphics or compute device: one open of the device, which may have been passed to other processes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DrmClient {
    pub driver: Box<[u8]>,
    /// The address of the device, if it has one.
    pub device: Option<Box<[u8]>>,
    /// The number of the client: unique on its device or on the whole machine.
    pub client: Option<u64>,
    pub ram: Reading<u64>,
    /// Buffers in the device's own memory.
    pub vram: u64,
}

struct Region<'a> {
    name: &'a [u8],
    /// Resident bytes; the same under its older name; and all allocated bytes.
    sizes: [Option<Reading<u64>>; 3],
}

impl Region<'_> {
    /// The prefixes of the keys of [`Region::sizes`].
    const KEYS: [&'static [u8]; 3] = [b"drm-resident-", b"drm-memory-", b"drm-total-"];

    fn is_ram(&self) -> bool {
        let digits = self.name.iter().rev().take_while(|b| b.is_ascii_digit()).count();
        let name = &self.name[..self.name.len() - digits];
        // The kernel's documentation reserves `memory` for RAM; i915, xe and amdgpu use the other names.
        matches!(name, b"memory" | b"system" | b"gtt" | b"cpu")
    }
}

/// Maximum number of regions of one client. No driver has half as many.
const MAX_REGIONS: usize = 64;

/// Parses the fdinfo of a descriptor of a device. Returns `None` if the driver reports nothing.
pub fn drm(fdinfo: &[u8]) -> Option<DrmClient> {
    let mut client = DrmClient {
        driver: Box::default(),
        device: None,
        client: None,
        ram: Err(Missing::Unsupported),
        vram: 0,
    };
    let mut regions: Vec<Region<'_>> = Vec::new();
    for (key, value) in fields(fdinfo) {
        match key {
            b"drm-driver" => client.driver = value.into(),
            b"drm-pdev" => client.device = Some(value.into()),
            b"drm-client-id" => client.client = number(value),
            _ => {
                let mut parts = Region::KEYS.iter().map(|prefix| key.strip_prefix(*prefix)).enumerate();
                let Some((place, name)) = parts.find_map(|(place, name)| Some((place, name?))) else {
                    continue;
                };
                // The same prefix is used for the cycles of an engine.
                if name.is_empty() || name.starts_with(b"cycles-") {
                    continue;
                }
                let known = regions.iter().position(|region| region.name == name);
                let at = known.unwrap_or(regions.len());
                if at == MAX_REGIONS {
                    continue;
                }
                if known.is_none() {
                    regions.push(Region { name, sizes: [None; 3] });
                }
                regions[at].sizes[place] = Some(size(value).ok_or(Missing::Malformed));
            }
        }
    }
    if client.driver.is_empty() {
        return None;
    }
    for region in &regions {
        let bytes = region.sizes.iter().find_map(|size| *size);
        let Some(bytes) = bytes else { continue };
        // If all of the device's memory is its own, it uses no RAM.
        if client.ram == Err(Missing::Unsupported) {
            client.ram = Ok(0);
        }
        if region.is_ram() {
            client.ram = client.ram.and_then(|sum| Ok(sum.saturating_add(bytes?)));
        } else {
            client.vram = client.vram.saturating_add(bytes.unwrap_or(0));
        }
    }
    Some(client)
}

/// Parses a size with its unit, which defaults to bytes.
fn size(value: &[u8]) -> Option<u64> {
    let digits = value.iter().take_while(|b| b.is_ascii_digit()).count();
    let (digits, unit) = value.split_at(digits);
    let shift = match unit.trim_ascii() {
        b"" | b"B" => 0,
        b"KiB" | b"kB" => 10,
        b"MiB" => 20,
        b"GiB" => 30,
        _ => return None,
    };
    number(digits)?.checked_mul(1 << shift)
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DmaBuf {
    /// The name of the driver that created it.
    pub exporter: Box<[u8]>,
    /// The name that a process gave it.
    pub name: Box<[u8]>,
    pub bytes: Reading<u64>,
}

/// Parses the fdinfo of a dma-buf (Linux 5.3).
pub fn dma_buf(fdinfo: &[u8]) -> DmaBuf {
    // Use the first `name`: a process may put newlines and keys into its value, but the kernel's own keys come before
    // it.
    let text = |key: &[u8]| fields(fdinfo).find(|(name, _)| *name == key).map(|(_, value)| value);
    DmaBuf {
        exporter: text(b"exp_name").unwrap_or_default().into(),
        name: text(b"name").unwrap_or_default().into(),
        bytes: field(fdinfo, b"size"),
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bpf {
    /// Its id, unique among maps or among programs.
    pub id: Reading<u64>,
    /// Its type and id: `hash map 25`.
    pub name: String,
    /// The memory that the kernel accounts for it.
    pub bytes: Reading<u64>,
}

/// The names of the map types, in the order of `enum bpf_map_type` in `include/uapi/linux/bpf.h`.
const MAP_TYPES: [&str; 34] = [
    "unspecified",
    "hash",
    "array",
    "program array",
    "perf event array",
    "per-CPU hash",
    "per-CPU array",
    "stack trace",
    "cgroup array",
    "LRU hash",
    "LRU per-CPU hash",
    "LPM trie",
    "array of maps",
    "hash of maps",
    "device",
    "socket",
    "CPU",
    "XDP socket",
    "socket hash",
    "cgroup storage",
    "reuseport socket array",
    "per-CPU cgroup storage",
    "queue",
    "stack",
    "socket storage",
    "device hash",
    "struct_ops",
    "ring buffer",
    "inode storage",
    "task storage",
    "bloom filter",
    "user ring buffer",
    "cgroup local storage",
    "arena",
];

pub fn bpf_map(fdinfo: &[u8]) -> Bpf {
    let id = field(fdinfo, b"map_id");
    let kind = field(fdinfo, b"map_type").ok();
    let kind = kind.and_then(|kind| MAP_TYPES.get(usize::try_from(kind).ok()?));
    Bpf {
        id,
        name: numbered(&kind.map_or_else(|| "map".into(), |kind| format!("{kind} map")), id),
        bytes: field(fdinfo, b"memlock"),
    }
}

pub fn bpf_program(fdinfo: &[u8]) -> Bpf {
    let id = field(fdinfo, b"prog_id");
    Bpf {
        id,
        name: numbered("program", id),
        bytes: field(fdinfo, b"memlock"),
    }
}

fn numbered(name: &str, id: Reading<u64>) -> String {
    id.map_or_else(|_| name.to_owned(), |id| format!("{name} {id}"))
}

/// Returns the address ranges of an `io_uring`'s registered buffers in the process, and true if any of them could not
/// be parsed.
pub fn registered_buffers(fdinfo: &[u8]) -> (Vec<(u64, u64)>, bool) {
    let lines = fdinfo.split(|b| *b == b'\n');
    let mut lines = lines.skip_while(|line| !line.starts_with(b"UserBufs:"));
    let count = lines.next().map(|line| line[b"UserBufs:".len()..].trim_ascii());
    let count = count.and_then(number).unwrap_or(0);
    // The next section starts without indentation.
    let lines = lines.take_while(|line| line.starts_with(b" "));
    let ranges: Vec<_> = lines.filter_map(buffer).collect();
    let is_short = (ranges.len() as u64) < count;
    (ranges, is_short)
}

/// Parses `    0: 0x7f12c8000000/4096`.
fn buffer(line: &[u8]) -> Option<(u64, u64)> {
    let colon = line.iter().position(|b| *b == b':')?;
    let text = str::from_utf8(line[colon + 1..].trim_ascii()).ok()?;
    let (address, len) = text.strip_prefix("0x")?.split_once('/')?;
    let start = u64::from_str_radix(address, 16).ok()?;
    Some((start, start.checked_add(len.parse().ok()?)?))
}

//! zram devices.

use std::path::Path;

use crate::model::system::Zram;
use crate::model::{Missing, Reading, SystemSample};
use crate::order;
use crate::proc::files;
use crate::proc::parse::{number, words};

/// Figures of a device, of its `mm_stat`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MmStat {
    /// `orig_data_size`, in bytes.
    pub stored: u64,
    /// `mem_used_total`, in bytes.
    pub used: u64,
    /// `mem_limit`, in bytes; 0 for none.
    pub limit: Reading<u64>,
    /// `same_pages`, a count.
    pub same_pages: Reading<u64>,
}

/// Reads the zram devices of the sysfs at `sys`, in order of their names; none if there is no such driver. A
/// device whose figures cannot be read is left out.
pub fn read(sys: &Path) -> Vec<Zram> {
    let zram = |(name, stat): (Box<str>, MmStat)| Zram {
        name,
        stored: stat.stored,
        compressed: stat.used,
        is_swap: false,
    };
    devices(sys).into_iter().map(zram).collect()
}

/// Reads their names and figures, in order of their names.
pub(super) fn devices(sys: &Path) -> Vec<(Box<str>, MmStat)> {
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
        Some((name, parse(bytes)?))
    };
    names.into_iter().filter_map(device).collect()
}

/// Parses an `mm_stat`; older kernels wrote fewer fields.
pub fn parse(bytes: &[u8]) -> Option<MmStat> {
    let fields: Vec<_> = words(bytes).map(number).collect();
    let later = |at: usize| fields.get(at).ok_or(Missing::Unsupported)?.ok_or(Missing::Malformed);
    Some(MmStat {
        stored: (*fields.first()?)?,
        used: (*fields.get(2)?)?,
        limit: later(3),
        same_pages: later(5),
    })
}

/// Marks the devices that a swap area lies on.
pub fn mark_swap(sample: &mut SystemSample) {
    let swaps = sample.swaps.as_deref().unwrap_or(&[]);
    for device in &mut sample.zram {
        device.is_swap = swaps
            .iter()
            .any(|area| area.path.rsplit(|b| *b == b'/').next() == Some(device.name.as_bytes()));
    }
}

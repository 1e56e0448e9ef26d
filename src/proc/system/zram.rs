//! zram devices.

use std::path::Path;

use crate::model::SystemSample;
use crate::model::system::Zram;
use crate::proc::files;
use crate::proc::parse::{number, words};

/// Reads the zram devices of the sysfs at `sys`, in order of their names; none if there is no such driver. A
/// device whose figures cannot be read is left out.
pub fn read(sys: &Path) -> Vec<Zram> {
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
    names.sort_unstable_by_key(|name| (name.len(), name.clone()));
    let device = |name: Box<str>| {
        let path = block.join(&*name).join("mm_stat");
        let mut buf = [0; 512];
        let bytes = files::slurp(path.as_os_str().as_encoded_bytes(), &mut buf).ok()?;
        let (stored, compressed) = parse(bytes)?;
        Some(Zram {
            name,
            stored,
            compressed,
            is_swap: false,
        })
    };
    names.into_iter().filter_map(device).collect()
}

/// Parses `orig_data_size` and `mem_used_total` of an `mm_stat`, both in bytes.
pub fn parse(bytes: &[u8]) -> Option<(u64, u64)> {
    let mut words = words(bytes).map(number);
    Some((words.next()??, words.nth(1)??))
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

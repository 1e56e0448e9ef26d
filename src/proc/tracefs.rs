//! Tracefs: where it is mounted, the layout of its events, and the raw pages of its ring buffers.
//!
//! Pure: [`sampler::callers`](crate::sampler::callers) reads the files. All layouts are those that the running kernel tells.

pub mod event;
pub mod format;
pub mod page;

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use super::parse::{number, unescape_octal};
use crate::order;

/// Returns the directories in which a `mountinfo` says that tracefs is: mounts of its own, then those that debugfs has
/// below it.
pub fn mounts(mountinfo: &[u8]) -> Vec<PathBuf> {
    // `id parent major:minor root point options [optional…] - type source super-options`
    let mount = |line: &[u8]| {
        let mut fields = line.split(|b| *b == b' ');
        let (root, point) = (fields.nth(3)?, fields.next()?);
        let is_debugfs = match fields.skip_while(|f| *f != b"-").nth(1)? {
            b"tracefs" => false,
            b"debugfs" => true,
            _ => return None,
        };
        let point = PathBuf::from(OsString::from_vec(unescape_octal(point)));
        let path = if is_debugfs { point.join("tracing") } else { point };
        (root == b"/").then_some((is_debugfs, path))
    };
    let mut found: Vec<_> = mountinfo.split(|b| *b == b'\n').filter_map(mount).collect();
    order::sort_by_key(&mut found, |(is_debugfs, _)| *is_debugfs);
    found.into_iter().map(|(_, path)| path).collect()
}

/// Returns the number of events that a `per_cpu/cpuN/stats` says were lost: overwritten before they were read, dropped
/// for want of room, or made while another was written. `None` if it says none of these.
pub fn lost(stats: &[u8]) -> Option<u64> {
    let figure = |line: &[u8]| {
        let at = line.iter().position(|b| *b == b':')?;
        let counts = [&b"overrun"[..], b"commit overrun", b"dropped events"].contains(&&line[..at]);
        counts.then(|| number(line[at + 1..].trim_ascii())).flatten()
    };
    let mut figures = stats.split(|b| *b == b'\n').filter_map(figure).peekable();
    figures.peek()?;
    Some(figures.fold(0, u64::saturating_add))
}

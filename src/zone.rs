//! The time zone of this machine, or of the environment.
//!
//! Whoever starts zmtop as root may have kept the environment of another user. So `TZ` may name a FIFO, a device or a huge file. Only
//! regular files of a moderate size are read. `TZDIR` is ignored.

use std::io::Read;
use std::path::{Component, Path, PathBuf};
use std::sync::OnceLock;

use jiff::tz::TimeZone;

use crate::proc::namespace::Namespace;

/// Maximum size of a file, in bytes. The largest has a few KiB.
const MAX_FILE: u64 = 1 << 20;
/// The folders in which distributions keep the zones.
const ZONES: [&str; 3] = ["/usr/share/zoneinfo", "/usr/lib/zoneinfo", "/etc/zoneinfo"];

/// Returns the time zone of the environment's `TZ`, or else that of `/etc/localtime`, or UTC. It is read once.
pub fn local() -> TimeZone {
    static LOCAL: OnceLock<TimeZone> = OnceLock::new();
    LOCAL
        .get_or_init(|| {
            let named = std::env::var_os("TZ").and_then(|tz| of_variable(&tz.to_string_lossy()));
            let of_machine = || read("localtime", Path::new("/etc/localtime"));
            named.or_else(of_machine).unwrap_or(TimeZone::UTC)
        })
        .clone()
}

/// Returns the time zone that a value of `TZ` means: the path of a file, the name of a zone, or a rule such as `CET-1CEST` (`tzset(3)`).
/// Returns `None` if it is not valid. An empty value means UTC.
pub fn of_variable(value: &str) -> Option<TimeZone> {
    let value = value.strip_prefix(':').unwrap_or(value);
    if value.is_empty() || value == "UTC" {
        return Some(TimeZone::UTC);
    }
    let path = Path::new(value);
    if path.is_absolute() {
        return read(value, path);
    }
    let is_name = path.components().all(|part| matches!(part, Component::Normal(_)));
    let in_folder = |folder: &&str| read(value, &PathBuf::from(folder).join(path));
    let zone = is_name.then(|| ZONES.iter().find_map(in_folder)).flatten();
    zone.or_else(|| TimeZone::posix(value).ok())
}

/// Reads the file of a zone, unless it is no regular file, too large, invalid, or served by another user's program.
fn read(name: &str, path: &Path) -> Option<TimeZone> {
    let file = Namespace::own().file(path).ok()?;
    let mut bytes = Vec::new();
    file.take(MAX_FILE).read_to_end(&mut bytes).ok()?;
    TimeZone::tzif(name, &bytes).ok()
}

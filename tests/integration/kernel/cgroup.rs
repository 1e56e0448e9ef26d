//! A cgroup with a limit, made for the purpose: what it says of itself.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use zmtop::proc::cgroup::charged;
use zmtop::proc::cgroup::figures::mounts;
use zmtop::proc::cgroup::{Mounts, Version};
use zmtop::proc::files::Roots;
use zmtop::sampler::{Needs, Options, Scanner};

use super::child::Child;
use super::row;
use crate::support::{block_on, cannot};

const LIMIT: u64 = 96 << 20;

/// A cgroup; removed when dropped, after the process in it.
pub(crate) struct Cgroup(pub(crate) PathBuf);

impl Drop for Cgroup {
    fn drop(&mut self) {
        for _ in 0..200 {
            if fs::remove_dir(&self.0).is_ok() {
                return;
            }
            // The process that was killed has not left yet.
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    }
}

/// Makes a cgroup `name` below the directory at `above`, if that is allowed here.
pub(super) fn make(above: &Path, name: &str) -> Option<Cgroup> {
    let dir = above.join(name);
    fs::create_dir(&dir).ok()?;
    Some(Cgroup(dir))
}

/// Makes a cgroup `name` where processes may be moved to, if that is allowed here.
pub(crate) fn make_outer(mounts: &Mounts, name: &str) -> Option<Cgroup> {
    let own = fs::read("/proc/self/cgroup").unwrap();
    // No process may stand beside a v2 cgroup that is limited, so there it is one of the root's.
    let path = match mounts.version {
        Version::V1 => charged(&own, Version::V1).unwrap_or(b"/"),
        Version::V2 => b"/",
    };
    let directory = PathBuf::from(String::from_utf8(mounts.directory(path)?).unwrap());
    make(&directory, name)
}

#[test]
fn a_cgroup_says_what_it_holds_and_may() {
    let Ok(mounts) = mounts(&Roots::new(None)) else {
        return cannot("no memory controller is mounted here");
    };
    let name = format!("zmtop-test-{}", std::process::id());
    let Some(outer) = make_outer(&mounts, &name) else {
        return cannot("no cgroup can be made here");
    };
    if mounts.version == Version::V2 && fs::write(outer.0.join("cgroup.subtree_control"), "+memory").is_err() {
        return cannot("the memory controller is not to be had here");
    }
    let file = match mounts.version {
        Version::V1 => "memory.limit_in_bytes",
        Version::V2 => "memory.max",
    };
    if fs::write(outer.0.join(file), LIMIT.to_string()).is_err() {
        return cannot("no limit can be set here");
    }
    let inner = make(&outer.0, "inner").unwrap();
    let child = Child::from(Command::new("/bin/sleep").arg("60").spawn().unwrap());
    if fs::write(inner.0.join("cgroup.procs"), child.pid().to_string()).is_err() {
        return cannot("no process can be moved here");
    }

    let mut scanner = Scanner::new(&Options::new(None));
    assert!(block_on(scanner.full()).cgroups.is_empty());
    scanner.set_needs(Needs::CGROUP_FIGURES);
    let snapshot = block_on(scanner.full());
    let path = row(&snapshot, child.pid()).facts.cgroup.clone().unwrap();
    assert!(path.ends_with(format!("{name}/inner").as_bytes()));
    let inside = snapshot.cgroups[&path];
    // It has no limit of its own: the limit of the cgroup above it holds.
    assert_eq!(inside.limit, Ok(Some(LIMIT)));
    let current = inside.current.unwrap();
    assert!(current <= LIMIT, "{current}");
    let above = &snapshot.cgroups[path.strip_suffix(b"/inner").unwrap()];
    assert_eq!(above.limit, Ok(Some(LIMIT)));
    assert!(above.current.is_ok());
    let root = &snapshot.cgroups[&b"/"[..]];
    assert!(root.limit.is_ok(), "{root:?}");
    // Without a request, only those with a limit are read.
    scanner.set_needs(Needs::NOTHING);
    let snapshot = block_on(scanner.full());
    assert!(snapshot.cgroups.values().all(|figures| figures.ceiling().is_some()));
    assert_eq!(snapshot.cgroups[&*path].limit, Ok(Some(LIMIT)));
    drop(child);
    drop(inner);
    drop(outer);
}

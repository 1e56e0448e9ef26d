//! Swapped-out memory, on a real swap file.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use zmtop::sampler::Scanner;

use super::child::{self, Child, SHAPE};
use super::{agree, row};
use crate::support::{block_on, cannot, skip};

/// Set in a child that is to have some of its memory paged out.
pub(crate) const PAGE_OUT: &str = "ZMTOP_TEST_PAGE_OUT";

/// A swap file in use; out of use and gone when dropped.
pub(crate) struct SwapFile {
    path: PathBuf,
    on: bool,
    _only: MutexGuard<'static, ()>,
}

/// One test swaps at a time: of two swap files only one would be written to.
static ONLY: Mutex<()> = Mutex::new(());

impl Drop for SwapFile {
    fn drop(&mut self) {
        if self.on {
            let _ = run("swapoff", &self.path);
        }
        let _ = fs::remove_file(&self.path);
    }
}

/// Runs a tool on the file: what it said where it failed, `None` where there is no such tool.
fn run(tool: &str, path: &Path) -> Option<Result<(), String>> {
    let output = Command::new(tool)
        .env("PATH", "/usr/sbin:/sbin:/usr/bin:/bin")
        .arg(path)
        .stdin(Stdio::null())
        .output()
        .ok()?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    Some(if output.status.success() { Ok(()) } else { Err(said) })
}

/// A swap file of 64 MiB; says so where there can be none.
pub(crate) fn swap_file() -> Option<SwapFile> {
    if !rustix::process::geteuid().is_root() {
        skip("a swap file needs root");
        return None;
    }
    let only = ONLY.lock().unwrap_or_else(PoisonError::into_inner);
    let path = std::env::temp_dir().join(format!("zmtop-test-swap-{}", std::process::id()));
    let mut file = File::options()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&path)
        .unwrap();
    let mut swap = SwapFile {
        path,
        on: false,
        _only: only,
    };
    // Written, not allocated: a swap file may have no holes.
    for _ in 0..64 {
        file.write_all(&vec![0; 1 << 20]).unwrap();
    }
    file.sync_all().unwrap();
    let Some(made) = run("mkswap", &swap.path) else {
        skip("a swap file needs mkswap");
        return None;
    };
    made.unwrap();
    match run("swapon", &swap.path) {
        Some(Ok(())) => swap.on = true,
        Some(Err(said)) => {
            cannot(&format!("this machine allows no swap file: {}", said.trim()));
            return None;
        }
        None => {
            skip("a swap file needs swapon");
            return None;
        }
    }
    Some(swap)
}

#[test]
fn swapped_out_memory_is_all_there() {
    const NAME: &str = "kernel::swap::swapped_out_memory_is_all_there";
    child::be(NAME);
    let Some(swap) = swap_file() else { return };
    let dir = tempfile::tempdir().unwrap();
    let child = Child::start_with(NAME, &dir.path().join("shared"), PAGE_OUT);
    agree(child.pid());
    let snapshot = block_on(Scanner::new(&crate::support::machine_options()).full());
    let m = row(&snapshot, child.pid()).memory().unwrap();
    // The kernel may leave some pages where they are, but not most.
    let (private, shared) = (SHAPE.private as u64 / 2, SHAPE.shared as u64 / 2);
    assert!(2 * m.swap > private + shared, "{m:?}");
    assert!(m.swap <= private + shared + (8 << 20), "{m:?}");
    // Shmem that is swapped out is in Swap, and not in SwapPss.
    let swap_pss = m.swap_pss.unwrap();
    assert!(swap_pss > private / 2 && swap_pss <= m.swap, "{m:?}");
    assert_eq!(m.footprint(), Ok(m.pss + swap_pss));
    let areas = snapshot.system.swaps.as_ref().unwrap();
    let path = swap.path.as_os_str().as_encoded_bytes();
    let area = areas.iter().find(|a| &*a.path == path).unwrap();
    assert!(area.size >= 60 << 20, "{area:?}");
    // The kernel may take those of other tests first.
    let used: u64 = areas.iter().map(|a| a.used).sum();
    assert!(used >= m.swap / 2, "{areas:?}");
    assert!(snapshot.system.swap_used().unwrap() > 0);
    assert!(snapshot.system.pswpout.unwrap() > 0);
}

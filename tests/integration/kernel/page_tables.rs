//! Page tables, of the real kernel.

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};
use zmtop::model::Reading;
use zmtop::sampler::{Needs, Scanner};

use crate::support::block_on;

const SPACE: usize = 2 << 30;
/// The bytes that one page of page tables maps.
const STEP: usize = 2 << 20;

/// Reads its own page tables by each way in which they are read.
fn own() -> [Reading<u64>; 2] {
    [(Needs::PAGE_TABLES, 1), (Needs::MANY_PAGE_TABLES, 2)].map(|(needs, scans)| {
        let mut scanner = Scanner::new(&crate::support::machine_options());
        scanner.set_needs(needs);
        // The size of a process is known from the first scan.
        for _ in 1..scans {
            block_on(scanner.full());
        }
        let snapshot = block_on(scanner.full());
        let row = snapshot.rows().iter().find(|row| row.id.pid == std::process::id());
        row.unwrap().page_tables
    })
}

#[test]
fn the_page_tables_of_a_sparse_mapping_belong_to_its_process() {
    let [before, _] = own();
    #[expect(unsafe_code, reason = "a mapping can be made no other way")]
    // SAFETY: the kernel chooses a free place for it, nothing else knows of it, and it is only read.
    let mapped = unsafe {
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        let at = mmap_anonymous(std::ptr::null_mut(), SPACE, ProtFlags::READ, flags).unwrap();
        let _ = madvise(at, SPACE, Advice::LinuxNoHugepage);
        for offset in (0..SPACE).step_by(STEP) {
            at.cast::<u8>().add(offset).read_volatile();
        }
        at
    };
    let after = own();
    #[expect(unsafe_code, reason = "see above")]
    // SAFETY: nothing uses it any more.
    unsafe {
        munmap(mapped, SPACE).unwrap();
    }
    // Other tests run meanwhile, which free some and map more.
    let least = (SPACE / STEP * 4096) as u64;
    for found in after {
        assert!(found.unwrap() >= least, "{before:?} {found:?}");
    }
    if cfg!(target_arch = "x86_64") {
        assert!(before.unwrap() < least, "{before:?}");
    }
}

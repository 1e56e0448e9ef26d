//! Mappings: areas as the kernel lists them, put together by name, of one process and of many.

mod areas;
mod command;
mod merge;
mod scan;

use zmtop::model::mapping::Area;
use zmtop::model::{Memory, Reading};
use zmtop::proc::smaps::Areas;

const KB: u64 = 1024;

/// All areas of a `smaps`.
fn read(bytes: &[u8]) -> (Vec<Area>, Reading<u64>) {
    let mut all = Vec::new();
    let mut areas = Areas::new(|area| all.push(area));
    areas.feed(bytes);
    let count = areas.finish();
    (all, count)
}

/// One area as Linux 6.1 writes it: `head` is its first line without the name, sizes are in KiB.
fn area(head: &str, name: &[u8], pss: u64, swap: u64, flags: &str) -> Vec<u8> {
    let mut text = format!("{head:<72} ").into_bytes();
    text.extend_from_slice(name);
    let figures = [
        ("Size", pss * 2),
        ("KernelPageSize", 4),
        ("Rss", pss),
        ("Pss", pss),
        ("Pss_Dirty", pss),
        ("Shared_Clean", 0),
        ("Shared_Dirty", 0),
        ("Private_Clean", 0),
        ("Private_Dirty", pss),
        ("Referenced", pss),
        ("Anonymous", pss),
        ("LazyFree", 0),
        ("AnonHugePages", 0),
        ("Shared_Hugetlb", 0),
        ("Private_Hugetlb", 0),
        ("Swap", swap),
        ("SwapPss", swap),
        ("Locked", 0),
    ];
    text.push(b'\n');
    for (name, kb) in figures {
        text.extend_from_slice(format!("{:<16}{kb:>8} kB\n", format!("{name}:")).as_bytes());
    }
    text.extend_from_slice(format!("THPeligible:    0\nVmFlags: {flags} \n").as_bytes());
    text
}

/// An area of that name at that page.
pub(crate) fn at(page: u64, name: &[u8], pss: u64) -> Vec<u8> {
    let (start, end) = (page << 12, (page + 8) << 12);
    area(
        &format!("{start:x}-{end:x} rw-p 00000000 00:00 0"),
        name,
        pss,
        0,
        "rd wr mr mw me ac",
    )
}

fn sum(areas: &[Area]) -> Memory {
    let mut sum = Memory::default();
    for area in areas {
        sum.add(&area.memory.unwrap());
    }
    sum
}

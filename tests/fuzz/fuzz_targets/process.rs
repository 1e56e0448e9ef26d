//! Files of one process, and what else describes it in text.

#![no_main]

use libfuzzer_sys::fuzz_target;
use std::hint::black_box;
use zmtop::heap::kinds::Kind;
use zmtop::heaps::java;
use zmtop::model::mapping::MappingName;
use zmtop::proc::{environ, fdinfo, files, hsperfdata, maps, pid, smaps, ulimits};
use zmtop::proc::accounts;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(glance) = pid::stat(bytes, 4096) {
        black_box(format!("{glance:?}"));
    }
    black_box((pid::statm(bytes, 4096), pid::resident(bytes)).0.ok());
    black_box((pid::uid(bytes).ok(), pid::swap(bytes).ok(), pid::peak(bytes).ok()));
    black_box((pid::inexact(bytes, 8, 3), pid::is_cut(bytes)));
    black_box((pid::cmdline(bytes), pid::name_digest(bytes)));
    black_box(pid::address_space_limit(bytes).ok());
    black_box(pid::exe_link(bytes).judge(Some((1, 2)), |path| path.len().is_multiple_of(2).then_some((1, 2))));
    black_box(java::Status::parse(bytes));
    black_box(java::safety(Some(bytes), bytes, &[bytes.to_vec()]).is_ok());

    let rollup = smaps::rollup(bytes).ok();
    black_box((rollup, smaps::end(bytes), smaps::anonymous(bytes)));
    // Pieces may split a line anywhere.
    let whole = smaps::smaps(bytes);
    let mut sum = smaps::SmapsSum::default();
    bytes.chunks(7).for_each(|piece| sum.feed(piece));
    assert_eq!(whole, sum.finish());
    let mut areas = smaps::Areas::new(|area| {
        black_box(format!("{area:?}"));
    });
    bytes.chunks(61).for_each(|piece| areas.feed(piece));
    black_box(areas.finish().ok());

    let mut objects = maps::Objects::default();
    objects.feed(bytes);
    objects.finish();
    black_box((objects.sizes(), objects.small(4096), objects.large(1, 8).len()));
    let mut mapped = maps::Mapped::default();
    mapped.feed(bytes);
    black_box((mapped.within((0x1000, u64::MAX)), mapped.of_file(((0, 1), 2))));
    let mut all = maps::MappedFiles::default();
    all.feed(bytes);
    black_box(all.all.len());
    for line in bytes.split(|byte| *byte == b'\n') {
        black_box(maps::Area::parse(line).map(|area| area.is_of_file()));
        black_box((MappingName::parse(line, false), MappingName::parse(line, true)));
        black_box((Kind::of_mapping(line), Kind::of_program(line)));
        black_box((
            fdinfo::unlinked_name(line).len(),
            zmtop::proc::cgroup::container::owner(line),
        ));
    }
    black_box((Kind::of_text(bytes), hsperfdata::find(bytes).map(hsperfdata::names)));
    black_box(environ::parse(bytes).len());
    black_box(ulimits::parse(&String::from_utf8_lossy(bytes)).len());
    black_box((fdinfo::inode(bytes), fdinfo::drm(bytes).is_some()));
    black_box((
        fdinfo::dma_buf(bytes),
        fdinfo::bpf_map(bytes),
        fdinfo::bpf_program(bytes),
    ));
    black_box(fdinfo::registered_buffers(bytes));
    black_box((accounts::find(bytes, 1000), accounts::subordinate(bytes, 1000)));
    black_box(zmtop::stacks::generated_code(bytes, 0x7f00_0000_1000));
    black_box(files::memory_capability());
});

//! Scenes: changes of the memory of processes.

use std::fs::File;
use std::io::Write;
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Duration;

use rustix::fs::{MemfdFlags, memfd_create};
use zmtop::model::Missing;

use super::CHILD;
use super::child::Child;
use super::churn::Churn;
use super::judge::{Judge, Place};
use crate::kernel::swap::swap_file;
use crate::support::{cannot, long};

/// Returns the first in the long form, else the second.
fn size<T>(in_long: T, in_short: T) -> T {
    if long() { in_long } else { in_short }
}

/// Each step is what one process does to itself.
fn own_steps(judge: &mut Judge, child: &mut Child, steps: &[(&'static str, &[&str])]) {
    for (what, orders) in steps {
        judge.scene(what);
        for order in *orders {
            child.tell(order);
        }
        judge.settle();
    }
}

pub(super) fn watched(judge: &mut Judge, name: &'static str, place: Place) -> Child {
    let child = Child::start(CHILD);
    judge.watch(name, child.pid(), place);
    child
}

pub(super) fn grow_and_shrink(judge: &mut Judge, a: &mut Child) {
    let steps: [(&'static str, &[&str]); 4] = [
        ("growing", &["map 0 16", "touch 0 0 8"]),
        ("growing on", &["touch 0 8 8"]),
        ("given back, still mapped", &["free 0 0 2"]),
        ("unmapped", &["unmap 0 4 4"]),
    ];
    own_steps(judge, a, &steps);
}

pub(super) fn fork_write_exec(judge: &mut Judge, a: &mut Child) {
    judge.scene("a fork");
    // From here on it is the fork that answers, until it ends; the parent does nothing, and has half of each
    // page.
    let kid: u32 = a.tell("fork").parse().unwrap();
    judge.watch("fork of a", kid, Place::InSight);
    judge.settle();
    judge.scene("copy on write by the fork, at an even count");
    a.tell("touch 0 8 6");
    judge.settle();
    judge.scene("exec of the fork");
    a.tell("exec");
    judge.settle();
    judge.scene("its end");
    a.tell("exit");
    judge.left(kid);
    judge.settle();
    judge.scene("another fork");
    let kid: u32 = a.tell("fork").parse().unwrap();
    judge.watch("fork of a", kid, Place::InSight);
    judge.settle();
    judge.scene("the end of a fork that shares the heap");
    a.tell("exit");
    judge.left(kid);
    judge.settle();
}

/// A memfd of so many megabytes, and the path by which others open it.
fn memfd(mb: u64) -> (OwnedFd, String) {
    let memory = memfd_create("zmtop-test", MemfdFlags::CLOEXEC).unwrap();
    rustix::fs::ftruncate(&memory, mb << 20).unwrap();
    let path = format!("/proc/{}/fd/{}", std::process::id(), memory.as_raw_fd());
    (memory, path)
}

pub(super) fn share_and_drop(judge: &mut Judge, a: &mut Child) {
    let (_memory, path) = memfd(8);
    judge.scene("a shared mapping");
    a.tell(&format!("share 1 8 {path}"));
    let [mut b, mut c] = ["b", "c"].map(|name| watched(judge, name, Place::InSight));
    for other in [&mut b, &mut c] {
        other.tell(&format!("share 1 8 {path}"));
    }
    judge.settle();
    judge.scene("dropped by one of three");
    c.tell("unmap 1 0 8");
    judge.settle();
    judge.scene("one of two ends");
    b.end();
    judge.left(b.pid());
    judge.settle();
    judge.left(c.pid());
    a.tell("unmap 1 0 8");
}

/// Replaces file pages that no other process maps with pages that others map too, so that no count changes.
pub(super) fn change_files(judge: &mut Judge, a: &mut Child) {
    let file = || {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        for _ in 0..16 {
            file.write_all(&vec![1; 1 << 20]).unwrap();
        }
        file
    };
    let [own, common] = [file(), file()];
    let [own, common] = [own.path(), common.path()].map(|path| path.to_str().unwrap());
    judge.scene("pages of files");
    a.tell(&format!("file 1 16 {own}"));
    a.tell(&format!("file 2 16 {common}"));
    a.tell("read 1 0 16");
    let [mut b, mut c] = ["b", "c"].map(|name| watched(judge, name, Place::InSight));
    for other in [&mut b, &mut c] {
        other.tell(&format!("file 2 16 {common}"));
        other.tell("read 2 0 16");
    }
    judge.settle();
    judge.scene_by_faults("file pages replaced at an even count");
    a.tell("free 1 0 12");
    a.tell("read 2 0 12");
    judge.settle();
    judge.scene_by_faults("and back");
    a.tell("free 2 0 12");
    a.tell("read 1 0 12");
    judge.settle();
    for name in [own, common] {
        File::options().write(true).open(name).unwrap().set_len(0).unwrap();
    }
    judge.scene("the files cut by others");
    judge.settle();
    judge.left(b.pid());
    judge.left(c.pid());
    a.tell("unmap 1 0 16");
    a.tell("unmap 2 0 16");
}

pub(super) fn swap_out_and_in(judge: &mut Judge, a: &mut Child) {
    let Some(_swap) = swap_file() else { return };
    let steps: [(&'static str, &[&str]); 2] = [
        ("before swap", &["map 2 12", "touch 2 0 12"]),
        ("swapped out", &["pageout 2 0 12"]),
    ];
    own_steps(judge, a, &steps);
    if Judge::swap_of(a.pid()) < 6 << 20 {
        cannot("this kernel swaps out next to nothing when asked to");
    }
    let steps: [(&'static str, &[&str]); 4] = [
        ("swapped in", &["touch 2 0 3"]),
        ("swapped-out memory given back", &["free 2 3 3"]),
        ("swapped-out memory unmapped", &["unmap 2 6 3"]),
        ("swapped in and given back", &["touch 2 9 1", "free 2 9 1"]),
    ];
    own_steps(judge, a, &steps);
    judge.scene("shared memory swapped out");
    a.tell("map 3 16");
    a.tell("touch 3 0 16");
    let kid: u32 = a.tell("fork").parse().unwrap();
    judge.watch("fork of a", kid, Place::InSight);
    a.tell("pageout 3 0 16");
    judge.settle();
    judge.scene("a sharer of swapped memory ends");
    a.tell("exit");
    judge.left(kid);
    judge.settle();
    // Before the swap file goes, which else would have to be read back.
    let rest: [(&'static str, &[&str]); 1] = [(
        "the rest of it unmapped",
        &["unmap 2 0 6", "unmap 2 9 3", "unmap 3 0 16"],
    )];
    own_steps(judge, a, &rest);
}

/// Changes the memory of a process that is not on the screen.
pub(super) fn elsewhere(judge: &mut Judge) {
    judge.scene("a process in the background");
    let mut d = watched(judge, "d", Place::Elsewhere);
    d.tell("map 0 64");
    d.tell("touch 0 0 16");
    judge.settle();
    // Until it is quiet by every measure.
    judge.run(size(Duration::from_secs(40), Duration::from_secs(4)));
    let steps: [(&'static str, &[&str]); 2] = [
        ("growing in the background", &["touch 0 16 32"]),
        ("given back in the background", &["free 0 0 32"]),
    ];
    own_steps(judge, &mut d, &steps);
    judge.left(d.pid());
}

/// Processes without memory, and one without its first thread.
pub(super) fn end(judge: &mut Judge) {
    judge.scene("a zombie");
    let mut e = watched(judge, "e", Place::InSight);
    e.tell("map 0 16");
    e.tell("touch 0 0 16");
    judge.settle();
    e.end_unreaped();
    judge.settle();
    assert_eq!(judge.shown(e.pid()).unwrap().walk.err(), Some(Missing::Zombie));
    judge.left(e.pid());
    judge.scene("the first thread gone");
    let mut f = watched(judge, "f", Place::InSight);
    f.tell("map 0 24");
    f.tell("touch 0 0 8");
    judge.settle();
    f.tell("leave");
    judge.settle();
    let steps: [(&'static str, &[&str]); 2] = [
        ("growing without the first thread", &["touch 0 8 16"]),
        ("given back without the first thread", &["free 0 0 12"]),
    ];
    own_steps(judge, &mut f, &steps);
    judge.left(f.pid());
}

/// Beside two hundred short programs each second, a process grows, another rests, and two share a memfd. After that, one of
/// the two ends.
pub(super) fn beside_short_programs(judge: &mut Judge) {
    let mb = size(512, 64);
    let (_memory, path) = memfd(mb);
    judge.scene("growing and sharing beside 200 short programs a second");
    let [mut g, mut h, mut i, mut quiet] = ["g", "h", "i", "quiet"].map(|name| watched(judge, name, Place::InSight));
    for holder in [&mut g, &mut h] {
        holder.tell(&format!("share 0 {mb} {path}"));
    }
    quiet.tell("map 0 32");
    quiet.tell("touch 0 0 32");
    i.tell("map 0 400");
    judge.settle();
    let churn = Churn::start(200);
    i.tell("grow 0 4");
    judge.run(size(Duration::from_secs(60), Duration::from_secs(8)));
    drop(churn);
    judge.left(i.pid());
    judge.left(quiet.pid());
    judge.run(size(Duration::from_secs(4), Duration::from_secs(1)));
    judge.scene("one of the two ends after that");
    h.end();
    judge.left(h.pid());
    judge.settle();
    judge.left(g.pid());
}

/// A process grows while a server of much memory forks forty workers each second, which each live for one.
pub(super) fn grow_beside_forks(judge: &mut Judge) {
    judge.scene("growing beside a server that forks");
    let mb = size(300, 100);
    let mut server = Child::start(CHILD);
    server.tell(&format!("map 0 {mb}"));
    server.tell(&format!("touch 0 0 {mb}"));
    let mut i = watched(judge, "i", Place::InSight);
    i.tell("map 0 400");
    judge.settle();
    server.tell("forks 40");
    i.tell("grow 0 4");
    judge.run(size(Duration::from_secs(60), Duration::from_secs(8)));
    judge.left(i.pid());
}

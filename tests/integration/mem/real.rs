//! The account of this machine, with memory made for the purpose in one part after another.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;
use zmtop::sampler::Scanner;

use crate::kernel::child::{self, Child};
use crate::kernel::swap::{PAGE_OUT, swap_file};
use crate::support::pty::ZMTOP;
use crate::support::{PATIENCE, block_on, cannot, long, skip};

const MIB: i64 = 1 << 20;

/// Returns the output of `zmtop mem` on this machine.
fn mem() -> Value {
    let output = Command::new(ZMTOP).args(["mem", "--format", "json"]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn bytes(value: &Value) -> i64 {
    value.as_i64().unwrap_or_else(|| panic!("no number: {value}"))
}

/// Runs a tool; false where it fails.
fn run(tool: &str, args: &[&str]) -> bool {
    let status = Command::new(tool)
        .env("PATH", "/usr/sbin:/sbin:/usr/bin:/bin")
        .args(args)
        .status();
    status.is_ok_and(|status| status.success())
}

/// Returns true where the long form runs, as root.
fn may_change_the_machine() -> bool {
    if !long() {
        return false;
    }
    if !rustix::process::geteuid().is_root() {
        skip("making parts of the account needs root");
        return false;
    }
    true
}

#[test]
fn the_parts_of_this_machine_are_all_but_two_hundredths_of_it() {
    if !long() {
        return;
    }
    // Between the first and the last figure other tests take memory and give it back.
    let began = Instant::now();
    loop {
        let account = &mem()["account"];
        let (rest, total) = (bytes(&account["rest"]), bytes(&account["total"]));
        if rest.abs() * 50 <= total {
            return;
        }
        assert!(began.elapsed() < PATIENCE, "{account:#}");
        std::thread::sleep(Duration::from_secs(1));
    }
}

/// A mount; gone when dropped.
struct Mount(PathBuf);

impl Drop for Mount {
    fn drop(&mut self) {
        run("umount", &[self.0.to_str().unwrap()]);
    }
}

fn mount_tmpfs(at: &Path, size: &str) -> Option<Mount> {
    let size = format!("size={size}");
    run(
        "mount",
        &["-t", "tmpfs", "-o", &size, "zmtop-test", at.to_str().unwrap()],
    )
    .then(|| Mount(at.into()))
}

#[test]
fn a_file_in_tmpfs_is_in_its_mount() {
    if !may_change_the_machine() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let point = dir.path().join("a b\n\u{1b}[31m");
    fs::create_dir(&point).unwrap();
    let Some(_hidden) = mount_tmpfs(&point, "8m") else {
        return cannot("nothing can be mounted here");
    };
    // Another one lies over it, which hides what it holds.
    fs::write(point.join("hidden"), vec![1; 3 << 20]).unwrap();
    let _mount = mount_tmpfs(&point, "64m").unwrap();
    let before = bytes(&mem()["account"]["parts"]["shmem"]);
    fs::write(point.join("file"), vec![1; 20 << 20]).unwrap();
    // One that is deleted counts as long as it is open.
    let mut open = File::create(point.join("deleted")).unwrap();
    open.write_all(&vec![1; 5 << 20]).unwrap();
    fs::remove_file(point.join("deleted")).unwrap();
    let after = mem();
    let mounts = after["shared"]["mounts"].as_array().unwrap();
    let ours: Vec<_> = mounts
        .iter()
        .filter(|mount| mount["path"] == point.to_str().unwrap())
        .collect();
    let told: Vec<_> = ours.iter().map(|mount| (&mount["used"], &mount["size"])).collect();
    assert_eq!(
        told,
        [
            (&Value::from(25 * MIB), &Value::from(64 * MIB)),
            (&Value::Null, &Value::Null)
        ]
    );
    // Others come and go meanwhile.
    let grown = bytes(&after["account"]["parts"]["shmem"]) - before;
    assert!((15 * MIB..200 * MIB).contains(&grown), "{grown}");
    let text = Command::new(ZMTOP).arg("mem").output().unwrap();
    let text = String::from_utf8(text.stdout).unwrap();
    assert!(!text.contains('\u{1b}'), "{text}");
    assert!(text.contains("25.0M"), "{text}");
}

/// A zram device; gone when dropped.
struct ZramDevice(String);

impl Drop for ZramDevice {
    fn drop(&mut self) {
        let _ = fs::write(format!("/sys/block/zram{}/reset", self.0), "1");
        let _ = fs::write("/sys/class/zram-control/hot_remove", &self.0);
    }
}

#[test]
fn a_zram_device_is_in_its_part() {
    if !may_change_the_machine() {
        return;
    }
    let Ok(number) = fs::read_to_string("/sys/class/zram-control/hot_add") else {
        return cannot("there is no zram here");
    };
    let zram = ZramDevice(number.trim().to_owned());
    let name = format!("zram{}", zram.0);
    let sys = PathBuf::from(format!("/sys/block/{name}"));
    fs::write(sys.join("disksize"), "64M").unwrap();
    fs::write(sys.join("mem_limit"), "48M").unwrap();
    let before = bytes(&mem()["account"]["parts"]["zram"]);
    // Noise does not compress; pages of one byte are not stored at all.
    let mut seed = 1_u64;
    let noise: Vec<u8> = std::iter::repeat_with(|| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 56) as u8
    })
    .take(16 << 20)
    .collect();
    let mut device = File::options().write(true).open(format!("/dev/{name}")).unwrap();
    device.write_all(&noise).unwrap();
    device.write_all(&vec![7; 8 << 20]).unwrap();
    device.sync_all().unwrap();
    drop(device);
    let after = mem();
    let grown = bytes(&after["account"]["parts"]["zram"]) - before;
    assert!((15 * MIB..24 * MIB).contains(&grown), "{grown}");
    let pools = after["compressed"].as_array().unwrap();
    let pool = pools.iter().find(|pool| pool["name"] == name.as_str()).unwrap();
    let told = ["size", "limit", "stored", "same_filled"].map(|field| bytes(&pool[field]) / MIB);
    assert_eq!(told, [64, 48, 24, 8], "{pool}");
    let text = Command::new(ZMTOP).arg("mem").output().unwrap();
    let text = String::from_utf8(text.stdout).unwrap();
    assert!(text.contains(&name), "{text}");
}

#[test]
fn a_process_that_is_swapped_out_is_in_the_account_of_swap() {
    const NAME: &str = "mem::real::a_process_that_is_swapped_out_is_in_the_account_of_swap";
    child::be(NAME);
    if !may_change_the_machine() {
        return;
    }
    let Some(_swap) = swap_file() else { return };
    let dir = tempfile::tempdir().unwrap();
    let child = Child::start_with(NAME, &dir.path().join("shared"), PAGE_OUT);
    let status = fs::read_to_string(format!("/proc/{}/status", child.pid())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmSwap:")).unwrap();
    let own: i64 = line.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(own << 10 > 6 * MIB, "{status}");
    let pid = child.pid();
    let output = Command::new(ZMTOP)
        .args(["ps", "--columns", "pid,swap", "--format", "json", &format!("pid:{pid}")])
        .output()
        .unwrap();
    let table: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(table["rows"][0]["pid"], pid, "{table}");
    assert!(bytes(&table["rows"][0]["swap"]) >= own << 10, "its owner: {table}");
    let document = mem();
    let account = &document["swap_account"];
    let part = |name: &str| bytes(&account[name]);
    assert!(part("processes") >= own << 10, "{account:#}");
    // Its shared anonymous memory is nobody's: it is in the rest, once it has left RAM.
    let parts = ["processes", "unreadable", "sysv", "tmpfs", "swap_cache", "rest"];
    let sum: i64 = parts.iter().filter_map(|name| account[name].as_i64()).sum();
    assert_eq!(sum, part("used"), "{account:#}");
    assert!(part("rest") + part("swap_cache") > 2 * MIB, "{account:#}");
    assert!(part("rest_mapped") + part("swap_cache") > 2 * MIB, "{account:#}");
}

#[test]
fn a_kill_for_lack_of_memory_is_seen_with_its_victim() {
    if !may_change_the_machine() {
        return;
    }
    let Ok(mounts) = zmtop::proc::cgroup::figures::mounts(&zmtop::proc::files::Roots::new(None)) else {
        return cannot("no memory controller is mounted here");
    };
    let name = format!("zmtop-test-oom-{}", std::process::id());
    let Some(cgroup) = crate::kernel::cgroup::make_outer(&mounts, &name) else {
        return cannot("no cgroup can be made here");
    };
    let files = ["memory.limit_in_bytes", "memory.max"].map(|file| cgroup.0.join(file));
    if !files.iter().any(|file| fs::write(file, "16777216").is_ok()) {
        return cannot("no limit can be set here");
    }
    // Swap belongs to another test.
    for file in ["memory.swappiness", "memory.swap.max"] {
        let _ = fs::write(cgroup.0.join(file), "0");
    }
    let mut scanner = Scanner::new(&crate::support::machine_options());
    block_on(scanner.full());
    // A shell joins the cgroup, and becomes a program that takes more than it may.
    let procs = cgroup.0.join("cgroup.procs");
    let script = format!(
        "echo $$ > {} && exec dd if=/dev/zero of=/dev/null bs=256M count=1",
        procs.display()
    );
    let mut hog = Command::new("/bin/sh").args(["-c", &script]).spawn().unwrap();
    let pid = hog.id();
    assert!(!hog.wait().unwrap().success());
    let began = Instant::now();
    loop {
        let snapshot = block_on(scanner.full());
        let victims = snapshot.oom_kills.iter().filter_map(|kill| kill.victim.as_ref().ok());
        if let Some(victim) = victims.into_iter().find(|victim| victim.pid == pid) {
            assert_eq!((&*victim.comm, victim.by_cgroup), (&b"dd"[..], true));
            // Mapped files may be charged to another cgroup.
            assert!((8 << 20..=24 << 20).contains(&victim.rss), "{victim:?}");
            return;
        }
        if snapshot.system.oom_kill.is_err() || snapshot.oom_kills.iter().any(|kill| kill.victim.is_err()) {
            return cannot("the kernel's log cannot be read here");
        }
        assert!(began.elapsed() < PATIENCE, "{:?}", snapshot.oom_kills);
        std::thread::sleep(Duration::from_millis(100));
    }
}

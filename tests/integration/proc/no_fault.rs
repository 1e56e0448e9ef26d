//! The mappings in which a read must not cause a page fault.

use zmtop::proc::maps::Area;
use zmtop::proc::namespace::Mounts;
use zmtop::proc::no_fault::NoFault;

const MOUNTINFO: &[u8] = b"\
22 1 8:1 / / rw - ext4 /dev/sda1 rw
23 22 0:21 / /tmp rw - tmpfs tmpfs rw
24 22 0:45 / /home rw,nosuid shared:1 - fuse.sshfs host:/home rw
25 22 0:46 / /net rw - nfs4 host:/net rw
26 22 0:47 / /var/lib/docker/overlay2/x rw - overlay overlay rw
broken line
";

fn mounts() -> Mounts {
    Mounts {
        own: MOUNTINFO.into(),
        theirs: MOUNTINFO.into(),
        ..Mounts::default()
    }
}

#[test]
fn pages_may_never_come_or_cost_memory() {
    let cases = [
        ("rw-p 00000000 08:01 12 /usr/lib/libc.so.6", false),
        ("rw-p 00000000 00:00 0", false),
        ("rw-p 00000000 00:00 0 [heap]", false),
        ("rw-s 00000000 00:15 12 /tmp/x", true),
        ("rw-p 00000000 00:15 12 /tmp/x", true),
        ("rw-s 00000000 08:01 12 /var/lib/x", true),
        ("rw-s 00000000 00:00 0", true),
        ("rw-p 00000000 00:2d 12 /home/a/libc.so.6", true),
        ("rw-p 00000000 00:2e 12 /net/lib.so", true),
        ("rw-p 00000000 00:2f 12 /lib/libc.so.6", false),
        ("rw-s 00000000 00:01 12 /memfd:x (deleted)", true),
        // A mount that was detached is in no list, and its paths begin anywhere.
        ("rw-p 00000000 00:63 12 /memfd:x (deleted)", true),
    ];
    for (line, is_held) in [
        ("7f0000000000-7f0002001000 rw-p 00000000 08:01 12 /var/lib/db", true),
        (
            "7f0000000000-7f0002001000 r--p 00000000 08:01 12 /usr/bin/program",
            false,
        ),
    ] {
        let mut no_fault = NoFault::default();
        no_fault.add(&Area::parse(line.as_bytes()).unwrap(), mounts);
        assert_eq!(no_fault.holds(0x7f00_0000_0000, 8), is_held, "{line}");
    }
    for (line, is_held) in cases {
        let mut no_fault = NoFault::default();
        let line = format!("7f0000000000-7f0000002000 {line}");
        no_fault.add(&Area::parse(line.as_bytes()).unwrap(), mounts);
        assert_eq!(no_fault.holds(0x7f00_0000_0000, 8), is_held, "{line}");
    }
}

#[test]
fn a_read_that_touches_one_of_several() {
    let mut no_fault = NoFault::default();
    for line in [
        "1000-3000 rw-p 00000000 00:2d 12 /a",
        "3000-5000 rw-p 00000000 08:01 12 /b",
        "5000-6000 rw-p 00000000 00:2d 12 /a",
    ] {
        no_fault.add(&Area::parse(line.as_bytes()).unwrap(), mounts);
    }
    let cases = [
        (0xff8, 8, false),
        (0xff8, 9, true),
        (0x2fff, 1, true),
        (0x3000, 0x2000, false),
        (0x3000, 0x2001, true),
        (0x5fff, 8, true),
        (0x6000, 8, false),
        (u64::MAX, 8, false),
    ];
    for (address, len, is_held) in cases {
        assert_eq!(no_fault.holds(address, len), is_held, "{address:x}");
    }
    no_fault.clear();
    assert!(!no_fault.holds(0x1000, 8));
}

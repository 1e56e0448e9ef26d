//! Mounts of cgroups, and the figures in their files.

use zmtop::model::{CgroupFigures, Missing};
use zmtop::proc::cgroup::charged;
use zmtop::proc::cgroup::figures::{figure, limit, swap_limit};
use zmtop::proc::cgroup::{Mounts, Version, above, mounts as parse};

const SYSFS: &str = "22 27 0:21 / /sys rw,nosuid shared:7 - sysfs sysfs rw\n";
const V2: &str =
    "29 22 0:26 / /sys/fs/cgroup rw,nosuid,nodev shared:9 - cgroup2 cgroup2 rw,nsdelegate,memory_recursiveprot\n";
const V1: &str = "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime shared:15 master:2 - cgroup cgroup rw,memory\n\
                  36 31 0:33 / /sys/fs/cgroup/devices rw - cgroup memory rw,devices\n";
const HYBRID: &str = "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
/// As in a container without a cgroup namespace: its own cgroup only, under its host's name.
const DOCKER: &str = "99 98 0:32 /docker/0123 /sys/fs/cgroup/memory ro master:15 - cgroup cgroup rw,memory\n";

fn mounts(parts: &[&str]) -> Mounts {
    parse(parts.concat().as_bytes()).unwrap()
}

fn directory(mounts: &Mounts, path: &str) -> Option<String> {
    let found = mounts.directory(path.as_bytes())?;
    Some(String::from_utf8(found).unwrap())
}

#[test]
fn the_hierarchy_with_the_memory_controller_is_found() {
    for (parts, version, path, expected) in [
        (
            &[SYSFS, V2][..],
            Version::V2,
            "/a.slice/b",
            Some("/sys/fs/cgroup/a.slice/b"),
        ),
        (&[SYSFS, V2], Version::V2, "/", Some("/sys/fs/cgroup")),
        (&[SYSFS, V1], Version::V1, "/a", Some("/sys/fs/cgroup/memory/a")),
        (&[HYBRID, V1], Version::V1, "/a", Some("/sys/fs/cgroup/memory/a")),
        (&[DOCKER], Version::V1, "/docker/0123", Some("/sys/fs/cgroup/memory")),
        (
            &[DOCKER],
            Version::V1,
            "/docker/0123/in",
            Some("/sys/fs/cgroup/memory/in"),
        ),
        (&[DOCKER], Version::V1, "/docker/01234", None),
        (&[DOCKER], Version::V1, "/docker", None),
        (&[DOCKER], Version::V1, "/", None),
        // A second mount of the same covers what the first does not.
        (&[DOCKER, V1], Version::V1, "/x", Some("/sys/fs/cgroup/memory/x")),
        // Outside the namespace, and what would climb.
        (&[V2], Version::V2, "/../other", None),
        (&[V2], Version::V2, "/a/../../etc", None),
        (&[V2], Version::V2, "relative", None),
        (&[V2], Version::V2, "", None),
        (&[V2], Version::V2, "/..a/b..", Some("/sys/fs/cgroup/..a/b..")),
    ] {
        let mounts = mounts(parts);
        assert_eq!(mounts.version, version, "{parts:?}");
        assert_eq!(directory(&mounts, path).as_deref(), expected, "{parts:?} {path}");
    }
}

#[test]
fn a_mount_that_cannot_be_used_is_none() {
    let other = "36 31 0:33 / /sys/fs/cgroup/devices rw - cgroup cgroup rw,devices\n";
    for bytes in ["", "\n", SYSFS, other, "1 2 3", "1 2 3 / /x rw cgroup2 cgroup2 rw\n"] {
        assert_eq!(parse(bytes.as_bytes()), Err(Missing::Unsupported), "{bytes}");
    }
}

#[test]
fn a_mount_under_another_is_not_seen() {
    // Each line is mounted on the mount named by the second number.
    let root = "1 0 0:1 / / rw - ext4 /dev/a rw\n";
    let sys = "2 1 0:2 / /sys rw - sysfs sysfs rw\n";
    let tmpfs = "3 2 0:3 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n";
    let whole = "4 3 0:4 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n";
    let machine = [root, sys, tmpfs, whole];
    // A cgroup of it, over the whole of it, or in a new tmpfs over all.
    let bound = "5 4 0:4 /out/in /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n";
    let fresh = "6 3 0:6 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n";
    let within = "7 6 0:4 /out/in /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n";
    let beside = "8 3 0:8 / /sys/fs/cgroup/mem rw - tmpfs tmpfs rw\n";
    let below = "9 4 0:9 / /sys/fs/cgroup/memory/out rw - tmpfs tmpfs rw\n";
    // Another sysfs, in which nothing is mounted; and the v2 hierarchy twice on one directory of a mount that is not listed.
    let bare = "10 1 0:2 / /sys rw - sysfs sysfs rw\n";
    let again = "30 22 0:26 /user /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
    let memory = Some("/sys/fs/cgroup/memory");
    let seen = |extra: &[&str], path: &str| {
        let text = [&machine[..], extra].concat().concat();
        parse(text.as_bytes()).map(|mounts| directory(&mounts, path))
    };
    for (extra, path, expected) in [
        (&[][..], "/out/in", Ok(Some("/sys/fs/cgroup/memory/out/in"))),
        (&[bound], "/out/in", Ok(memory)),
        (&[bound], "/out", Ok(None)),
        (&[fresh], "/out/in", Err(Missing::OutOfView)),
        (&[fresh, within], "/out/in", Ok(memory)),
        (&[fresh, within], "/", Ok(None)),
        // Whichever is listed first.
        (&[within, fresh], "/out/in", Ok(memory)),
        (&[beside, below], "/", Ok(memory)),
        (&[bare], "/out/in", Err(Missing::OutOfView)),
    ] {
        let found = seen(extra, path);
        assert_eq!(
            found.as_ref().map(Option::as_deref),
            expected.as_ref().copied(),
            "{extra:?} {path}"
        );
    }
    assert_eq!(
        directory(&mounts(&[V2, again]), "/user/a").as_deref(),
        Some("/sys/fs/cgroup/a")
    );
    // A loop, which no kernel writes.
    let looped = "1 2 0:26 / /a rw - cgroup2 cgroup2 rw\n2 1 0:27 / /b rw - tmpfs tmpfs rw\n";
    assert_eq!(directory(&mounts(&[looped]), "/x").as_deref(), Some("/a/x"));
}

#[test]
fn blanks_in_paths_are_written_in_octal() {
    let line = "29 22 0:26 /a\\040b /mnt/c\\011d\\134e\\9 rw - cgroup2 none rw\n";
    let mounts = mounts(&[line]);
    assert_eq!(directory(&mounts, "/a b/x").as_deref(), Some("/mnt/c\td\\e\\9/x"));
}

#[test]
fn another_trees_mounts_are_those_in_its_sysfs() {
    let elsewhere = "30 22 0:26 / /run/cg rw - cgroup2 cgroup2 rw\n";
    assert_eq!(
        directory(&mounts(&[V2]).within(b"/captured/sys"), "/a").as_deref(),
        Some("/captured/sys/fs/cgroup/a")
    );
    assert_eq!(directory(&mounts(&[elsewhere]).within(b"/captured/sys"), "/a"), None);
}

#[test]
fn above_a_cgroup_is_its_parent() {
    for (path, up) in [("/a/b", Some("/a")), ("/a", Some("/")), ("/", None), ("", None)] {
        assert_eq!(above(path.as_bytes()), up.map(str::as_bytes), "{path}");
    }
}

#[test]
fn ones_own_cgroup_is_that_of_the_hierarchy_that_counts() {
    let both = b"4:cpu,memory:/m\n0::/u:x\n";
    assert_eq!(charged(both, Version::V1), Ok(&b"/m"[..]));
    assert_eq!(charged(both, Version::V2), Ok(&b"/u:x"[..]));
    assert_eq!(charged(b"0::/u\n", Version::V1), Err(Missing::Unsupported));
    assert_eq!(charged(b"0:\n", Version::V2), Err(Missing::Unsupported));
}

#[test]
fn limits_as_each_version_writes_them() {
    for (text, expected) in [
        ("max", Ok(None)),
        ("1073741824", Ok(Some(1 << 30))),
        ("0", Ok(Some(0))),
        // No limit in v1, for pages of 4 and of 64 KiB.
        ("9223372036854771712", Ok(None)),
        ("9223372036854710272", Ok(None)),
        ("9223372036854775807", Ok(None)),
        ("18446744073709551615", Ok(None)),
        ("4611686018427387904", Ok(Some(1 << 62))),
        ("", Err(Missing::Malformed)),
        ("-1", Err(Missing::Malformed)),
        ("maximum", Err(Missing::Malformed)),
        ("99999999999999999999", Err(Missing::Malformed)),
    ] {
        assert_eq!(limit(text.as_bytes()), expected, "{text}");
    }
    assert_eq!(figure(b"4096"), Ok(4096));
    assert_eq!(figure(b"max"), Err(Missing::Malformed));
    // Memory and swap together, less memory.
    assert_eq!(swap_limit(Ok(Some(300)), Ok(Some(100))), Ok(Some(200)));
    assert_eq!(swap_limit(Ok(Some(300)), Ok(None)), Ok(Some(300)));
    assert_eq!(swap_limit(Ok(None), Ok(Some(100))), Ok(None));
    assert_eq!(swap_limit(Err(Missing::Denied), Ok(None)), Err(Missing::Denied));
}

#[test]
fn the_least_limit_on_the_way_up_holds() {
    let figures = |limit, swap_limit| CgroupFigures {
        current: Ok(5),
        swap: Ok(6),
        limit,
        swap_limit,
        ..CgroupFigures::missing(Missing::Unsupported)
    };
    let none = Ok(None);
    for (mine, above, expected) in [
        (none, none, none),
        (Ok(Some(3)), none, Ok(Some(3))),
        (none, Ok(Some(3)), Ok(Some(3))),
        (Ok(Some(2)), Ok(Some(3)), Ok(Some(2))),
        (Ok(Some(4)), Ok(Some(3)), Ok(Some(3))),
        (Ok(Some(4)), Err(Missing::Denied), Err(Missing::Denied)),
        (Err(Missing::TimedOut), Ok(Some(3)), Err(Missing::TimedOut)),
        // Its own limit holds, though one that is hidden may be lower.
        (Ok(Some(4)), Err(Missing::OutOfView), Ok(Some(4))),
        (none, Err(Missing::OutOfView), Err(Missing::OutOfView)),
    ] {
        let got = figures(mine, mine).below(&figures(above, above));
        assert_eq!((got.limit, got.current, got.swap), (expected, Ok(5), Ok(6)));
        assert_eq!(got.swap_limit, expected, "{mine:?} {above:?}");
    }
}

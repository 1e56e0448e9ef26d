//! Files as another process sees them: which mounts are trusted, and where paths lead.

use std::fs;
use std::io::Read;
use std::os::unix::fs::symlink;
use std::path::Path;

use rustix::io::Errno;
use zmtop::proc::namespace::{Mounts, Namespace};

const OWN: &[u8] = b"\
22 1 8:1 / / rw - ext4 /dev/sda1 rw
23 22 0:46 / /net rw - nfs4 host:/net rw
24 22 0:47 / /var/lib/docker/overlay2/x rw - overlay overlay rw
25 22 0:48 / /run/user/7/doc rw - fuse.portal portal rw,user_id=7,group_id=7
26 22 0:49 / /var/lib/lxcfs rw - fuse.lxcfs lxcfs rw,user_id=0,group_id=0
";
const THEIRS: &[u8] = b"\
60 1 0:47 / / rw - overlay overlay rw
61 60 8:1 /srv /srv rw - ext4 /dev/sda1 rw
62 60 0:46 / /net rw - nfs4 host:/net rw
63 60 0:70 / /tmp rw - tmpfs tmpfs rw
64 60 0:71 / /evil rw - fuse evil rw,user_id=0,group_id=0
65 60 0:72 / /over rw - overlay o rw,lowerdir=/evil
66 60 0:48 / /doc rw - fuse.portal portal rw,user_id=7,group_id=7
";

#[test]
fn mounts_that_another_user_may_serve_are_not_trusted() {
    let cases = [
        (3, true),
        (22, true),
        (23, true),
        (24, true),
        (25, false),
        (26, true),
        (60, true),
        (61, true),
        (62, true),
        (63, true),
        (64, false),
        (65, false),
        (66, false),
        // Detached, so it is in no list.
        (99, false),
    ];
    let mut mounts = Mounts {
        own: OWN.into(),
        theirs: THEIRS.into(),
        inner: vec![3],
        ..Mounts::default()
    };
    for (mount, is_trusted) in cases {
        assert_eq!(mounts.is_trusted(mount), is_trusted, "{mount}");
    }
    // An overlay of a user's own, as podman makes it, has no FUSE below it.
    mounts.is_without_fuse = true;
    assert!(mounts.is_trusted(65));
    assert!(!mounts.is_trusted(64));
}

fn text(namespace: &Namespace, path: &str) -> Result<String, Errno> {
    let mut text = String::new();
    namespace.file(Path::new(path))?.read_to_string(&mut text).unwrap();
    Ok(text)
}

#[test]
fn paths_stay_in_the_root_of_the_process() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("root");
    fs::create_dir_all(root.join("usr/lib")).unwrap();
    fs::write(root.join("usr/lib/a"), "inside").unwrap();
    fs::write(dir.path().join("a"), "outside").unwrap();
    symlink("usr/lib", root.join("lib")).unwrap();
    symlink("/usr/lib/a", root.join("usr/absolute")).unwrap();
    symlink("../../../../a", root.join("usr/lib/up")).unwrap();
    symlink("../lib/../lib/a", root.join("usr/lib/around")).unwrap();
    symlink("loop", root.join("loop")).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        root.join("fifo"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RWXU,
        0,
    )
    .unwrap();
    let namespace = Namespace::new(dir.path());
    let cases = [
        ("/usr/lib/a", Ok("inside")),
        ("/lib/a", Ok("inside")),
        ("/usr/absolute", Ok("inside")),
        ("/usr/lib/around", Ok("inside")),
        ("/../usr/./lib/a", Ok("inside")),
        ("/usr/lib/up", Err(Errno::NOENT)),
        ("/../a", Err(Errno::NOENT)),
        ("/usr/lib/a/b", Err(Errno::NOTDIR)),
        ("/loop", Err(Errno::LOOP)),
        // Neither waits for a writer, nor reads a directory.
        ("/fifo", Err(Errno::INVAL)),
        ("/usr", Err(Errno::INVAL)),
    ];
    for (path, expected) in cases {
        assert_eq!(text(&namespace, path).as_deref(), expected.as_ref().copied(), "{path}");
    }
    assert!(namespace.pin_plain(Path::new("/usr/lib/a")).is_ok());
    assert_eq!(namespace.pin_plain(Path::new("/lib/a")).unwrap_err(), Errno::LOOP);
}

#[test]
fn the_kernels_links_lead_to_files() {
    let mut head = [0; 4];
    Namespace::own().link("exe").unwrap().read_exact(&mut head).unwrap();
    assert_eq!(&head, b"\x7fELF");
    let memfd = rustix::fs::memfd_create(c"x", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
    rustix::io::write(&memfd, b"shared").unwrap();
    let link = format!("fd/{}", std::os::fd::AsRawFd::as_raw_fd(&memfd));
    let mut shared = String::new();
    Namespace::own()
        .link(&link)
        .unwrap()
        .read_to_string(&mut shared)
        .unwrap();
    assert_eq!(shared, "shared");
}

//! The log's file.

use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use zmtop::config::state::{Log, open_log};

#[test]
fn it_is_made_private_and_appended_to() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("z.log");
    open_log(&path).unwrap().write_all(b"one\n").unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o666)).unwrap();
    open_log(&path).unwrap().write_all(b"two\n").unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "one\ntwo\n");
    assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
}

#[test]
fn what_could_lead_it_astray_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    let refusal = |name: &str| open_log(&at(name)).unwrap_err().to_string();
    std::fs::write(at("target"), "untouched").unwrap();

    symlink(at("target"), at("link")).unwrap();
    assert_eq!(refusal("link"), "is a symbolic link");
    symlink(at("nothing"), at("dangling")).unwrap();
    assert_eq!(refusal("dangling"), "is a symbolic link");
    assert!(!at("nothing").exists());

    std::fs::hard_link(at("target"), at("hard")).unwrap();
    assert_eq!(refusal("hard"), "has a second name (a hard link)");

    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    let fifo = |name| rustix::fs::mknodat(rustix::fs::CWD, at(name), rustix::fs::FileType::Fifo, mode, 0).unwrap();
    fifo("fifo");
    assert_eq!(refusal("fifo"), "is a FIFO or a socket, not a regular file");
    fifo("read");
    let reader = rustix::fs::openat(
        rustix::fs::CWD,
        at("read"),
        rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::NONBLOCK,
        rustix::fs::Mode::empty(),
    );
    assert_eq!(refusal("read"), "is a FIFO, not a regular file");
    drop(reader);

    std::fs::create_dir(at("dir")).unwrap();
    assert!(refusal("dir").contains("directory"), "{}", refusal("dir"));
    assert!(open_log("/dev/full".as_ref()).is_err());
    assert_eq!(std::fs::read_to_string(at("target")).unwrap(), "untouched");
}

#[test]
fn the_file_of_another_user_is_refused() {
    if !rustix::process::geteuid().is_root() {
        return; // only root can give a file away
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("z.log");
    std::fs::write(&path, "").unwrap();
    std::os::unix::fs::chown(&path, Some(65534), None).unwrap();
    assert_eq!(open_log(&path).unwrap_err().to_string(), "belongs to another user");
}

#[test]
fn it_follows_its_path_when_it_is_rotated() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    let read = |name: &str| std::fs::read_to_string(at(name)).unwrap();
    let mut log = Log::open(&at("z.log")).unwrap();
    let mut say = |line: &str| log.write_all(line.as_bytes()).unwrap();
    say("one\n");
    std::fs::rename(at("z.log"), at("z.log.1")).unwrap();
    say("two\n");
    assert_eq!((&*read("z.log.1"), &*read("z.log")), ("one\n", "two\n"));
    // logrotate may have created the new file.
    std::fs::rename(at("z.log"), at("z.log.1")).unwrap();
    std::fs::write(at("z.log"), "").unwrap();
    say("three\n");
    assert_eq!((&*read("z.log.1"), &*read("z.log")), ("two\n", "three\n"));
    // What may not be opened is not followed, until it may.
    std::fs::rename(at("z.log"), at("z.log.1")).unwrap();
    std::fs::create_dir(at("z.log")).unwrap();
    say("four\n");
    std::fs::remove_dir(at("z.log")).unwrap();
    say("five\n");
    assert_eq!((&*read("z.log.1"), &*read("z.log")), ("three\nfour\n", "five\n"));
    // A deleted file does not grow.
    let deleted = std::fs::File::open(at("z.log")).unwrap();
    std::fs::remove_file(at("z.log")).unwrap();
    std::fs::create_dir(at("z.log")).unwrap();
    say("six\n");
    assert_eq!(deleted.metadata().unwrap().len(), 5);
    std::fs::remove_dir(at("z.log")).unwrap();
    say("seven\n");
    assert_eq!(read("z.log"), "seven\n");
}

//! Files that fill the page cache: the kernel's figures for a file, the files that are found, and `zmtop cache`.

use std::cell::Cell;
use std::fs::{self, File};
use std::io::Write;
use std::ops::ControlFlow;
use std::os::fd::AsFd;
use std::os::unix::fs::{MetadataExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::ptr::null_mut;

use rustix::fs::{AtFlags, CWD, MemfdFlags, Mode, StatxFlags, mkfifoat};
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags};
use serde_json::Value as Json;
use tempfile::TempDir;
use zmtop::columns::Value;
use zmtop::columns::cached_file::{COLUMNS, CachedRow, notes};
use zmtop::model::Missing;
use zmtop::model::page_cache::{CacheFigures, CachedFile, FileKind, PageCache};
use zmtop::proc::maps::MappedFiles;
use zmtop::proc::page_cache::{FileSystem, cachestat, figures, file_systems, mincore, piece};
use zmtop::sampler::Options;
use zmtop::sampler::page_cache::{Named, Progress, read};
use zmtop::tui::{CacheScope, Effect, Event};
use zmtop::units::Units;

use crate::support::session::Session;
use crate::support::tree::ProcTree;

const NOTHING: &dyn Fn() = &|| {};

fn page() -> u64 {
    rustix::param::page_size() as u64
}

/// A file of 64 pages, the first eight of which are in memory and stay there.
struct HalfCached {
    file: File,
    area: *mut std::ffi::c_void,
    len: usize,
}

impl HalfCached {
    fn new(path: &Path) -> Self {
        let len = 8 * page() as usize;
        let mut file = File::options()
            .create_new(true)
            .read(true)
            .write(true)
            .open(path)
            .unwrap();
        file.write_all(&vec![1; len]).unwrap();
        file.set_len(64 * page()).unwrap();
        #[expect(unsafe_code, reason = "mappings are unsafe")]
        // SAFETY: a new mapping, which nothing reads. It is locked, so that its pages stay in memory.
        let area = unsafe {
            let area = rustix::mm::mmap(null_mut(), len, ProtFlags::READ, MapFlags::SHARED, &file, 0).unwrap();
            rustix::mm::mlock(area, len).unwrap();
            area
        };
        Self { file, area, len }
    }
}

impl Drop for HalfCached {
    fn drop(&mut self) {
        #[expect(unsafe_code, reason = "mappings are unsafe")]
        // SAFETY: the mapping of `new`.
        unsafe {
            rustix::mm::munmap(self.area, self.len).unwrap();
        }
    }
}

fn look(named: &[Named], max_files: usize) -> PageCache {
    read(&Options::new(None), named, max_files, |_| ControlFlow::Continue(())).unwrap()
}

fn names(found: &PageCache) -> Vec<String> {
    let name = |file: &CachedFile| {
        let path = PathBuf::from(String::from_utf8(file.path.to_vec()).unwrap());
        path.file_name().unwrap().to_string_lossy().into_owned()
    };
    let mut names: Vec<_> = found.files.iter().map(name).collect();
    names.sort();
    names
}

#[test]
fn the_kernel_tells_what_is_cached_to_the_page() {
    let dir = TempDir::new().unwrap();
    let half = HalfCached::new(&dir.path().join("half"));
    let (file, size) = (half.file.as_fd(), 64 * page());
    assert_eq!(mincore(file, size, NOTHING), Ok(8 * page()));
    // Linux 6.5; seccomp may hide it.
    if let Ok(counted) = cachestat(file, size, NOTHING) {
        assert_eq!(counted.cached, 8 * page());
        assert!(counted.dirty.unwrap() <= 8 * page(), "{counted:?}");
    }
    let stat = rustix::fs::statx(file, "", AtFlags::EMPTY_PATH, StatxFlags::BASIC_STATS).unwrap();
    for is_overlay in [false, true] {
        let found = figures(file, &stat, is_overlay, NOTHING).unwrap();
        assert_eq!(found.cached, 8 * page(), "{is_overlay}");
    }
    // The files of an overlay belong to another file system, of which only the pages are known.
    assert_eq!(
        figures(file, &stat, true, NOTHING).unwrap().dirty,
        Err(Missing::Unsupported)
    );
    let found = look(&[Named::Path(dir.path().into())], 10);
    let [only] = &found.files[..] else { panic!("{found:?}") };
    assert_eq!(only.figures.unwrap().cached, 8 * page());
    assert_eq!((only.share(page()), only.size), (Some(0.125), Ok(size)));
}

#[test]
fn a_file_has_at_most_1024_pieces_of_whole_pages_however_large_it_is() {
    const GIB: u64 = 1 << 30;
    for (size, expected) in [
        (0, 16 * GIB),
        (1, 16 * GIB),
        (16 * 1024 * GIB, 16 * GIB),
        (16 * 1024 * GIB + 1, 32 * GIB),
        (1 << 62, 1 << 52),
        (i64::MAX as u64, 1 << 53),
    ] {
        let piece = piece(size);
        assert_eq!(piece, expected, "{size}");
        assert!(size.div_ceil(piece) <= 1024 && piece.is_multiple_of(64 << 10), "{size}");
    }
}

#[test]
fn a_file_of_exabytes_takes_no_more_calls_than_one_of_terabytes() {
    let calls = Cell::new(0);
    let count = &|| calls.set(calls.get() + 1);
    let size = 1_u64 << 62;
    let memory = rustix::fs::memfd_create("zmtop-exabytes", MemfdFlags::CLOEXEC).unwrap();
    rustix::fs::ftruncate(&memory, size).unwrap();
    for at in [0, 1 << 61, (1 << 61) + page(), size - 1] {
        assert_eq!(rustix::io::pwrite(&memory, b"x", at), Ok(1));
    }
    // Nothing is mapped that would take a byte for each page.
    assert_eq!(mincore(memory.as_fd(), size, count), Err(Errno::FBIG));
    assert_eq!(calls.get(), 0);
    // Linux 6.5; seccomp may hide it.
    let Ok(counted) = cachestat(memory.as_fd(), size, count) else {
        return;
    };
    assert_eq!((counted.cached, calls.get()), (4 * page(), 1024));
    let found = look(&[Named::Process(std::process::id())], 1000);
    let of_it = |file: &&CachedFile| file.path.ends_with(b"/memfd:zmtop-exabytes");
    let file = found.files.iter().find(of_it).unwrap();
    assert_eq!((file.size, file.figures.unwrap().cached), (Ok(size), 4 * page()));
}

#[test]
fn a_directory_is_walked_without_links_and_special_files() {
    let dir = TempDir::new().unwrap();
    let at = |name: &str| dir.path().join(name);
    fs::create_dir_all(at("below/further")).unwrap();
    fs::write(at("one"), "1").unwrap();
    fs::write(at("below/two"), "22").unwrap();
    fs::write(at("below/further/three\x1b[31m"), "333").unwrap();
    fs::write(at("empty"), "").unwrap();
    fs::hard_link(at("one"), at("below/one again")).unwrap();
    symlink("/usr", at("usr")).unwrap();
    symlink("one", at("link")).unwrap();
    symlink(dir.path(), at("below/loop")).unwrap();
    mkfifoat(CWD, at("fifo"), Mode::RUSR | Mode::WUSR).unwrap();
    let _socket = UnixListener::bind(at("socket")).unwrap();
    let found = look(&[Named::Path(dir.path().into())], 10);
    let names = names(&found);
    assert_eq!(names.len(), 3, "{names:?}");
    assert!(
        names.iter().any(|name| name == "one" || name == "one again"),
        "{names:?}"
    );
    assert!(names.contains(&"two".into()) && names.contains(&"three\x1b[31m".into()));
    assert_eq!((found.left_out, found.unread_paths.len()), ((0, 0), 0));
    // A path that is named is followed, and what is named twice counts once.
    let twice = look(&[Named::Path(at("link")), Named::Path(at("one"))], 10);
    assert_eq!(twice.files.len(), 1);
    assert_eq!(
        twice.files[0].path,
        fs::canonicalize(at("one"))
            .unwrap()
            .into_os_string()
            .into_encoded_bytes()
            .into()
    );
}

#[test]
fn the_largest_come_first_and_the_others_are_counted() {
    let dir = TempDir::new().unwrap();
    for size in 1..=5_usize {
        fs::write(dir.path().join(size.to_string()), vec![0; size]).unwrap();
    }
    let found = look(&[Named::Path(dir.path().into())], 2);
    assert_eq!(names(&found), ["4", "5"]);
    assert_eq!(found.left_out, (3, 1 + 2 + 3));
    let notes = notes(&found, Units::Bytes);
    assert!(
        notes.contains(
            &"examined 2 of 5 files, the largest first; at most 6 of the others is cached (their total size)".into()
        ),
        "{notes:?}"
    );
}

#[test]
fn a_process_has_files_open_and_mapped() {
    let dir = TempDir::new().unwrap();
    let half = HalfCached::new(&dir.path().join("open"));
    let gone = dir.path().join("gone");
    let mut unlinked = File::create_new(&gone).unwrap();
    unlinked.write_all(b"x").unwrap();
    fs::remove_file(&gone).unwrap();
    mkfifoat(CWD, dir.path().join("fifo"), Mode::RUSR | Mode::WUSR).unwrap();
    let _fifo = File::options()
        .read(true)
        .write(true)
        .open(dir.path().join("fifo"))
        .unwrap();
    let memory = rustix::fs::memfd_create("zmtop-test", MemfdFlags::CLOEXEC).unwrap();
    rustix::io::write(&memory, b"x").unwrap();
    let _status = File::open("/proc/self/status").unwrap();
    let own = std::process::id();
    let found = look(&[Named::Process(own)], 1000);
    let file = |name: &str| {
        let is_it = |file: &&CachedFile| file.path.ends_with(name.as_bytes());
        found.files.iter().find(is_it)
    };
    let open = file("/open").unwrap();
    assert_eq!((open.processes, open.is_deleted), (Ok(1), false));
    assert_eq!(open.first.as_ref().unwrap().0, own);
    assert_eq!(open.figures.unwrap().cached, 8 * page());
    assert!(file("/gone").unwrap().is_deleted);
    assert_eq!(file("/memfd:zmtop-test").unwrap().kind, FileKind::Shmem);
    assert!(file("fifo").is_none() && file("status").is_none());
    // Its program is mapped.
    let program = fs::metadata("/proc/self/exe").unwrap().size();
    assert!(found.files.iter().any(|file| file.size == Ok(program)));
    drop(half);
}

#[test]
fn a_named_file_has_the_processes_that_have_it_open() {
    let dir = TempDir::new().unwrap();
    let half = HalfCached::new(&dir.path().join("open"));
    fs::write(dir.path().join("closed"), "x").unwrap();
    let found = look(&[Named::Path(dir.path().into())], 1000);
    assert_eq!(names(&found), ["closed", "open"]);
    let of = |name: &[u8]| {
        let file = found.files.iter().find(|file| file.path.ends_with(name)).unwrap();
        (file.processes, file.first.as_ref().map(|(pid, _)| *pid))
    };
    assert_eq!(of(b"open"), (Ok(1), Some(std::process::id())));
    // Only who may look at all processes knows that nobody has it open.
    let all = if found.unread_processes.is_empty() {
        Ok(0)
    } else {
        Err(Missing::Denied)
    };
    assert_eq!(of(b"closed"), (all, None));
    drop(half);
    // In a copy of /proc, links lead elsewhere: nobody is known.
    let tree = ProcTree::new();
    let (_, out, _) = tree.zmtop(&format!("cache {} --columns processes,file", dir.path().display()));
    assert!(
        out.lines()
            .skip(1)
            .take(2)
            .all(|line| line.trim_start().starts_with("- ")),
        "{out}"
    );
}

#[test]
fn an_interrupted_read_has_what_was_read_so_far() {
    let dir = TempDir::new().unwrap();
    fs::write(dir.path().join("a"), "1").unwrap();
    let mut seen = Vec::new();
    let found = read(&Options::new(None), &[Named::Path(dir.path().into())], 9, |progress| {
        seen.push(progress);
        ControlFlow::Break(())
    });
    assert_eq!(seen, [Progress::Listing(1, 2, 0)]);
    assert_eq!(found.unwrap().files, []);
}

#[test]
fn file_systems_are_known_by_their_mounts_and_types() {
    let mountinfo = b"1 0 8:1 / / rw - ext4 /dev/sda1 rw\n2 1 0:22 / /proc rw - proc proc rw\n3 1 0:40 / /var rw - overlay \
                      overlay rw\nmalformed\n6 1 0:2 / / rw - rootfs rootfs rw\n4 1 0:5 / /dev/shm rw shared:3 - tmpfs tmpfs rw\n5 1 0-7 / /x rw - nfs x rw\n";
    let found: Vec<_> = file_systems(mountinfo).collect();
    let overlay = FileSystem {
        is_overlay: true,
        ..FileSystem::PLAIN
    };
    let tmpfs = FileSystem {
        kind: FileKind::Shmem,
        ..FileSystem::PLAIN
    };
    let expected = [
        ((8, 1), Some(FileSystem::PLAIN)),
        ((0, 22), None),
        ((0, 40), Some(overlay)),
        ((0, 5), Some(tmpfs)),
    ];
    assert_eq!(found, expected);
    assert_eq!(FileSystem::of_type(0x0102_1994), tmpfs);
    assert_eq!(FileSystem::of_type(0x794c_7630), overlay);
    assert_eq!(FileSystem::of_type(0x6969), FileSystem::PLAIN);
}

#[test]
fn mapped_files_are_listed_once() {
    let maps = b"00400000-00401000 r-xp 00000000 08:01 7                          /bin/a b\n\
                 00401000-00402000 rw-p 00001000 08:01 7                          /bin/a b\n\
                 7f00-7f10 rw-p 00000000 00:00 0                                  [heap]\n\
                 8f00-8f10 r--p 00000000 08:01 8                                  /lib/c (deleted)\n\
                 9f00-9f10 rw-p 00000000 00:00 0 \n\
                 malformed\n";
    for piece in [1, 7, maps.len()] {
        let mut files = MappedFiles::default();
        maps.chunks(piece).for_each(|piece| files.feed(piece));
        let found = files
            .all
            .iter()
            .map(|file| (file.id, file.range, &*file.name.bytes, file.name.deleted));
        let expected = [
            (((8, 1), 7), (0x40_0000, 0x40_1000), &b"/bin/a b"[..], false),
            (((8, 1), 8), (0x8f00, 0x8f10), &b"/lib/c"[..], true),
        ];
        assert_eq!(found.collect::<Vec<_>>(), expected);
    }
}

fn file(path: &str, cached: Option<u64>, kind: FileKind) -> CachedFile {
    CachedFile {
        path: path.as_bytes().into(),
        is_deleted: path.ends_with("old"),
        kind,
        size: Ok(1 << 30),
        figures: cached.map_or(Err(Missing::Denied), |cached| {
            Ok(CacheFigures {
                dirty: Ok(cached / 4),
                ..CacheFigures::only(cached, Ok(0))
            })
        }),
        processes: Ok(2),
        first: Some((77, (*b"post\x1b[31mgres").into())),
    }
}

fn found() -> PageCache {
    PageCache {
        is_of_all: true,
        files: vec![
            file(
                "/var/lib/postgresql/16/main/base/16384/24601",
                Some(900 << 20),
                FileKind::Cache,
            ),
            file("/var/log/\x1b]52;c;x\x07.old", Some(200 << 20), FileKind::Cache),
            file("/dev/shm/ring", Some(50 << 20), FileKind::Shmem),
            file("/root/secret", None, FileKind::Cache),
        ],
        left_out: (0, 0),
        unread_processes: Vec::new(),
        unread_paths: Vec::new(),
        machine: Ok(5 << 30),
        page: 4096,
    }
}

#[test]
fn the_sentence_beside_the_machine_says_what_it_lacks() {
    let mut found = found();
    let first = |found: &PageCache| notes(found, Units::Auto)[0].clone();
    assert_eq!(
        notes(&found, Units::Auto),
        [
            "1.1G of 5.0G of page cache is in files that are open or mapped; the rest belongs to files that are closed or \
             could not be read",
            "50.0M in files of tmpfs is shared memory, and in no total here",
            "1 file unknown: the kernel reports the cached part of a file only to its owner and to users who may write to it",
        ]
    );
    found.files.pop();
    assert!(first(&found).ends_with("the rest belongs to files that are closed"));
    found.is_of_all = false;
    assert!(first(&found).ends_with("1.1G of 5.0G of page cache is in these files; the rest belongs to others"));
    found.machine = Err(Missing::Unsupported);
    assert!(first(&found).contains("unknown"), "{}", first(&found));
    assert_eq!(
        CachedFile {
            size: Ok(0),
            ..found.files[0].clone()
        }
        .share(4096),
        None
    );
    // A file that grew meanwhile is not cached more than in full.
    assert_eq!(
        CachedFile {
            size: Ok(1),
            ..found.files[0].clone()
        }
        .share(4096),
        Some(1.0)
    );
}

#[test]
fn the_command_writes_all_formats_and_refuses_what_is_no_file() {
    let tree = ProcTree::new();
    let dir = TempDir::new().unwrap();
    let at = |name: &str| dir.path().join(name).display().to_string();
    fs::write(at("e\x1b[31mvil"), "12345").unwrap();
    fs::write(at("=cmd()"), "12").unwrap();
    let (code, out, err) = tree.zmtop(&format!("cache {} --sort -size", at("")));
    assert_eq!((code, err.as_str()), (Some(0), ""));
    let lines: Vec<_> = out.lines().collect();
    assert!(
        lines[1].ends_with("/=cmd()") && lines[2].ends_with("/e\\x1b[31mvil"),
        "{out}"
    );
    assert!(
        lines[3].ends_with("2 files") && lines[4].contains("of page cache is in these files"),
        "{out}"
    );
    let (_, json, _) = tree.zmtop(&format!("cache {} --format json --filter evil --units bytes", at("")));
    let value: Json = serde_json::from_str(&json).unwrap();
    assert_eq!(value["schema"], "zmtop-cache/1");
    assert_eq!(value["files"].as_array().unwrap().len(), 0);
    let (_, json, _) = tree.zmtop(&format!("cache {} --format json --filter size>3", at("")));
    let value: Json = serde_json::from_str(&json).unwrap();
    assert_eq!(value["files"][0]["size"], 5);
    assert_eq!(value["looked_at"], 2);
    let (_, csv, _) = tree.zmtop(&format!(
        "cache {} --format csv --columns size,file --sort size",
        at("")
    ));
    assert!(csv.starts_with("size,file\r\n5,") && !csv.contains('\x1b'), "{csv:?}");

    mkfifoat(CWD, at("fifo"), Mode::RUSR | Mode::WUSR).unwrap();
    let (code, _, err) = tree.zmtop(&format!("cache {}", at("fifo")));
    assert!(code == Some(2) && err.contains("is a pipe"), "{err}");
    let (code, _, err) = tree.zmtop("cache /dev/null");
    assert!(code == Some(2) && err.contains("is a device"), "{err}");
    let (code, _, err) = tree.zmtop(&format!("cache {}", at("nothing")));
    assert!(
        code == Some(3) && err.contains("there is no file and no cgroup"),
        "{err}"
    );
    // In a copy of /proc, descriptors would lead to files of this machine.
    tree.process(7).write();
    let (code, _, err) = tree.zmtop("cache");
    assert!(
        code == Some(3) && err.contains("only be read from the kernel's own /proc"),
        "{err}"
    );
}

#[test]
fn a_sum_of_files_that_are_partly_unknown_is_a_lower_bound() {
    let known = file("/x", Some(1 << 20), FileKind::Cache);
    let of_overlay = CachedFile {
        figures: Ok(CacheFigures::only(1 << 20, Err(Missing::Unsupported))),
        ..known.clone()
    };
    let dirty = |files: &[&CachedFile]| {
        let rows: Vec<_> = files.iter().map(|file| CachedRow::new(file, 4096)).collect();
        let total = CachedRow::total(&rows, 4096);
        assert!(matches!((COLUMNS[0].value)(&total), Value::Bytes(_)));
        format!("{:?}", (COLUMNS[1].value)(&total))
    };
    assert_eq!(dirty(&[]), "Bytes(0)");
    assert_eq!(dirty(&[&known, &known]), "Bytes(524288)");
    assert_eq!(dirty(&[&known, &of_overlay]), "AtLeast(262144)");
    assert_eq!(dirty(&[&of_overlay, &known]), "AtLeast(262144)");
    assert_eq!(dirty(&[&of_overlay]), "Missing(Unsupported)");
}

#[test]
fn every_figure_of_an_unread_file_is_unknown() {
    let unread = file("/x", None, FileKind::Cache);
    let row = CachedRow::new(&unread, 4096);
    for column in COLUMNS.iter().take(5) {
        assert_eq!((column.value)(&row).number(), None, "{}", column.id);
    }
}

/// Page 2 with the file cache selected.
fn at_files() -> Session {
    let mut session = Session::new(120, 40);
    session.minute().keys("2");
    session.keys("/").types("file cache").keys("Enter");
    session
}

#[test]
fn enter_on_the_file_cache_lists_its_files() {
    let mut session = at_files();
    assert!(session.picture().contains("files"), "{}", session.picture());
    session.keys("Enter");
    assert_eq!(session.effects.last(), Some(&Effect::ReadCache(1, CacheScope::All)));
    session.feed(Event::CacheProgress(1, Progress::Listing(3, 9, 41)));
    assert!(
        session.picture().contains("41 files found, 3 of 9 listed"),
        "{}",
        session.picture()
    );
    // Whoever asks again while it is read waits for the same read.
    let effects = session.effects.len();
    session.keys("Esc Enter");
    assert_eq!(session.effects.len(), effects);
    session.feed(Event::CacheRead(1, Ok(found().into())));
    insta::with_settings!(
        { snapshot_path => "snapshots", prepend_module_to_snapshot => false, omit_expression => true },
        { insta::assert_snapshot!("page-cache-120x40", session.picture()); }
    );
    session.keys("j");
    session.types("log");
    assert!(session.picture().contains("/var/log/"), "{}", session.picture());
    session
        .keys("Esc Esc Enter")
        .feed(Event::CacheRead(1, Ok(found().into())));
    assert_eq!(session.effects.last(), Some(&Effect::ReadCache(2, CacheScope::All)));
    session.feed(Event::CacheRead(2, Err(Missing::Unsupported)));
    assert!(
        session.picture().contains("only be read from the kernel's own /proc"),
        "{}",
        session.picture()
    );
    for (width, height) in [(20, 8), (40, 16), (200, 50)] {
        session.feed(Event::Resize(width, height));
        session.picture();
    }
}

//! Recordings as they are written: files and folders, their retention, and what a killed writer leaves.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use rustix::fs::{IFlags, ioctl_setflags};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tempfile::TempDir;
use zmtop::config::settings::{RecordSettings, Retention};
use zmtop::config::{Settings, state};
use zmtop::model::{Missing, Snapshot};
use zmtop::record::{GroupWriter, HEADER, Incident, IncidentKind};
use zmtop::recorder::{Entry, FaultNews, Flush, Folder, Options, Pin, Place, Recorder, Writer, to_delete};
use zmtop::source::{Recording, Source};

use crate::support::rows::{process, snapshot};
use crate::support::tree::ProcTree;
use crate::support::{Owned, PATIENCE, alert, cannot, fill, long, name_of};

/// Midday of a day in 2026.
const DAY: Duration = Duration::from_secs(1_795_521_600);
const MIB: u64 = 1 << 20;

fn settings() -> RecordSettings {
    Settings::default().record
}

/// A snapshot so many seconds after midday.
fn at(seconds: u64) -> Snapshot {
    let mut made = snapshot(
        Duration::from_secs(1000 + seconds),
        vec![process(1, 0, "/sbin/init --deserialize 5"), process(7, 1, "job")],
    );
    made.time = SystemTime::UNIX_EPOCH + DAY + Duration::from_secs(seconds);
    made
}

#[track_caller]
fn wait_until(is_so: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < PATIENCE, "it never is");
        thread::sleep(Duration::from_millis(5));
    }
}

fn folder() -> (TempDir, Writer) {
    let dir = tempfile::tempdir().unwrap();
    let writer = open(dir.path());
    (dir, writer)
}

fn open(path: &Path) -> Writer {
    // A process that another test has just started may still have the lock of the former writer, until it executes its program.
    let deadline = Instant::now() + Duration::from_secs(60);
    let mut folder = Folder::open(path);
    while folder.is_err() && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(20));
        folder = Folder::open(path);
    }
    let place = Place::Folder(folder.unwrap(), settings().retention());
    Writer::new(Options::new(place, &settings())).unwrap()
}

fn record(writer: &mut Writer, snapshot: Snapshot, incidents: &[IncidentKind]) {
    let incidents: Vec<_> = incidents
        .iter()
        .map(|kind| Incident::new(snapshot.time, *kind, "it happened".into()))
        .collect();
    writer.record(&Arc::new(snapshot), &incidents);
    assert_eq!(writer.status().fault, None);
}

/// The names of the recordings of a folder, sorted.
fn names(dir: &TempDir) -> Vec<String> {
    let all = fs::read_dir(dir.path()).unwrap();
    let mut names: Vec<String> = all
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.retain(|name| name != ".lock");
    names.sort();
    names
}

fn read(path: &Path) -> Vec<Arc<Snapshot>> {
    let read: Result<Vec<_>, _> = Source::open(path).unwrap().collect();
    read.unwrap_or_else(|fault| panic!("{fault}"))
}

#[test]
fn snapshots_that_come_during_a_flush_share_the_next_one() {
    // How often the disk was flushed; it takes that lock for each.
    static DISK: Mutex<usize> = Mutex::new(0);
    static FLUSHES: AtomicUsize = AtomicUsize::new(0);
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("rec.zmrec");
    let recorder = Recorder::start(Options {
        flush: Flush::Snapshot,
        sync: |_| {
            FLUSHES.fetch_add(1, Ordering::SeqCst);
            *DISK.lock().unwrap() += 1;
            Ok(())
        },
        ..Options::plain(Place::File(file.clone()))
    })
    .unwrap();
    let until = |snapshots| wait_until(|| recorder.status().snapshots >= snapshots);
    let mut disk = DISK.lock().unwrap();
    recorder.record(&Arc::new(at(0)), Vec::new());
    // It is written, and waits for the disk. What comes before that would be written with it.
    wait_until(|| FLUSHES.load(Ordering::SeqCst) == 1);
    for second in 1..=6 {
        recorder.record(&Arc::new(at(second)), Vec::new());
    }
    *disk = 0;
    drop(disk);
    until(7);
    assert_eq!(recorder.end().lost, 0);
    // The one under way, and one for all six.
    assert_eq!(*DISK.lock().unwrap(), 2);
    assert_eq!(read(&file).len(), 7);
}

#[test]
fn the_oldest_and_the_surplus_are_deleted() {
    let now = SystemTime::UNIX_EPOCH + DAY;
    let file = |name: &str, hours: u64, mib: u64| Entry {
        name: name.into(),
        bytes: mib * MIB,
        changed: now - Duration::from_secs(hours * 3600),
    };
    let files = vec![
        file("a.zmrec", 50, 1),
        file("b.pinned.zmrec", 50, 9),
        file("c.zmrec", 5, 60),
        file("d.zmrec", 4, 60),
        file("e.zmrec", 1, 30),
        file("f.pinned.zmrec", 3, 30),
        file("g.pinned.zmrec", 2, 30),
    ];
    let retention = |age: u64, bytes, pinned_age: u64, pinned_bytes| Retention {
        age: Duration::from_secs(age * 3600),
        bytes: bytes * MIB,
        pinned_age: Duration::from_secs(pinned_age * 3600),
        pinned_bytes: pinned_bytes * MIB,
    };
    let cases: [(Retention, &[&str]); 7] = [
        (retention(100, 1000, 100, 1000), &[]),
        (retention(24, 1000, 100, 1000), &["a.zmrec"]),
        (retention(100, 100, 100, 1000), &["a.zmrec", "c.zmrec"]),
        (retention(24, 1000, 24, 1000), &["a.zmrec", "b.pinned.zmrec"]),
        // Beyond the age or the space of pinned files, they are as the others.
        (retention(100, 1000, 24, 1000), &[]),
        (retention(100, 155, 100, 60), &["a.zmrec", "b.pinned.zmrec"]),
        // The newest one is larger than all their space.
        (retention(100, 1000, 100, 20), &[]),
    ];
    for (retention, deleted) in cases {
        let deleted: Vec<OsString> = deleted.iter().map(Into::into).collect();
        assert_eq!(to_delete(&retention, files.clone(), now), deleted, "{retention:?}");
    }
}

#[test]
fn files_from_a_clock_that_was_ahead_use_up_no_space_of_later_ones() {
    let now = SystemTime::UNIX_EPOCH + DAY;
    let file = |name: &str, changed: SystemTime| Entry {
        name: name.into(),
        bytes: MIB,
        changed,
    };
    let retention = Retention {
        age: DAY,
        bytes: 3 * MIB,
        pinned_age: DAY,
        pinned_bytes: 2 * MIB,
    };
    let year = now + 365 * DAY;
    let hour = Duration::from_secs(3600);
    let files = vec![
        file("a.zmrec", year),
        file("b.zmrec", year + hour),
        file("c.zmrec", year + 2 * hour),
        file("d.pinned.zmrec", year),
        file("e.pinned.zmrec", year + hour),
        // A clock that was set back a little does not count as one that was ahead.
        file("f.zmrec", now + 2 * hour),
        file("g.zmrec", now - hour),
        file("h.pinned.zmrec", now),
    ];
    let deleted = to_delete(&retention, files, now);
    // There is no room for d among the pinned ones.
    assert_eq!(deleted, ["a.zmrec", "b.zmrec", "c.zmrec"].map(OsString::from));
}

#[test]
fn incidents_of_cgroups_never_displace_those_of_the_machine() {
    let deleted = |machine: &[u64], cgroup: &[u64]| {
        let file = |(age, kind, mib): (usize, &str, u64)| Entry {
            name: format!("{age}{kind}.pinned.zmrec").into(),
            bytes: mib * MIB,
            changed: SystemTime::UNIX_EPOCH + DAY - Duration::from_secs(age as u64),
        };
        let of = |sizes: &[u64], kind| {
            sizes
                .iter()
                .enumerate()
                .map(|(age, mib)| file((age, kind, *mib)))
                .collect::<Vec<_>>()
        };
        let retention = Retention {
            age: DAY,
            bytes: 0,
            pinned_age: DAY,
            pinned_bytes: 100 * MIB,
        };
        let files = [of(machine, ""), of(cgroup, ".cgroup")].concat();
        let deleted = to_delete(&retention, files, SystemTime::UNIX_EPOCH + DAY);
        deleted
            .into_iter()
            .map(|name| name.into_string().unwrap().replace(".pinned.zmrec", ""))
            .collect::<Vec<_>>()
    };
    assert!(deleted(&[30, 30], &[20, 20]).is_empty());
    assert_eq!(deleted(&[30, 20], &[30, 30, 30]), ["2.cgroup", "1.cgroup"]);
    assert_eq!(deleted(&[30, 30, 30], &[30]), ["2"]);
    assert_eq!(deleted(&[], &[30, 30, 30, 30]), ["3.cgroup"]);
    assert_eq!(deleted(&[40, 40, 40], &[40, 40]), ["2", "1.cgroup", "1"]);
}

#[test]
fn a_restart_keeps_what_pinned_a_file() {
    for is_closed in [true, false] {
        let (dir, mut writer) = folder();
        let snapshot = Arc::new(at(0));
        let kill = Incident::new(snapshot.time, IncidentKind::Kill, "it happened".into()).of_cgroup(true);
        writer.record(&snapshot, &[kill]);
        if is_closed {
            writer.close();
        }
        drop(writer);
        let mut writer = open(dir.path());
        record(&mut writer, at(20), &[]);
        assert_eq!(names(&dir)[0], "20261124T120000Z.cgroup.pinned.zmrec", "{is_closed}");
    }
}

#[test]
fn of_the_incidents_of_snapshots_that_were_lost_the_most_serious_are_kept() {
    let (dir, mut writer) = folder();
    let kill = |snapshot: &Snapshot, who: &str| Incident::new(snapshot.time, IncidentKind::Kill, who.into());
    let of_cgroup = |snapshot: &Snapshot, who, owner: &str| {
        let kill = kill(snapshot, who);
        kill.of_cgroup(true).owned_by(owner.as_bytes())
    };
    // No snapshot is recorded until its boot is known.
    let lost = |seconds| Snapshot {
        boot_id: Err(Missing::Pending),
        ..at(seconds)
    };
    let first = lost(0);
    let flood = (0..150).map(|_| of_cgroup(&first, "flood", "/user.slice/user-1000.slice"));
    let leak = Incident::new(first.time, IncidentKind::Leak, "leak".into());
    let others = [of_cgroup(&first, "other", "/system.slice/web.service"), leak];
    let incidents: Vec<_> = others.into_iter().chain(flood).collect();
    writer.record(&Arc::new(first), &incidents);
    let second = lost(1);
    let of_machine = kill(&second, "machine");
    writer.record(&Arc::new(second), &[of_machine]);
    record(&mut writer, at(2), &[]);
    writer.close();
    assert_eq!(names(&dir), ["20261124T120002Z.pinned.zmrec"]);
    let recording = Recording::open(dir.path()).unwrap();
    let known = recording.incidents();
    let count = |who: &str| known.iter().filter(|incident| incident.text == who).count();
    assert_eq!(["machine", "other", "flood", "leak"].map(count), [1, 1, 98, 0]);
}

#[test]
fn a_minor_incident_pins_nothing() {
    let (dir, mut writer) = folder();
    let snapshot = Arc::new(at(0));
    let danger = Incident::new(snapshot.time, IncidentKind::Danger, "memory is full in 39 s".into());
    writer.record(&snapshot, &[danger.clone().minor(true)]);
    writer.close();
    drop(writer);
    let mut writer = open(dir.path());
    record(&mut writer, at(20), &[]);
    assert!(
        names(&dir).iter().all(|name| !name.contains("pinned")),
        "{:?}",
        names(&dir)
    );
    let snapshot = Arc::new(at(40));
    writer.record(&snapshot, &[danger]);
    writer.close();
    assert!(
        names(&dir).iter().any(|name| name.ends_with(".pinned.zmrec")),
        "{:?}",
        names(&dir)
    );
}

#[test]
fn the_machine_pins_more_firmly_than_a_cgroup() {
    let (dir, mut writer) = folder();
    let kill = |at: &Snapshot, of_cgroup| {
        Incident::new(at.time, IncidentKind::Kill, "it happened".into()).of_cgroup(of_cgroup)
    };
    for (second, of_cgroup) in [
        (0, Some(true)),
        (3700, None),
        (4000, Some(true)),
        (7500, Some(false)),
        (11_500, None),
    ] {
        let snapshot = Arc::new(at(second));
        let incidents: Vec<_> = of_cgroup
            .map(|of_cgroup| kill(&snapshot, of_cgroup))
            .into_iter()
            .collect();
        writer.record(&snapshot, &incidents);
    }
    writer.close();
    let expected = [
        "20261124T120000Z.cgroup.pinned.zmrec",
        "20261124T130140Z.cgroup.pinned.zmrec",
        "20261124T140500Z.pinned.zmrec",
        "20261124T151140Z.zmrec",
    ];
    assert_eq!(names(&dir), expected);
}

#[test]
fn a_folder_has_a_file_an_hour() {
    let (dir, mut writer) = folder();
    for seconds in [0, 1800, 3599, 3601, 5000] {
        record(&mut writer, at(seconds), &[]);
    }
    writer.close();
    assert_eq!(names(&dir), ["20261124T120000Z.zmrec", "20261124T130001Z.zmrec"]);
    assert_eq!(read(dir.path()).len(), 5);
    let file = fs::metadata(dir.path().join("20261124T120000Z.zmrec")).unwrap();
    assert_eq!(file.permissions().mode() & 0o777, 0o600);
    // Nothing is allocated beyond its end.
    assert!(
        file.blocks() * 512 <= file.len() + 8192,
        "{} blocks of {} bytes",
        file.blocks(),
        file.len()
    );
}

#[test]
fn an_incident_pins_the_files_around_it() {
    let (dir, mut writer) = folder();
    record(&mut writer, at(0), &[]);
    // The first file ends within ten minutes before the kill, the third begins within ten minutes after it.
    record(&mut writer, at(3500), &[]);
    record(&mut writer, at(3700), &[]);
    record(&mut writer, at(3800), &[IncidentKind::Kill]);
    record(&mut writer, at(7200), &[]);
    record(&mut writer, at(7400), &[IncidentKind::Leak]);
    record(&mut writer, at(11_200), &[]);
    writer.close();
    let pinned = [
        "20261124T120000Z.pinned.zmrec",
        "20261124T130140Z.pinned.zmrec",
        "20261124T140320Z.zmrec",
        "20261124T150640Z.zmrec",
    ];
    assert_eq!(names(&dir), pinned);
    let recording = Recording::open(dir.path()).unwrap();
    let kinds: Vec<_> = recording.incidents().iter().map(|incident| incident.kind).collect();
    assert_eq!(kinds, [IncidentKind::Kill, IncidentKind::Leak]);
    assert_eq!(read(dir.path()).len(), 7);
}

#[test]
fn a_boot_pins_the_end_of_the_last_one() {
    let (dir, mut writer) = folder();
    record(&mut writer, at(0), &[]);
    record(&mut writer, at(60), &[]);
    // The machine is reset: nothing is closed.
    drop(writer);
    let mut writer = open(dir.path());
    let mut after = at(40_000);
    (after.boot_id, after.monotonic) = (Ok("another".into()), Duration::from_secs(5));
    record(&mut writer, after, &[]);
    writer.close();
    assert_eq!(
        names(&dir),
        ["20261124T120000Z.pinned.zmrec", "20261124T230640Z.pinned.zmrec"]
    );
    let recording = Recording::open(dir.path()).unwrap();
    let [boot] = recording.incidents() else {
        panic!("{:?}", recording.incidents())
    };
    assert_eq!((boot.kind, boot.at()), (IncidentKind::Boot, at(40_000).time));
    assert_eq!(read(dir.path()).len(), 3);
}

#[test]
fn a_boot_is_recorded_also_if_its_first_snapshot_cannot_be_written() {
    let (dir, mut writer) = folder();
    record(&mut writer, at(0), &[]);
    drop(writer);
    let script = r#"trap '' XFSZ; exec "$0" --ignored --exact recorder::boot_on_a_full_disk --nocapture"#;
    let run = Command::new("sh")
        .args(["-c", script])
        .arg(std::env::current_exe().unwrap())
        .env("DIR", dir.path())
        .output()
        .unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    assert_eq!(
        names(&dir),
        ["20261124T120000Z.pinned.zmrec", "20261124T230640Z.pinned.zmrec"]
    );
    let recording = Recording::open(dir.path()).unwrap();
    let kinds: Vec<_> = recording.incidents().iter().map(|incident| incident.kind).collect();
    assert_eq!(kinds, [IncidentKind::Boot]);
}

#[test]
#[ignore = "run by a_boot_is_recorded_also_if_its_first_snapshot_cannot_be_written"]
fn boot_on_a_full_disk() {
    let path = std::env::var_os("DIR").unwrap();
    let place = Place::Folder(Folder::open(Path::new(&path)).unwrap(), settings().retention());
    let mut writer = Writer::new(Options {
        retry: Duration::ZERO,
        ..Options::new(place, &settings())
    })
    .unwrap();
    // The limit on the size of files stands for a full disk.
    let limit = getrlimit(Resource::Fsize);
    for second in 0..3 {
        let current = if second == 0 { Some(0) } else { limit.current };
        setrlimit(Resource::Fsize, Rlimit { current, ..limit }).unwrap();
        let mut after = at(40_000 + second);
        (after.boot_id, after.monotonic) = (Ok("another".into()), Duration::from_secs(5 + second));
        writer.record(&Arc::new(after), &[]);
        assert_eq!(writer.status().fault.is_some(), second == 0);
    }
    writer.close();
}

#[test]
fn a_file_without_a_snapshot_hides_no_boot() {
    // What a power cut leaves of a file whose first snapshot had not reached the disk.
    let first = |length: usize| {
        let mut bytes = GroupWriter::default().push(&Arc::new(at(70)), &[]).unwrap();
        bytes.truncate(length);
        bytes
    };
    for left in [Vec::new(), vec![0; 5000], first(50), first(HEADER), first(HEADER + 40)] {
        let case = format!("{} bytes", left.len());
        let (dir, mut writer) = folder();
        record(&mut writer, at(0), &[]);
        record(&mut writer, at(60), &[]);
        drop(writer);
        let path = dir.path().join("20261124T120110Z.zmrec");
        fs::write(&path, left).unwrap();
        // It is the last that was written.
        let later = fs::metadata(&path).unwrap().modified().unwrap() + Duration::from_secs(5);
        fs::File::options()
            .write(true)
            .open(&path)
            .unwrap()
            .set_modified(later)
            .unwrap();
        let mut writer = open(dir.path());
        let mut after = at(400);
        (after.boot_id, after.monotonic) = (Ok("another".into()), Duration::from_secs(5));
        record(&mut writer, after, &[]);
        let recording = Recording::open(dir.path()).unwrap();
        let kinds: Vec<_> = recording.incidents().iter().map(|incident| incident.kind).collect();
        assert_eq!(kinds, [IncidentKind::Boot], "{case}");
        assert_eq!(recording.span(), (at(0).time, at(400).time), "{case}");
        assert!(recording.has_incidents(), "{case}");
        assert!(names(&dir)[0].ends_with(".pinned.zmrec"), "{case}: {:?}", names(&dir));
    }
}

#[test]
fn a_first_snapshot_without_a_boot_id_hides_no_boot() {
    let (dir, mut writer) = folder();
    record(&mut writer, at(0), &[]);
    drop(writer);
    let mut writer = open(dir.path());
    for second in 0..4 {
        let mut after = at(400 + second);
        after.monotonic = Duration::from_secs(5 + second);
        after.boot_id = if second < 2 {
            Err(Missing::Pending)
        } else {
            Ok("another".into())
        };
        record(
            &mut writer,
            after,
            if second == 0 { &[IncidentKind::Danger] } else { &[] },
        );
    }
    let recording = Recording::open(dir.path()).unwrap();
    let kinds: Vec<_> = recording.incidents().iter().map(|incident| incident.kind).collect();
    assert_eq!(kinds, [IncidentKind::Danger, IncidentKind::Boot]);
    assert_eq!(read(dir.path()).len(), 3);
    // One that never knows it is recorded.
    let (dir, mut writer) = folder();
    for second in 0..8 {
        let mut unknown = at(second);
        unknown.boot_id = Err(Missing::Pending);
        record(&mut writer, unknown, &[]);
    }
    assert_eq!(read(dir.path()).len(), 3);
    let (dir, mut writer) = folder();
    let mut unknown = at(0);
    unknown.boot_id = Err(Missing::Unsupported);
    record(&mut writer, unknown, &[]);
    assert_eq!(read(dir.path()).len(), 1);
}

#[test]
fn any_file_but_the_newest_may_be_deleted_at_any_time() {
    let (dir, mut writer) = folder();
    let delete_others = || {
        let all = names(&dir);
        let (_, others) = all.split_last().unwrap();
        for name in others {
            fs::remove_file(dir.path().join(name)).unwrap();
        }
        others.len()
    };
    let rounds: [(u64, &[IncidentKind], usize); 7] = [
        (0, &[], 0),
        (3500, &[], 0),
        // The next file begins.
        (3700, &[], 1),
        // It would pin the one before.
        (3800, &[IncidentKind::Kill], 0),
        // The pinned one is closed.
        (7400, &[], 1),
        (7500, &[IncidentKind::Kill], 0),
        (11_200, &[], 1),
    ];
    for (seconds, incidents, deleted) in rounds {
        record(&mut writer, at(seconds), incidents);
        assert_eq!(delete_others(), deleted, "{seconds}");
    }
    // A start after a kill looks for the end of the last run.
    drop(writer);
    let mut writer = open(dir.path());
    record(&mut writer, at(11_300), &[IncidentKind::Kill]);
    assert_eq!(delete_others(), 1);
    record(&mut writer, at(11_400), &[]);
    writer.close();
    assert_eq!(writer.status().fault, None);
    assert_eq!(read(dir.path()).len(), 2);
}

#[test]
fn a_file_that_is_gone_before_it_is_deleted_is_no_fault() {
    let dir = tempfile::tempdir().unwrap();
    let folder = Folder::open(dir.path()).unwrap();
    // As text, these names are one: it is listed twice, and gone when it is deleted the second time.
    for name in [
        &b"20261124T120000Z\xef\xbf\xbd.zmrec"[..],
        b"20261124T120000Z\xff.zmrec",
        b"report.zmrec",
    ] {
        fs::write(dir.path().join(OsStr::from_bytes(name)), "").unwrap();
    }
    let much_later = SystemTime::now() + Duration::from_secs(1000 * 86_400);
    folder.clean(&settings().retention(), None, much_later).unwrap();
    assert!(!dir.path().join("20261124T120000Z\u{fffd}.zmrec").exists());
    assert!(dir.path().join("report.zmrec").exists(), "no recorder wrote it");
}

#[test]
fn a_file_that_cannot_be_deleted_ends_no_recording() {
    let (dir, mut writer) = folder();
    let fixed = dir.path().join("20200101T000000Z.zmrec");
    let other = dir.path().join("20200101T010000Z.zmrec");
    for path in [&fixed, &other] {
        let file = fs::File::create(path).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(100 * 86_400))
            .unwrap();
    }
    let file = fs::File::open(&fixed).unwrap();
    if ioctl_setflags(&file, IFlags::IMMUTABLE).is_err() {
        return cannot("a file that cannot be deleted needs root and a file system with attributes");
    }
    let mut news = FaultNews::default();
    let mut said = Vec::new();
    for seconds in [0, 3601] {
        writer.record(&Arc::new(at(seconds)), &[]);
        said.extend(news.of(&writer.status()));
    }
    ioctl_setflags(&file, IFlags::empty()).unwrap();
    writer.close();
    assert_eq!(
        said,
        ["old recordings are not deleted: 20200101T000000Z.zmrec: Operation not permitted"]
    );
    assert_eq!((fixed.exists(), other.exists()), (true, false));
    assert_eq!(writer.status().snapshots, 2);
}

#[test]
fn a_killed_writer_leaves_its_incident_pinned_and_the_minutes_after_it() {
    for (next, expected) in [
        (20, ["20261124T120000Z.pinned.zmrec", "20261124T120020Z.pinned.zmrec"]),
        (620, ["20261124T120000Z.pinned.zmrec", "20261124T121020Z.zmrec"]),
    ] {
        let (dir, mut writer) = folder();
        record(&mut writer, at(0), &[IncidentKind::Danger]);
        drop(writer);
        let mut writer = open(dir.path());
        record(&mut writer, at(next), &[]);
        writer.close();
        assert_eq!(names(&dir), expected);
    }
}

#[test]
fn a_file_from_a_clock_that_was_ahead_is_not_the_end_of_the_last_run() {
    let boot = |seconds, id: &str| {
        let mut made = at(seconds);
        made.boot_id = Ok(id.into());
        made
    };
    let (dir, mut writer) = folder();
    record(&mut writer, boot(18_000, "a former"), &[]);
    drop(writer);
    let ahead = fs::File::options().write(true).open(dir.path().join(&names(&dir)[0]));
    let later = SystemTime::now() + Duration::from_secs(18_000);
    ahead.unwrap().set_modified(later).unwrap();
    // Only the first of this boot records it.
    for start in [0, 100] {
        let mut writer = open(dir.path());
        record(&mut writer, boot(start, "this"), &[]);
        drop(writer);
        let recording = Recording::open(dir.path()).unwrap();
        let all = recording.incidents().iter();
        let found = all.filter(|incident| incident.kind == IncidentKind::Boot).count();
        assert_eq!(found, 1, "{start}");
    }
}

#[test]
fn after_the_clock_is_set_back_an_incident_pins_no_more_than_its_minutes() {
    let (dir, mut writer) = folder();
    record(&mut writer, at(7200), &[IncidentKind::Kill]);
    for seconds in [0, 1000, 3700] {
        record(&mut writer, at(seconds), &[]);
    }
    writer.close();
    let expected = [
        "20261124T120000Z.pinned.zmrec",
        "20261124T130140Z.zmrec",
        "20261124T140000Z.pinned.zmrec",
    ];
    assert_eq!(names(&dir), expected);
}

#[test]
fn a_clock_that_is_set_back_and_a_renamed_host_lose_nothing() {
    let (dir, mut writer) = folder();
    record(&mut writer, at(100), &[]);
    record(&mut writer, at(101), &[]);
    let mut back = at(102);
    back.time -= Duration::from_secs(3600);
    record(&mut writer, back, &[]);
    let mut renamed = at(103);
    renamed.time -= Duration::from_secs(3600);
    renamed.host = Arc::from(&b"another"[..]);
    record(&mut writer, renamed, &[]);
    writer.close();
    let clocks = |path: &Path| {
        let read = read(path);
        read.iter()
            .map(|snapshot| snapshot.monotonic.as_secs())
            .collect::<Vec<_>>()
    };
    assert_eq!(clocks(&dir.path().join("20261124T120140Z.zmrec")), [1100, 1101]);
    assert_eq!(clocks(&dir.path().join("20261124T110142Z.zmrec")), [1102, 1103]);
}

#[test]
fn a_suspend_begins_a_new_file_and_loses_nothing() {
    let (dir, mut writer) = folder();
    for seconds in [0, 1, 28_800, 28_801] {
        record(&mut writer, at(seconds), &[]);
    }
    writer.close();
    assert_eq!(names(&dir), ["20261124T120000Z.zmrec", "20261124T200000Z.zmrec"]);
    let clocks: Vec<_> = read(dir.path())
        .iter()
        .map(|snapshot| snapshot.monotonic.as_secs())
        .collect();
    assert_eq!(clocks, [1000, 1001, 29_800, 29_801]);
}

#[test]
fn a_copy_has_all_snapshots_and_events() {
    let dir = tempfile::tempdir().unwrap();
    let [from, to] = ["a.zmrec", "b.zmrec"].map(|name| dir.path().join(name));
    let mut writer = Writer::new(Options::new(Place::File(from.clone()), &settings())).unwrap();
    for second in 0..4 {
        let mut made = at(second);
        // The lines of snapshots have milliseconds, events nanoseconds.
        made.time += Duration::from_nanos(123_456_789);
        made.boot_id = Ok(if second < 2 { "one" } else { "another" }.into());
        let is_end = second % 3 == 0;
        record(&mut writer, made, if is_end { &[IncidentKind::Kill] } else { &[] });
    }
    writer.close();
    let zmtop = Command::new(env!("CARGO_BIN_EXE_zmtop"))
        .args(["record", "cut"])
        .args([&from, &to])
        .output()
        .unwrap();
    assert!(zmtop.status.success(), "{zmtop:?}");
    assert_eq!(read(&to).len(), 4);
    let events = |path: &Path| Recording::open(path).unwrap().incidents().to_vec();
    assert_eq!(events(&to), events(&from));
}

#[test]
fn a_second_recorder_of_a_folder_ends() {
    let dir = tempfile::tempdir().unwrap();
    let _first = Folder::open(dir.path()).unwrap();
    let second = Command::new(env!("CARGO_BIN_EXE_zmtop"))
        .arg("record")
        .arg(dir.path())
        .env("XDG_CONFIG_HOME", dir.path())
        .output()
        .unwrap();
    assert!(!second.status.success());
    let text = String::from_utf8(second.stderr).unwrap();
    assert!(text.contains("another zmtop records to it"), "{text}");
}

#[test]
fn command_lines_are_left_out_by_choice() {
    for (choice, line) in [
        ("full", Ok(&b"/sbin/init\0--deserialize\x005"[..])),
        ("name", Ok(&b"/sbin/init"[..])),
        ("none", Err(Missing::NotRecorded)),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.zmrec");
        let settings = RecordSettings {
            cmdline: choice.into(),
            ..settings()
        };
        let mut writer = Writer::new(Options::new(Place::File(path.clone()), &settings)).unwrap();
        record(&mut writer, at(0), &[]);
        record(&mut writer, at(1), &[]);
        writer.close();
        let bytes = zstd::decode_all(fs::File::open(&path).unwrap()).unwrap();
        let says = String::from_utf8(bytes).unwrap().contains("deserialize");
        assert_eq!(says, choice == "full");
        for snapshot in read(&path) {
            let got = snapshot.rows()[0].facts.cmdline.as_deref().map_err(|why| *why);
            assert_eq!(got, line, "{choice}");
        }
    }
}

/// A snapshot with processes that no other has, each with a command line of 4,000 random bytes, of a user of their own.
fn flooded(seconds: u64, processes: u32) -> Snapshot {
    let mut flooded = at(seconds);
    let first = 1000 + seconds as u32 * processes;
    for pid in first..first + processes {
        let mut number = u64::from(pid);
        let mut digit = || {
            number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            char::from(b'!' + (number >> 33) as u8 % 90)
        };
        let line: String = (0..4000).map(|_| digit()).collect();
        let mut row = process(pid, 7, &format!("flood {line}"));
        let facts = Arc::make_mut(&mut row.facts);
        (facts.uid, facts.user) = (Ok(4000), Ok(Arc::from(&b"flood"[..])));
        flooded.processes.as_mut().unwrap().push(row);
    }
    flooded
}

#[test]
fn a_flood_of_command_lines_leaves_room_for_those_of_others() {
    let (dir, mut writer) = folder();
    for second in 0..20 {
        record(&mut writer, flooded(second, 200), &[]);
    }
    // One that starts meanwhile.
    let mut last = flooded(20, 200);
    let line = "late --with arguments";
    last.processes.as_mut().unwrap().push(process(900_000, 1, line));
    record(&mut writer, last, &[]);
    writer.close();
    // In full, the lines would take 16 MB.
    let bytes = writer.status().bytes;
    assert!(bytes < 3 * MIB, "{bytes}");
    let snapshots = read(&dir.path().join(&names(&dir)[0]));
    let rows = snapshots.last().unwrap().rows();
    let line_of = |row: &zmtop::model::ProcessSample| row.facts.cmdline.clone().unwrap();
    assert_eq!(*line_of(rows.last().unwrap()), *line.replace(' ', "\0").as_bytes());
    assert_eq!(*line_of(&rows[0]), *b"/sbin/init\0--deserialize\x005");
    let cut = rows.iter().filter(|row| *line_of(row) == *b"flood").count();
    assert!(cut >= 190, "{cut}");
}

/// A folder of 4 MiB, and its writer.
fn small_folder() -> (TempDir, Writer) {
    let dir = tempfile::tempdir().unwrap();
    let settings = RecordSettings {
        size: 4 * MIB,
        ..settings()
    };
    let place = Place::Folder(Folder::open(dir.path()).unwrap(), settings.retention());
    let writer = Writer::new(Options::new(place, &settings)).unwrap();
    (dir, writer)
}

#[test]
fn a_folder_covers_half_a_day_however_much_happens() {
    let (_dir, mut writer) = small_folder();
    // Half a megabyte may be written at once, and 350 KB an hour.
    record(&mut writer, at(0), &[]);
    for second in 1..200 {
        record(&mut writer, flooded(second, 100), &[]);
    }
    let status = writer.status();
    assert_eq!(status.snapshots + status.left_out, 200);
    assert!(status.left_out > 20, "{status:?}");
    assert!(status.bytes < MIB, "{status:?}");
    // A kill is recorded.
    record(&mut writer, flooded(200, 100), &[IncidentKind::Kill]);
    assert_eq!(writer.status().snapshots, status.snapshots + 1);
    // And all others once there is room again.
    for hour in 2..5 {
        record(&mut writer, at(hour * 3600), &[]);
    }
    assert_eq!(writer.status().left_out, status.left_out);
}

#[test]
fn a_folder_is_never_larger_than_its_size() {
    let (dir, mut writer) = small_folder();
    let size = |path: &Path| fs::metadata(path).map_or(0, |file| file.len());
    let folder = || names(&dir).iter().map(|name| size(&dir.path().join(name))).sum::<u64>();
    let mut highest = 0;
    for hour in 0..40_u64 {
        for second in 0..20 {
            record(&mut writer, flooded(hour * 3600 + second * 170, 100), &[]);
            highest = highest.max(folder());
        }
    }
    assert!(highest <= 4 * MIB, "{highest}");
    // Most of it is used.
    assert!(highest >= 3 * MIB, "{highest}");
}

#[test]
fn repeated_incidents_do_not_use_the_space_of_other_snapshots() {
    let (_dir, mut writer) = small_folder();
    for second in 0..300 {
        record(&mut writer, flooded(second, 100), &[IncidentKind::Kill]);
    }
    let status = writer.status();
    assert!(status.left_out > 20, "{status:?}");
    // At 85 bytes a second, there is room again within an hour. The bytes of the incidents alone would take one and a half more.
    for minute in 5..65 {
        record(&mut writer, at(minute * 60), &[]);
    }
    let calm = writer.status().snapshots - status.snapshots;
    assert!(calm >= 5, "{calm} {:?}", writer.status());
}

#[test]
fn what_others_control_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    let reason = |path: &Path| state::create_recording(path).unwrap_err().to_string();
    fs::write(path("there"), "mine").unwrap();
    assert!(reason(&path("there")).contains("exists already"));
    symlink(path("elsewhere"), path("link")).unwrap();
    assert!(reason(&path("link")).contains("exists already"));
    assert!(!path("elsewhere").exists());
    fs::create_dir(path("open")).unwrap();
    fs::set_permissions(path("open"), fs::Permissions::from_mode(0o777)).unwrap();
    let doubt = reason(&path("open").join("a.zmrec"));
    assert!(doubt.contains("others can"), "{doubt}");
    assert!(
        Folder::open(&path("open"))
            .unwrap_err()
            .to_string()
            .contains("others can")
    );
    let _first = Folder::open(&path("mine")).unwrap();
    assert_eq!(fs::metadata(path("mine")).unwrap().permissions().mode() & 0o777, 0o700);
    let second = Folder::open(&path("mine")).unwrap_err().to_string();
    assert_eq!(second, "another zmtop records to it");
}

/// A machine of a few processes.
fn machine() -> ProcTree {
    let tree = ProcTree::new();
    for pid in 2..6 {
        tree.process(pid).comm("daemon").pss_kb(300).write();
    }
    tree
}

#[test]
fn a_full_disk_loses_snapshots_and_no_more() {
    // The limit on the size of files stands for a full disk: it fails a write in its middle, too.
    // A made machine, as the first snapshot of a large one would not fit.
    let tree = machine();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.zmrec");
    let script = format!(
        "ulimit -f 16; exec {} record --every 100ms --proc-root {} {}",
        env!("CARGO_BIN_EXE_zmtop"),
        tree.root().display(),
        path.display()
    );
    let said = dir.path().join("said");
    let mut child = Command::new("sh")
        .args(["-c", &script])
        .env("XDG_CONFIG_HOME", dir.path())
        .stderr(fs::File::create(&said).unwrap())
        .spawn()
        .unwrap();
    let text = || fs::read_to_string(&said).unwrap();
    let begun = Instant::now();
    // It grows up to the limit. How long that takes is the machine's affair.
    while !text().contains("not recorded: ") && begun.elapsed() < PATIENCE {
        thread::sleep(Duration::from_millis(100));
    }
    rustix::process::kill_process(rustix::process::Pid::from_child(&child), rustix::process::Signal::TERM).unwrap();
    child.wait().unwrap();
    let text = text();
    assert!(text.contains("not recorded: File too large"), "{text}");
    assert!(text.contains("lost"), "{text}");
    assert!(!read(&path).is_empty());
}

/// Starts to record a machine of a few processes to a file.
fn start(tree: &ProcTree, file: &Path, more: &[&Path], stderr: impl Into<Stdio>) -> Owned {
    let mut command = Command::new(env!("CARGO_BIN_EXE_zmtop"));
    command
        .args(["record", "--every", "100ms", "--proc-root"])
        .arg(tree.root())
        .args(more)
        .arg(file)
        .env("XDG_CONFIG_HOME", "/nonexistent")
        .stderr(stderr);
    Owned(command.spawn().unwrap())
}

/// Waits until a file has so many snapshots, then tells its recorder to end.
#[track_caller]
fn end_after(snapshots: usize, file: &Path, recorder: &mut Owned) {
    wait_until(|| Source::open(file).map_or(0, |source| source.flatten().count()) >= snapshots);
    rustix::process::kill_process(
        rustix::process::Pid::from_child(recorder),
        rustix::process::Signal::TERM,
    )
    .unwrap();
    assert_eq!(recorder.exit_code(), Some(0));
}

#[test]
fn a_stderr_that_nobody_reads_delays_neither_a_snapshot_nor_the_end() {
    let tree = machine();
    let file = tree.path("a.zmrec");
    let (reader, writer) = std::io::pipe().unwrap();
    fill(name_of(&reader));
    let mut recorder = start(&tree, &file, &[], writer);
    // After the sixth, it says how much a day needs.
    end_after(30, &file, &mut recorder);
    assert!(read(&file).len() >= 30);
}

#[test]
fn an_alert_runs_no_program() {
    let tree = machine();
    let file = tree.path("a.zmrec");
    let (config, ran) = alert(&tree.path(""));
    let mut recorder = start(&tree, &file, &[Path::new("--config"), &config], Stdio::null());
    end_after(5, &file, &mut recorder);
    assert!(!ran.exists());
}

#[test]
fn a_full_tmpfs_that_has_room_again_is_recorded_to_again() {
    // The next attempt follows after ten seconds.
    if !long() {
        return;
    }
    let tree = machine();
    let dir = tempfile::tempdir().unwrap();
    let script = r#"
        mkdir "$1/disk" && mount -t tmpfs -o size=64k none "$1/disk" || exit 97
        head -c 56k /dev/zero > "$1/disk/other"
        "$ZMTOP" record --every 100ms --proc-root "$2" "$1/disk/a.zmrec" 2> "$1/said" &
        until grep -q 'not recorded: No space left' "$1/said"; do sleep 0.1; done
        rm "$1/disk/other"
        until grep -q 'recording again' "$1/said"; do sleep 0.1; done
        sleep 1; kill $!; wait $!
        cp "$1/disk/a.zmrec" "$1/"
    "#;
    let run = Command::new("unshare")
        .args(["-m", "timeout", "120", "sh", "-c", script, "sh"])
        .args([dir.path(), &tree.root()])
        .env("ZMTOP", env!("CARGO_BIN_EXE_zmtop"))
        .env("XDG_CONFIG_HOME", dir.path())
        .status()
        .unwrap();
    if !rustix::process::geteuid().is_root() || run.code() == Some(97) {
        return;
    }
    assert!(run.success(), "{run}");
    let text = fs::read_to_string(dir.path().join("said")).unwrap();
    let number = |after: &str| -> usize {
        let rest = text.rsplit(after).next().unwrap();
        rest.split(' ').next().unwrap().parse().unwrap()
    };
    // The last line says how many were recorded and how many were lost.
    let (recorded, lost) = (number("zmtop: "), number("recorded, "));
    let all = read(&dir.path().join("a.zmrec"));
    assert_eq!(all.len(), recorded, "{text}");
    let gap = all
        .windows(2)
        .map(|pair| pair[1].monotonic.saturating_sub(pair[0].monotonic));
    assert!(lost > 0 && gap.max().unwrap() > Duration::from_secs(9), "{text}");
}

#[test]
fn a_file_of_the_same_second_does_not_replace_a_pinned_one() {
    let dir = tempfile::tempdir().unwrap();
    let folder = Folder::open(dir.path()).unwrap();
    let at = SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000);
    let mut pinned = Vec::new();
    for _ in 0..3 {
        let (name, _) = folder.create(at).unwrap();
        pinned.push(folder.pin(&name, Pin::Machine).unwrap());
    }
    assert_eq!(folder.entries().unwrap().len(), 3, "{pinned:?}");
}

/// Kills a recorder in the middle of its work, in each round at another moment.
fn kill(rounds: impl Iterator<Item = u32>) {
    let dir = tempfile::tempdir().unwrap();
    let stem = |name: &str| name.split('.').next().unwrap().to_owned();
    let mut known: Vec<String> = Vec::new();
    let mut recorded = 0;
    for round in rounds {
        let child = Command::new(env!("CARGO_BIN_EXE_zmtop"))
            .args(["record", "--every", "100ms"])
            .arg(dir.path())
            .env("XDG_CONFIG_HOME", "/nonexistent")
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let deadline = Instant::now() + Duration::from_secs(60);
        let mut child = Owned(child);
        // The file of this round. An incident may rename it.
        let own = || names(&dir).into_iter().find(|name| !known.contains(&stem(name)));
        let count = || {
            let source = own().and_then(|name| Source::open(&dir.path().join(name)).ok());
            source.map_or(0, |source| source.flatten().count())
        };
        let mut least = 0;
        while least < 3 {
            assert!(Instant::now() < deadline, "round {round}: nothing is recorded");
            thread::sleep(Duration::from_millis(20 + u64::from(round) * 7 % 50));
            least = count();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let all = read(&dir.path().join(own().unwrap()));
        assert!(all.len() >= least, "round {round}: {} of {least}", all.len());
        recorded += all.len();
        known = names(&dir).iter().map(|name| stem(name)).collect();
    }
    assert_eq!(read(dir.path()).len(), recorded);
}

#[test]
fn a_recorder_that_is_killed_loses_nothing_that_could_be_read() {
    // The fifty moments between two snapshots twice, in two folders at the same time.
    let rounds = if long() { 100 } else { 4 };
    thread::scope(|scope| {
        for first in 0..2 {
            scope.spawn(move || kill((first..rounds).step_by(2)));
        }
    });
}

#[test]
fn a_stream_is_a_remote_monitor() {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = Command::new(env!("CARGO_BIN_EXE_zmtop"))
        .args(["record", "--every", "100ms", "-"])
        .env("XDG_CONFIG_HOME", dir.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut stdout = writer.stdout.take().unwrap();
    let mut bytes = Vec::new();
    let mut chunk = [0; 4096];
    // Read as far as three snapshots need, then close the pipe.
    let file = dir.path().join("stream.zmrec");
    loop {
        let n = std::io::Read::read(&mut stdout, &mut chunk).unwrap();
        assert!(n > 0, "the stream ended");
        bytes.extend_from_slice(&chunk[..n]);
        fs::write(&file, &bytes).unwrap();
        if Source::open(&file).unwrap().flatten().count() >= 3 {
            break;
        }
    }
    drop(stdout);
    // The recorder ends when nobody reads.
    assert!(writer.wait().unwrap().success());
}

#[test]
fn a_disk_that_hangs_delays_nobody_and_eight_snapshots_wait() {
    static DISK: Mutex<()> = Mutex::new(());
    static FLUSHES: AtomicUsize = AtomicUsize::new(0);
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("rec.zmrec");
    let recorder = Recorder::start(Options {
        flush: Flush::Snapshot,
        sync: |_| {
            FLUSHES.fetch_add(1, Ordering::SeqCst);
            drop(DISK.lock());
            Ok(())
        },
        ..Options::plain(Place::File(file.clone()))
    })
    .unwrap();
    let until = |snapshots| wait_until(|| recorder.status().snapshots >= snapshots);
    let disk = DISK.lock().unwrap();
    recorder.record(&Arc::new(at(0)), Vec::new());
    // What comes before it waits for the disk would be written with it.
    wait_until(|| FLUSHES.load(Ordering::SeqCst) == 1);
    // If one of these waited for the disk, it would wait for ever.
    for second in 1..=20 {
        recorder.record(&Arc::new(at(second)), Vec::new());
    }
    let status = recorder.status();
    assert_eq!((status.snapshots, status.lost), (1, 12));
    assert_eq!(status.fault.as_deref(), Some("the disk does not answer"));
    drop(disk);
    until(9);
    recorder.record(&Arc::new(at(30)), Vec::new());
    until(10);
    let status = recorder.end();
    assert_eq!((status.lost, status.fault), (12, None));
    let seconds: Vec<_> = read(&file).iter().map(|s| s.monotonic.as_secs() - 1000).collect();
    assert_eq!(seconds, [0, 1, 2, 3, 4, 5, 6, 7, 8, 30]);
}

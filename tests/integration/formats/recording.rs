//! Recordings: groups of compressed snapshots, whole and damaged.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tempfile::TempDir;
use zmtop::model::Snapshot;
use zmtop::record::{ChangeWriter, GroupWriter, HEADER, Incident, IncidentKind};
use zmtop::source::{Recording, Source};
use zmtop::tui::replay::Timeline;

use super::made::{HOSTILE, hostile, small};
use super::record::assert_same;
use crate::support::rows::{MIB, process, snapshot, walk};
use crate::support::{long, scratch};

const START: u64 = 1_795_478_400;

/// A series of snapshots, a second apart, in which little changes; the wall clock begins at [`START`].
fn series(from: u64, count: u64) -> Vec<Arc<Snapshot>> {
    series_of(5, from, count)
}

/// The same, with so many processes that stay.
fn series_of(daemons: u32, from: u64, count: u64) -> Vec<Arc<Snapshot>> {
    let made = (from..from + count).map(|second| {
        let at = Duration::from_secs(second);
        let mut rows: Vec<_> = (1..=daemons)
            .map(|pid| process(pid, 0, &format!("/bin/daemon{pid}")))
            .collect();
        rows[0].walk = Ok(walk(10 * MIB + second * 4096, 0));
        rows[0].stat.minflt = second * 3;
        // One process comes and goes.
        if second % 3 == 1 {
            rows.push(process(90 + second as u32, 1, "job"));
        }
        let mut made = snapshot(at, rows);
        made.time += Duration::from_secs(START);
        made.system.mem_total = Ok(1 << 30);
        made.system.mem_available = Ok((1 << 29) - second * MIB);
        Arc::new(made)
    });
    made.collect()
}

/// Writes groups of snapshots, as a writer does that is not interrupted.
fn written(groups: &[Vec<Arc<Snapshot>>], incidents: &[(u64, Incident)]) -> Vec<u8> {
    let mut writer = GroupWriter::default();
    let mut file = Vec::new();
    for group in groups {
        let begin = file.len();
        for made in group {
            let second = made.monotonic.as_secs();
            let incidents: Vec<_> = incidents
                .iter()
                .filter(|(at, _)| *at == second)
                .map(|(_, incident)| incident.clone())
                .collect();
            file.extend(writer.push(made, &incidents).unwrap());
        }
        let end = writer.end().unwrap().unwrap();
        file.extend(end.bytes);
        file[begin..begin + HEADER].copy_from_slice(&end.header);
    }
    file
}

fn groups() -> Vec<Vec<Arc<Snapshot>>> {
    (0..3).map(|group| series(100 + group * 4, 4)).collect()
}

fn file(bytes: &[u8]) -> (TempDir, PathBuf) {
    let folder = scratch();
    let path = folder.path().join("a.zmrec");
    fs::write(&path, bytes).unwrap();
    (folder, path)
}

/// Reads all snapshots and the texts of the faults.
fn read(source: Source) -> (Vec<Arc<Snapshot>>, Vec<String>) {
    let (mut snapshots, mut faults) = (Vec::new(), Vec::new());
    for next in source {
        match next {
            Ok(snapshot) => snapshots.push(snapshot),
            Err(fault) => faults.push(fault.to_string()),
        }
    }
    (snapshots, faults)
}

fn seconds(snapshots: &[Arc<Snapshot>]) -> Vec<u64> {
    snapshots.iter().map(|snapshot| snapshot.monotonic.as_secs()).collect()
}

/// A line of a snapshot in which nothing changed.
pub(crate) fn line_of_changes() -> String {
    let mut changes = ChangeWriter::default();
    let all = series(100, 1);
    changes.line(&all[0]);
    String::from_utf8(changes.line(&all[0])).unwrap()
}

#[test]
fn what_was_written_is_read_back() {
    let groups = groups();
    let (_folder, path) = file(&written(&groups, &[]));
    let (read, faults) = read(Source::open(&path).unwrap());
    assert!(faults.is_empty(), "{faults:?}");
    let all = groups.concat();
    assert_eq!(read.len(), all.len());
    for (a, b) in all.iter().zip(&read) {
        assert_same(a, b);
    }
}

#[test]
fn the_rows_that_differ_from_the_snapshot_before_are_known() {
    let groups = groups();
    let (_folder, path) = file(&written(&groups, &[]));
    let (read, _) = read(Source::open(&path).unwrap());
    let jobs = |made: &Snapshot| made.rows()[5..].iter().map(|row| row.id).collect::<Vec<_>>();
    for pair in read.windows(2) {
        let [before, made] = [&pair[0], &pair[1]];
        let changes = made.changes_since(before.tick);
        // The first snapshot of a group is whole.
        assert_eq!(changes.is_some(), made.monotonic.as_secs() % 4 != 0);
        let Some(changes) = changes else { continue };
        let is_new = |id: &&_| !jobs(before).contains(*id);
        let new = jobs(made).iter().filter(is_new).count() as u32;
        assert_eq!(changes.rows, [0].into_iter().chain(5..5 + new).collect::<Vec<_>>());
        let ended: Vec<_> = jobs(before).into_iter().filter(|id| !jobs(made).contains(id)).collect();
        assert_eq!(changes.removed, ended);
    }
}

#[test]
fn a_slab_table_is_read_back_as_often_as_it_was_read() {
    let mut all: Vec<_> = series(100, 6).iter().map(|made| Snapshot::clone(made)).collect();
    let mut slab = small().kernel.slab.unwrap();
    for (second, made) in all.iter_mut().enumerate() {
        if second == 3 {
            let caches = &mut Arc::make_mut(&mut slab).caches;
            caches[2].figures.size += 1 << 20;
            caches.remove(1);
        }
        made.kernel.slab = Ok(Arc::clone(&slab));
    }
    let all: Vec<_> = all.into_iter().map(Arc::new).collect();
    let (_folder, path) = file(&written(std::slice::from_ref(&all), &[]));
    let (read, faults) = read(Source::open(&path).unwrap());
    assert!(faults.is_empty(), "{faults:?}");
    let tables: Vec<_> = read.iter().map(|made| made.kernel.slab.as_ref().unwrap()).collect();
    for (a, b) in all.iter().zip(&tables) {
        assert_eq!(a.kernel.slab.as_ref().unwrap(), *b);
    }
    // Who keeps a history of it sees two reads.
    let same: Vec<_> = tables.windows(2).map(|pair| Arc::ptr_eq(pair[0], pair[1])).collect();
    assert_eq!(same, [true, true, false, true, true]);
}

#[test]
fn files_of_one_boot_are_in_the_order_of_its_clock() {
    let made = |from: u64, time: u64, boot: &str| {
        let all = series(from, 3).into_iter().map(|made| {
            let mut made = Snapshot::clone(&made);
            made.time = SystemTime::UNIX_EPOCH + Duration::from_secs(time + made.monotonic.as_secs() - from);
            made.boot_id = Ok(Arc::from(boot));
            Arc::new(made)
        });
        written(&[all.collect()], &[])
    };
    let folder = tempfile::tempdir().unwrap();
    // The clock of the first boot was set back by an hour, and forth again; the second boot is later, whatever its clock.
    for (name, file) in [
        ("a", made(300, 96_400, "one")),
        ("b", made(100, 100_000, "one")),
        ("c", made(400, 101_000, "one")),
        ("d", made(50, 200_000, "two")),
    ] {
        fs::write(folder.path().join(format!("{name}.zmrec")), file).unwrap();
    }
    let (read, faults) = read(Source::open(folder.path()).unwrap());
    let firsts: Vec<_> = seconds(&read).into_iter().step_by(3).collect();
    assert_eq!(firsts, [100, 300, 400, 50], "{faults:?}");
}

#[test]
fn a_group_ends_where_the_clock_is_set_back_and_its_header_has_the_highest_peak() {
    let mut all: Vec<_> = series(100, 6).iter().map(|made| Snapshot::clone(made)).collect();
    all.iter_mut()
        .skip(4)
        .for_each(|made| made.time -= Duration::from_secs(3600));
    let mut exits = (*small().exits).clone();
    exits.list[0].peak = 300 * MIB;
    // It is a fork, which shares its pages with its parent.
    (exits.list[1].peak, exits.list[1].parent_rss) = (900 * MIB, Some(650 * MIB));
    all[1].exits = Arc::new(exits);
    let all: Vec<_> = all.into_iter().map(Arc::new).collect();
    let mut writer = GroupWriter::default();
    let (mut bytes, mut begin) = (Vec::new(), 0);
    for made in &all {
        if writer.is_full(made) {
            let end = writer.end().unwrap().unwrap();
            bytes.extend(end.bytes);
            bytes[begin..begin + HEADER].copy_from_slice(&end.header);
            begin = bytes.len();
        }
        bytes.extend(writer.push(made, &[]).unwrap());
    }
    // As a writer leaves it that is killed in the second group.
    let (_folder, path) = file(&bytes);
    let recording = Recording::open(&path).unwrap();
    let found: Vec<_> = recording
        .groups()
        .iter()
        .map(|group| (group.snapshots, group.peak >> 20, group.monotonic.as_secs()))
        .collect();
    assert_eq!(found, [(4, 300, 100), (2, 0, 104)]);
    // An index of lines knows the same.
    let lines: Vec<u8> = all
        .iter()
        .flat_map(|made| {
            serde_json::to_vec(&zmtop::record::Record::new(made))
                .unwrap()
                .into_iter()
                .chain(*b"\n")
        })
        .collect();
    let path = path.with_extension("ndjson");
    fs::write(&path, lines).unwrap();
    let of_lines: Vec<_> = Recording::open(&path)
        .unwrap()
        .groups()
        .iter()
        .map(|group| (group.snapshots, group.peak >> 20, group.monotonic.as_secs()))
        .collect();
    assert_eq!(of_lines, found);
}

#[test]
fn a_group_is_cut_if_its_writer_was() {
    let all = series(100, 3);
    let mut writer = GroupWriter::default();
    let open: Vec<u8> = all.iter().flat_map(|made| writer.push(made, &[]).unwrap()).collect();
    let end = writer.end().unwrap().unwrap();
    let of_stream = [&open[..], &end.bytes].concat();
    let mut whole = of_stream.clone();
    whole[..HEADER].copy_from_slice(&end.header);
    let in_line = &open[..open.len() - 5];
    let preallocated = [&open[..], &[0; 4096]].concat();
    for (bytes, is_cut) in [
        (&whole[..], false),
        // Its header is never overwritten.
        (&of_stream, false),
        (&open, true),
        (in_line, true),
        (&preallocated, true),
    ] {
        let (_folder, path) = file(bytes);
        let recording = Recording::open(&path).unwrap();
        let cut: Vec<_> = recording.groups().iter().map(|group| group.is_cut).collect();
        assert_eq!(cut, [is_cut], "{} bytes", bytes.len());
    }
}

#[test]
fn hostile_names_and_every_field_are_read_back() {
    let at = |mut made: Snapshot, second| {
        made.monotonic = Duration::from_secs(second);
        Arc::new(made)
    };
    let mut changed = hostile();
    changed.processes.as_mut().unwrap().truncate(HOSTILE.len() / 2);
    let all = vec![at(small(), 70), at(hostile(), 80), at(changed, 81), at(small(), 90)];
    let (_folder, path) = file(&written(std::slice::from_ref(&all), &[]));
    let (read, faults) = read(Source::open(&path).unwrap());
    assert!(faults.is_empty(), "{faults:?}");
    for (a, b) in all.iter().zip(&read) {
        assert_same(a, b);
    }
    assert_eq!(read.len(), all.len());
}

#[test]
fn the_index_knows_times_figures_and_marks() {
    let groups = groups();
    let all = groups.concat();
    let incident = Incident::new(all[6].time, IncidentKind::Kill, "killed 9137 importer".into());
    let (_folder, path) = file(&written(&groups, &[(106, incident.clone())]));
    let recording = Recording::open(&path).unwrap();
    assert_eq!(recording.groups().len(), 3);
    assert_eq!(recording.span(), (all[0].time, all[11].time));
    let second = &recording.groups()[1];
    assert_eq!(
        (second.from, second.to, second.snapshots),
        (all[4].time, all[7].time, 4)
    );
    assert_eq!((second.total, second.available), (1 << 30, (1 << 29) - 107 * MIB));
    assert_eq!(recording.incidents(), [incident]);
    let from = |second: usize| seconds(&read(recording.read_from(all[second].time)).0);
    assert_eq!(from(5), (104..112).collect::<Vec<_>>());
    assert_eq!(from(8), (108..112).collect::<Vec<_>>());
    assert_eq!(from(0).len(), 12);
}

#[test]
fn zstd_exports_the_lines() {
    let (_folder, path) = file(&written(&groups(), &[]));
    let lines = zstd::decode_all(fs::File::open(path).unwrap()).unwrap();
    let lines: Vec<serde_json::Value> = lines
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_slice(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 12);
    let schemas: Vec<_> = lines.iter().map(|line| line["schema"].as_str().unwrap()).collect();
    assert_eq!(
        schemas[..5],
        [
            "zmtop/1",
            "zmtop-changes/1",
            "zmtop-changes/1",
            "zmtop-changes/1",
            "zmtop/1"
        ]
    );
}

/// The rule of damage: what is read is what was written, whole groups are complete, and what is lost is reported.
#[track_caller]
fn assert_salvaged(bytes: &[u8], groups: &[Vec<Arc<Snapshot>>], damaged: usize, what: &str) {
    let (_folder, path) = file(bytes);
    let source = match Source::open(&path) {
        Ok(source) => source,
        // The first bytes are no recording any more, and reading it as lines fails.
        Err(fault) => panic!("{what}: {fault}"),
    };
    let (read, faults) = read(source);
    let mut rest = groups.iter().flatten();
    for found in &read {
        let original = rest.find(|original| original.monotonic == found.monotonic);
        let original = original.unwrap_or_else(|| panic!("{what}: read what was not written: {:?}", found.monotonic));
        assert_same(original, found);
    }
    let got = seconds(&read);
    for (group, whole) in groups.iter().enumerate().filter(|(group, _)| *group != damaged) {
        let want = seconds(whole);
        assert!(
            want.iter().all(|second| got.contains(second)),
            "{what}: group {group} is lost: {got:?}"
        );
    }
    assert!(
        got.len() == groups.iter().flatten().count() || !faults.is_empty(),
        "{what}: nothing says what is lost: {got:?}"
    );
}

#[test]
fn a_flipped_bit_costs_its_group_at_most() {
    // One process that stays and one that comes and goes: more of them would be more of the same bytes.
    let groups: Vec<_> = (0..3).map(|group| series_of(1, 100 + group * 2, 2)).collect();
    let bytes = written(&groups, &[]);
    let each: Vec<usize> = groups
        .iter()
        .map(|group| written(std::slice::from_ref(group), &[]).len())
        .collect();
    // In the short form every 23rd byte.
    for at in (16..bytes.len()).step_by(if long() { 1 } else { 23 }) {
        let group = (0..3).find(|group| at < each[..=*group].iter().sum()).unwrap();
        let inside = at - each[..group].iter().sum::<usize>();
        // Every bit of the header and of both ends of the group. Of each byte between, one bit: the lines and their frame have
        // checksums, which find any bit.
        let is_frame = inside < HEADER + 16 || inside + 16 >= each[group];
        for bit in (0..8).filter(|bit| *bit == at % 8 || long() && is_frame) {
            let mut flipped = bytes.clone();
            flipped[at] ^= 1 << bit;
            let what = format!("bit {bit} of byte {at}, in group {group}");
            assert_salvaged(&flipped, &groups, group, &what);
        }
    }
}

#[test]
fn a_recording_cut_at_any_byte_has_all_whole_lines() {
    let groups = groups();
    let all = groups.concat();
    let bytes = written(&groups, &[]);
    let mut most = 0;
    let cuts = (HEADER + 1..bytes.len()).step_by(if long() { 1 } else { 13 });
    for cut in cuts.chain([bytes.len() - 1]) {
        let (_folder, path) = file(&bytes[..cut]);
        let (read, faults) = read(Source::open(&path).unwrap());
        assert_eq!(seconds(&read), seconds(&all)[..read.len()], "cut at {cut}: {faults:?}");
        assert!(read.len() >= most, "cut at {cut}: fewer than before");
        most = read.len();
    }
    assert_eq!(most, 12);
}

#[test]
fn a_group_that_was_not_finished_is_read_and_the_next_one_too() {
    let groups = groups();
    let mut writer = GroupWriter::default();
    let mut bytes = Vec::new();
    for made in &groups[0] {
        bytes.extend(writer.push(made, &[]).unwrap());
    }
    // Its writer was killed within the next line.
    let cut = writer.push(&groups[1][0], &[]).unwrap();
    bytes.extend(&cut[..cut.len() / 2]);
    bytes.extend(written(&groups[2..], &[]));
    let (_folder, path) = file(&bytes);
    let (read, _) = read(Source::open(&path).unwrap());
    assert_eq!(seconds(&read), [100, 101, 102, 103, 108, 109, 110, 111]);
    let recording = Recording::open(&path).unwrap();
    assert_eq!(recording.groups()[0].from, groups[0][0].time);
    assert_eq!(recording.groups()[0].snapshots, 4);
}

#[test]
fn a_recording_is_followed_while_it_grows() {
    let groups = groups();
    let (_folder, path) = file(&written(&groups[..1], &[]));
    let mut recording = Recording::open(&path).unwrap();
    assert!(!recording.refresh().unwrap());
    let mut writer = GroupWriter::default();
    let mut bytes = written(&groups[..1], &[]);
    bytes.extend(writer.push(&groups[1][0], &[]).unwrap());
    fs::write(&path, &bytes).unwrap();
    assert!(recording.refresh().unwrap());
    assert_eq!(recording.span().1, groups[1][0].time);
    bytes.extend(writer.push(&groups[1][1], &[]).unwrap());
    fs::write(&path, &bytes).unwrap();
    assert!(recording.refresh().unwrap());
    let (read, faults) = read(recording.read_from(groups[1][0].time));
    assert_eq!(seconds(&read), [104, 105], "{faults:?}");
}

#[test]
fn a_directory_is_all_recordings_in_it() {
    let groups = groups();
    let folder = tempfile::tempdir().unwrap();
    // Not in the order of their names.
    fs::write(folder.path().join("b.zmrec"), written(&groups[..1], &[])).unwrap();
    fs::write(folder.path().join("a.zmrec"), written(&groups[1..], &[])).unwrap();
    fs::write(folder.path().join("c.zmrec"), []).unwrap();
    fs::write(folder.path().join("notes.txt"), "else").unwrap();
    let (read, faults) = read(Source::open(folder.path()).unwrap());
    assert_eq!(seconds(&read), (100..112).collect::<Vec<_>>(), "{faults:?}");
}

#[test]
fn a_file_without_a_whole_line_has_no_part_in_the_time_line() {
    let groups = groups();
    let open = GroupWriter::default().push(&groups[0][0], &[]).unwrap();
    let folder = scratch();
    fs::write(folder.path().join("cut.zmrec"), &open[..open.len() - 5]).unwrap();
    let whole = folder.path().join("whole.zmrec");
    for (files, span) in [(1, None), (2, Some((groups[1][0].time, groups[2][3].time)))] {
        if files == 2 {
            fs::write(&whole, written(&groups[1..], &[])).unwrap();
        }
        let recording = Recording::open(folder.path()).unwrap();
        assert_eq!(recording.groups()[0].snapshots, 0, "the cut one comes first");
        let timeline = Timeline {
            groups: recording.groups().to_vec(),
            incidents: Vec::new(),
        };
        assert_eq!(timeline.span(), span);
    }
}

#[test]
fn lines_are_indexed_too() {
    let all = series(100, 200);
    // Blank lines are passed over.
    for between in ["", "\n", &" \n\n".repeat(2000)] {
        let mut lines = Vec::new();
        for made in &all {
            lines.extend_from_slice(between.as_bytes());
            serde_json::to_writer(&mut lines, &zmtop::record::Record::new(made)).unwrap();
            lines.push(b'\n');
        }
        let (_folder, path) = file(&lines);
        let recording = Recording::open(&path).unwrap();
        assert_eq!(recording.groups().len(), 4);
        let (read, faults) = read(recording.read_from(all[130].time));
        assert_eq!(seconds(&read), (220..300).collect::<Vec<_>>(), "{faults:?}");
    }
}

#[test]
fn compressed_lines_after_blank_ones_are_read() {
    let mut lines = vec![b'\n'; 50_000];
    for made in series(100, 5) {
        lines.extend(ChangeWriter::default().line(&made));
        lines.push(b'\n');
    }
    let (_folder, path) = file(&zstd::encode_all(&lines[..], 3).unwrap());
    let recording = Recording::open(&path).unwrap();
    let (snapshots, faults) = read(recording.read_group(0));
    assert_eq!((seconds(&snapshots), faults), ((100..105).collect(), vec![]));
}

#[test]
fn the_last_of_too_many_incidents_are_known() {
    let line = |second: u64, count: usize| {
        let incident = format!(
            r#"{{"time_ns":{},"kind":"leak","text":"{}"}}"#,
            second * 1_000_000_000,
            "y".repeat(if count == 1 { 2000 } else { 1 })
        );
        let incidents = vec![incident; count].join(",");
        format!("{{\"schema\":\"zmtop/1\",\"time\":\"2026-11-29T00:00:{second:02}Z\",\"incidents\":[{incidents}]}}\n")
    };
    let lines: String = (1..=3).map(|second| line(second, 60_000)).chain([line(4, 1)]).collect();
    let (_folder, path) = file(lines.as_bytes());
    let recording = Recording::open(&path).unwrap();
    let known = recording.incidents();
    assert!((50_000..=100_000).contains(&known.len()), "{}", known.len());
    assert_eq!(known.last().unwrap().text.len(), 400);
    let last = known
        .iter()
        .filter(|incident| incident.at() == SystemTime::UNIX_EPOCH + Duration::from_secs(3));
    assert!(last.count() >= 50_000);
}

#[test]
fn the_index_of_a_group_with_too_many_incidents_has_the_most_serious_of_each_owner() {
    let incident = |second: u64, kind, text: &str| {
        let at = SystemTime::UNIX_EPOCH + Duration::from_secs(START + second);
        Incident::new(at, kind, text.into())
    };
    let of_cgroup = |second, owner: &str, text: &str| {
        let incident = incident(second, IncidentKind::Stall, text);
        incident.of_cgroup(true).owned_by(owner.as_bytes())
    };
    let flood = |second| {
        (0..2000).map(move |_| {
            (
                second,
                of_cgroup(second, "/user.slice/user-1000.slice", &"y".repeat(300)),
            )
        })
    };
    let mut incidents: Vec<_> = flood(100).chain(flood(102)).chain(flood(103)).collect();
    let kill = incident(100, IncidentKind::Kill, "7 importer by the kernel");
    let of_other = of_cgroup(100, "/system.slice/web.service", "/web stalls");
    let minor = incident(103, IncidentKind::Danger, "memory is full").minor(true);
    let leak = incident(103, IncidentKind::Leak, "web leaks");
    for (at, one) in [(0, &kill), (0, &of_other), (6002, &minor), (6003, &leak)] {
        let second = if at == 0 { 100 } else { 103 };
        incidents.insert(at, (second, one.clone()));
    }
    let groups = groups();
    let (_folder, path) = file(&written(&groups, &incidents));
    let recording = Recording::open(&path).unwrap();
    let known = recording.incidents();
    // The owner of a cgroup is not recorded.
    let texts: Vec<_> = known.iter().map(|incident| &*incident.text).collect();
    for (one, is_known) in [(&kill, true), (&of_other, true), (&minor, false), (&leak, false)] {
        assert_eq!(texts.contains(&&*one.text), is_known, "{one:?}");
    }
    let newest = known.iter().filter(|incident| incident.at() >= incidents[6000].1.at());
    assert_eq!(newest.count(), 2000);
    assert!((2000..5000).contains(&known.len()), "{}", known.len());
    // Who needs all of them reads the lines.
    assert!(!recording.has_incidents());
    incidents.truncate(100);
    let (_folder, path) = file(&written(&groups, &incidents));
    let recording = Recording::open(&path).unwrap();
    assert!(recording.has_incidents());
    assert_eq!(recording.incidents().len(), 100);
}

#[test]
fn the_text_of_an_incident_has_at_most_a_kibibyte() {
    let text = Incident::new(SystemTime::UNIX_EPOCH, IncidentKind::Kill, "€".repeat(400)).text;
    assert_eq!(text, "€".repeat(341));
}

/// Overwrites bytes of a header, and corrects its checksum.
fn set(bytes: &mut [u8], header: usize, at: usize, value: &[u8]) {
    bytes[header + at..header + at + value.len()].copy_from_slice(value);
    let sum = crc32(&bytes[header + 8..header + 100]);
    bytes[header + 100..header + 104].copy_from_slice(&sum.to_le_bytes());
}

#[test]
fn a_later_version_is_refused() {
    let mut bytes = written(&groups(), &[]);
    set(&mut bytes, 0, 16, &[2]);
    let (_folder, path) = file(&bytes);
    let error = Recording::open(&path).unwrap_err().to_string();
    assert!(error.contains("later version"), "{error}");
}

#[test]
fn a_file_of_a_later_version_does_not_hide_the_others() {
    let groups = groups();
    let folder = tempfile::tempdir().unwrap();
    let mut later = written(&groups[1..2], &[]);
    set(&mut later, 0, 16, &[2]);
    fs::write(folder.path().join("a.zmrec"), written(&groups[..1], &[])).unwrap();
    fs::write(folder.path().join("b.zmrec"), later).unwrap();
    fs::write(folder.path().join("c.zmrec"), written(&groups[2..], &[])).unwrap();
    let mut recording = Recording::open(folder.path()).unwrap();
    assert!(!recording.refresh().unwrap());
    let (read, faults) = read(recording.read_from(groups[0][0].time));
    assert_eq!(seconds(&read), [100, 101, 102, 103, 108, 109, 110, 111]);
    let [fault] = &faults[..] else { panic!("{faults:?}") };
    assert!(fault.contains("b.zmrec") && fault.contains("later version"), "{fault}");
}

#[test]
fn hostile_lengths_cost_their_group_at_most() {
    let groups = groups();
    let whole = written(&groups, &[]);
    let second = written(&groups[..1], &[]).len();
    let cases: [(usize, &[u8]); 8] = [
        (20, &[0xff; 4]),
        (20, &[0; 4]),
        (40, &[0xff; 8]),
        (40, &[0; 8]),
        (40, &u64::from(u32::MAX).to_le_bytes()),
        (40, &1_u64.to_le_bytes()),
        (64, &[0xff; 4]),
        (64, &1_u32.to_le_bytes()),
    ];
    for (at, value) in cases {
        let mut bytes = whole.clone();
        set(&mut bytes, second, at, value);
        assert_salvaged(&bytes, &groups, 1, &format!("{value:?} at {at}"));
    }
    // A window of 2 TiB, in the header of the frame of zstd.
    let mut bytes = whole.clone();
    bytes[second + HEADER + 4] = 0;
    bytes[second + HEADER + 5] = 0xf8;
    assert_salvaged(&bytes, &groups, 1, "a window of 2 TiB");
}

#[test]
fn a_line_without_an_end_needs_no_more_memory_than_the_longest() {
    use std::io::Write as _;
    // A group that its writer did not finish, whose line has a GiB.
    let mut bytes = written(&groups()[..1], &[]);
    let mut header = bytes[..HEADER].to_vec();
    set(&mut header, 0, 18, &[0, 0]);
    bytes.extend(header);
    let mut body = zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
    for _ in 0..1024 {
        body.write_all(&vec![b' '; 1 << 20]).unwrap();
    }
    bytes.extend(body.finish().unwrap());
    let (_folder, path) = file(&bytes);
    let run = std::process::Command::new("sh")
        .args(["-c", "ulimit -v 1000000; exec \"$0\" why \"$1\""])
        .args([env!("CARGO_BIN_EXE_zmtop").as_ref(), path.as_os_str()])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "{} {text}", run.status);
    assert!(text.contains("damaged"), "{text}");
}

#[test]
fn a_hole_of_a_terabyte_is_skipped_or_refused() {
    const HOLE: u64 = 1 << 40;
    let writable = |path: &PathBuf| fs::File::options().write(true).open(path).unwrap();
    let groups = groups();
    let bytes = written(&groups[..1], &[]);
    let run = |command: &[&str], path: &PathBuf| {
        let mut run = std::process::Command::new(env!("CARGO_BIN_EXE_zmtop"));
        let output = run.args(command).arg(path).output().unwrap();
        let texts = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
        (output.status.success(), texts)
    };
    // A hole between two groups.
    let (_folder, path) = file(&bytes);
    writable(&path).write_all_at(&bytes, HOLE).unwrap();
    let (is_read, [out, err]) = run(&["why"], &path);
    assert!(is_read, "{out} {err}");
    // A hole after a group that its writer did not finish.
    let mut writer = GroupWriter::default();
    let mut open = bytes.clone();
    for made in &groups[1] {
        open.extend(writer.push(made, &[]).unwrap());
    }
    let (_folder, path) = file(&open);
    writable(&path).set_len(HOLE).unwrap();
    for command in [&["why"][..], &["ps", "--from"]] {
        let (is_read, [out, err]) = run(command, &path);
        assert!(is_read && !out.is_empty(), "{command:?}: {out} {err}");
    }
    // Nothing but a hole.
    let (_folder, path) = file(b"");
    writable(&path).set_len(HOLE).unwrap();
    let (is_read, [out, err]) = run(&["why"], &path);
    assert!(!is_read && err.contains("no complete snapshot"), "{out} {err}");
    let (is_read, [out, err]) = run(&["ps", "--from"], &path);
    assert!(!is_read && err.contains("line 1 is longer than"), "{out} {err}");
}

#[test]
fn zeros_after_the_last_line_are_no_damage() {
    // Some file systems leave them after a power cut. To zstd they are blocks of no bytes.
    let groups = groups();
    let mut writer = GroupWriter::default();
    let mut bytes = written(&groups[..1], &[]);
    for made in &groups[1] {
        bytes.extend(writer.push(made, &[]).unwrap());
    }
    bytes.resize(bytes.len() + 5000, 0);
    let (_folder, path) = file(&bytes);
    let (read, faults) = read(Source::open(&path).unwrap());
    assert_eq!(seconds(&read), (100..108).collect::<Vec<_>>());
    assert!(faults.is_empty(), "{faults:?}");
}

/// CRC-32 of IEEE 802.3, bit by bit.
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |sum, byte| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| (sum >> 1) ^ (0xedb8_8320 * (sum & 1)))
    })
}

//! Formats and raw pages, captured and made, whole and damaged.

use zmtop::proc::tracefs::{Decoder, Event};
use zmtop::proc::tracefs::{Field, Format, FormatError};
use zmtop::proc::tracefs::{Missed, PageLayout, Record, Torn};
use zmtop::proc::tracefs::{lost, mounts};

use super::{decoder, fixture};

fn layout(name: &str) -> PageLayout {
    PageLayout::parse(&fixture(&format!("{name}.header_page"))).unwrap()
}

/// The sizes of each allocation, asked for and taken; nothing for a free.
type Sizes = Option<(u64, u64)>;

fn sizes(event: Event) -> Sizes {
    match event {
        Event::Alloc {
            requested, allocated, ..
        } => Some((requested, allocated)),
        Event::Free { .. } => None,
    }
}

/// The events as the kernel printed them itself, in its file `trace`.
fn printed(name: &str) -> Vec<Sizes> {
    let text = String::from_utf8(fixture(&format!("{name}.events"))).unwrap();
    let line = |line: &str| {
        let (requested, allocated) = line.split_once(' ')?;
        Some((requested.parse().unwrap(), allocated.parse().unwrap()))
    };
    text.lines().map(line).collect()
}

#[test]
fn captured_pages_say_what_the_kernel_printed() {
    let decoder = decoder();
    for (name, size, least, whole) in [
        ("plain", 4096, 100, false),
        // Sub-buffers of another size than a page.
        ("large", 8192, 100, false),
        // Small buffers that ran over.
        ("missed", 4096, 194, true),
        // Long times between events.
        ("extended", 4096, 67, true),
    ] {
        let layout = layout(name);
        assert_eq!(layout.size(), size, "{name}");
        let raw = fixture(&format!("{name}.raw"));
        let mut events = Vec::new();
        for page in raw.chunks(size) {
            for record in layout.open(page).unwrap().records {
                events.push(sizes(decoder.decode(record.unwrap().payload).unwrap()));
            }
        }
        let printed = printed(name);
        assert!(events.len() >= least, "{name}: {}", events.len());
        assert_eq!(events, printed[..events.len()], "{name}");
        assert!(!whole || events.len() == printed.len(), "{name}");
    }
}

#[test]
fn times_are_those_that_the_kernel_printed() {
    let layout = layout("extended");
    let raw = fixture("extended.raw");
    let pages = raw.chunks(4096).map(|page| layout.open(page).unwrap());
    let times: Vec<u64> = pages
        .flat_map(|page| page.records.map(|record| record.unwrap().time.div_ceil(1000)))
        .collect();
    let text = String::from_utf8(fixture("extended.times")).unwrap();
    let printed: Vec<u64> = text
        .lines()
        .map(|line| line.replace('.', "").parse().unwrap())
        .collect();
    assert_eq!(times.len(), printed.len());
    for (at, (time, printed)) in times.iter().zip(&printed).enumerate() {
        // It rounds to whole microseconds.
        assert!(time.abs_diff(*printed) <= 1, "{at}: {time} {printed}");
    }
    assert!(
        printed.windows(2).any(|pair| pair[1] - pair[0] > 1 << 18),
        "some need more than 27 bits"
    );
}

#[test]
fn lost_events_are_reported_by_the_page_behind_them() {
    let layout = layout("missed");
    let raw = fixture("missed.raw");
    let missed: Vec<Missed> = raw.chunks(4096).map(|page| layout.open(page).unwrap().missed).collect();
    assert_eq!(missed[0], Missed::Count(1462), "the kernel's stats said so, too");
    assert_eq!(missed[1..], [Missed::None, Missed::None]);
    let mut page = raw[..4096].to_vec();
    page[11] &= !0x40;
    assert_eq!(layout.open(&page).unwrap().missed, Missed::Some);
}

/// The whole records of a page, and if it is torn.
fn read(layout: &PageLayout, page: &[u8]) -> (Vec<(u64, Vec<u8>)>, bool) {
    let Some(page) = layout.open(page) else {
        return (Vec::new(), true);
    };
    let (mut records, mut torn) = (Vec::new(), false);
    for record in page.records {
        assert!(!torn, "nothing comes after what is torn");
        match record {
            Ok(Record { time, payload }) => records.push((time, payload.to_vec())),
            Err(Torn) => torn = true,
        }
    }
    (records, torn)
}

#[test]
fn a_cut_page_is_torn_and_panics_nobody() {
    for name in ["plain", "extended", "missed"] {
        let layout = layout(name);
        let page = &fixture(&format!("{name}.raw"))[..4096];
        let (whole, torn) = read(&layout, page);
        assert!(!torn && !whole.is_empty());
        for cut in 0..4096 {
            // What the kernel copied in part is not believed at all.
            let (records, torn) = read(&layout, &page[..cut]);
            assert!(torn && records.is_empty() || records == whole, "{name} {cut}");
        }
        for length in 0..4080_u16 {
            // A page whose header counts less than there is, in the middle of a record.
            let mut page = page.to_vec();
            page[8..12].copy_from_slice(&u32::from(length).to_le_bytes());
            let (records, _) = read(&layout, &page);
            assert_eq!(records[..], whole[..records.len()], "{name} {length}");
        }
    }
}

#[test]
fn a_page_with_any_byte_changed_comes_to_an_end() {
    let (layout, decoder) = (layout("plain"), decoder());
    let page = &fixture("plain.raw")[..4096];
    for at in 0..page.len() {
        for change in [0x01, 0x1f, 0x80, 0xff] {
            let mut page = page.to_vec();
            page[at] ^= change;
            let (records, _) = read(&layout, &page);
            assert!(records.len() <= 4096 / 4);
            // Each is decoded or refused.
            let decoded = records
                .iter()
                .filter_map(|(_, payload)| decoder.decode(payload))
                .count();
            assert!(decoded <= records.len());
        }
    }
    assert_eq!(read(&layout, &[0xff; 4096]), (Vec::new(), true));
    assert_eq!(read(&layout, &[0; 4096]), (Vec::new(), false));
}

/// A page of these words behind a header that begins at that time.
fn made(time: u64, words: &[u32]) -> Vec<u8> {
    let mut page = time.to_le_bytes().to_vec();
    page.extend_from_slice(&(words.len() as u64 * 4).to_le_bytes());
    page.extend(words.iter().flat_map(|word| word.to_le_bytes()));
    page.resize(4096, 0xee);
    page
}

fn head(kind: u32, delta: u32) -> u32 {
    delta << 5 | kind
}

#[test]
fn every_kind_of_record_is_understood() {
    let layout = layout("plain");
    let records = |words: &[u32]| {
        let (records, torn) = read(&layout, &made(1000, words));
        let short = |(time, payload): &(u64, Vec<u8>)| (*time, payload.len(), payload[0]);
        (records.iter().map(short).collect::<Vec<_>>(), torn)
    };
    for (words, want) in [
        (&[][..], (vec![], false)),
        (&[head(1, 5), 7], (vec![(1005, 4, 7)], false)),
        (
            &[head(2, 5), 7, 0, head(1, 1), 8],
            (vec![(1005, 8, 7), (1006, 4, 8)], false),
        ),
        // A length of its own, which counts itself.
        (
            &[head(0, 5), 12, 7, 0, head(1, 1), 8],
            (vec![(1005, 8, 7), (1006, 4, 8)], false),
        ),
        // The rest of the page is empty.
        (&[head(1, 5), 7, head(29, 0), 99, 99], (vec![(1005, 4, 7)], false)),
        // A record was taken back: its time stays, but for a tick that stands for none.
        (&[head(29, 9), 8, 99, head(1, 5), 7], (vec![(1014, 4, 7)], false)),
        (&[head(29, 1), 8, 99, head(1, 5), 7], (vec![(1005, 4, 7)], false)),
        // A longer time, and an absolute one.
        (
            &[head(30, 3), 1, head(1, 5), 7],
            (vec![(1008 + (1 << 27), 4, 7)], false),
        ),
        (&[head(31, 3), 1, head(1, 5), 7], (vec![(8 + (1 << 27), 4, 7)], false)),
        // Torn: longer than the page, shorter than its own length, no length.
        (&[head(1, 5), 7, head(28, 1), 8], (vec![(1005, 4, 7)], true)),
        (&[head(0, 5), 3, 7], (vec![], true)),
        (&[head(0, 5), u32::MAX], (vec![], true)),
        (&[head(29, 5)], (vec![], true)),
        (&[head(30, 5)], (vec![], true)),
    ] {
        assert_eq!(records(words), want, "{words:?}");
    }
    // The five highest bits of an absolute time are those of the time before.
    let (records, _) = read(&layout, &made(0x0800_0000_0000_1234, &[head(31, 3), 1, head(1, 5), 7]));
    assert_eq!(records[0].0, 0x0800_0000_0000_0008 + (1 << 27));
}

#[test]
fn headers_of_pages() {
    // Of a machine with 32 bits.
    let small = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\tfield: local_t commit;\toffset:8;\tsize:4;\tsigned:1;\n\
                 \tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n\tfield: char data;\toffset:12;\tsize:4084;\tsigned:1;\n";
    let layout = PageLayout::parse(small.as_bytes()).unwrap();
    assert_eq!(layout.size(), 4096);
    let mut page = vec![0; 4096];
    page[8] = 8;
    page[12..20].copy_from_slice(&[head(1, 5).to_le_bytes(), 7_u32.to_le_bytes()].concat());
    assert_eq!(read(&layout, &page), (vec![(5, vec![7, 0, 0, 0])], false));
    let without = |name: &str| small.replace(name, "other");
    for (text, error) in [
        (String::new(), FormatError::Absent("timestamp")),
        (without("timestamp"), FormatError::Absent("timestamp")),
        (without("commit"), FormatError::Absent("commit")),
        (without("data"), FormatError::Absent("data")),
        (
            small.replace("offset:0;\tsize:8", "offset:0;\tsize:4"),
            FormatError::Size("timestamp", 4),
        ),
        (small.replace("size:4;", "size:2;"), FormatError::Size("commit", 2)),
        (small.replace("4084", "3"), FormatError::Size("data", 3)),
        (small.replace("4084", "99999999"), FormatError::Size("data", 99_999_999)),
        (
            small.replace("4084", "18446744073709551615"),
            FormatError::Size("data", usize::MAX),
        ),
        (small.replace("offset:12", "offset:x"), FormatError::Absent("data")),
    ] {
        assert_eq!(PageLayout::parse(text.as_bytes()), Err(error), "{text}");
    }
}

#[test]
fn formats_of_events() {
    let text = String::from_utf8(fixture("kmalloc.format")).unwrap();
    let format = Format::parse(text.as_bytes());
    assert_eq!(format.id(), Ok(658));
    let field = |offset, size, signed| Ok(Field { offset, size, signed });
    assert_eq!(format.number("call_site"), field(8, 8, false));
    assert_eq!(format.number("ptr"), field(16, 8, false));
    assert_eq!(format.number("node"), field(48, 4, true));
    let cache = Format::parse(&fixture("kmem_cache_alloc.format"));
    assert_eq!(
        cache.number("name"),
        field(24, 4, false),
        "an array's length is no part of its name"
    );
    let refused = |text: &str| Decoder::default().add(true, text.as_bytes()).unwrap_err().to_string();
    for (text, why) in [
        (String::new(), "has no field `common_type`"),
        (text.replace("ID: 658", ""), "has no ID"),
        (text.replace("ID: 658", "ID: 65536"), "has no ID"),
        (text.replace(" ptr;", " pointer;"), "has no field `ptr`"),
        (text.replace("bytes_req;", "req;"), "has no field `bytes_req`"),
        (
            text.replace("offset:24;\tsize:8", "offset:24;\tsize:3"),
            "has a field `bytes_req` of 3 bytes, which is not understood",
        ),
        (
            text.replace("offset:24;\tsize:8", "offset:24;\tsize:16"),
            "has a field `bytes_req` of 16 bytes, which is not understood",
        ),
    ] {
        assert_eq!(refused(&text), why);
    }
    for cut in 0..text.find("print fmt").unwrap() {
        let cut = &text.as_bytes()[..cut];
        let found = Format::parse(cut);
        // A field that is there is whole.
        for name in ["call_site", "ptr", "bytes_req", "bytes_alloc"] {
            assert!(found.number(name).is_err() || found.number(name) == format.number(name));
        }
    }
}

#[test]
fn fields_are_read_where_the_running_kernel_has_them() {
    // A kernel with 32 bits, and one with another order.
    let format = "ID: 7\nformat:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n\
                  \tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\
                  \tfield:size_t bytes_alloc;\toffset:8;\tsize:4;\tsigned:0;\n\tfield:size_t bytes_req;\toffset:12;\tsize:4;\tsigned:0;\n\
                  \tfield:const void * ptr;\toffset:16;\tsize:4;\tsigned:0;\n\tfield:unsigned long call_site;\toffset:20;\tsize:4;\tsigned:0;\n";
    let mut decoder = Decoder::default();
    decoder.add(true, format.as_bytes()).unwrap();
    let payload = |flags: u32| -> Vec<u8> {
        let words: [u32; 6] = [7 | flags << 16, 412, 32, 8, 0xc100_0000, 0xc000_1234];
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    };
    let event = |by| Event::Alloc {
        site: 0xc000_1234,
        pointer: 0xc100_0000,
        requested: 8,
        allocated: 32,
        by,
    };
    // In a hard and in a soft interrupt it is not of the thread.
    for (flags, by) in [(0x01, Some(412)), (0x08, None), (0x10, None), (0x19, None)] {
        assert_eq!(decoder.decode(&payload(flags)), Some(event(by)), "{flags:#x}");
    }
    let payload = payload(0);
    for cut in 0..payload.len() {
        assert_eq!(decoder.decode(&payload[..cut]), None);
    }
    assert_eq!(decoder.decode(&[8, 0, 0, 0]), None, "another event");
}

#[test]
fn tracefs_is_found_where_it_is_mounted() {
    let line =
        |root: &str, point: &str, kind: &str| format!("22 27 0:21 {root} {point} rw shared:1 - {kind} none rw\n");
    for (mountinfo, want) in [
        (String::new(), &[][..]),
        (line("/", "/sys/kernel/tracing", "tracefs"), &["/sys/kernel/tracing"]),
        (
            line("/", "/sys/kernel/debug", "debugfs"),
            &["/sys/kernel/debug/tracing"],
        ),
        (
            line("/", "/sys/kernel/debug", "debugfs") + &line("/", "/a\\040b", "tracefs"),
            &["/a b", "/sys/kernel/debug/tracing"],
        ),
        // A part of it, another file system of that name, and a cut line.
        (line("/events", "/mnt", "tracefs"), &[]),
        (line("/", "/tracefs", "tmpfs"), &[]),
        ("22 27 0:21 / /mnt rw - trace".into(), &[]),
    ] {
        let found: Vec<_> = mounts(mountinfo.as_bytes())
            .into_iter()
            .map(|path| path.display().to_string())
            .collect();
        assert_eq!(found, want, "{mountinfo}");
    }
}

#[test]
fn lost_events_are_counted_by_the_stats() {
    let stats = "entries: 194\noverrun: 1462\ncommit overrun: 3\nbytes: 8912\noldest event ts: 69570.753078\nnow ts: 5\ndropped events: 2\nread events: 0\n";
    assert_eq!(lost(stats.as_bytes()), Some(1467));
    assert_eq!(lost(b"overrun: 0\n"), Some(0));
    assert_eq!(lost(b"overrun: x\n"), None);
    assert_eq!(lost(b""), None);
}

//! Files that are damaged.

use proptest::prelude::*;
use zmtop::source::{Fault, Source, SourceError};

use super::{all, file, gives, ndjson, series};
use crate::support::long;

const CUT: &str = "F ends in the middle of line 3; what came before is used";

#[test]
fn cut_at_every_byte_the_whole_lines_are_kept() {
    let lines = ndjson(&series(3));
    let ends: Vec<usize> = (0..lines.len()).filter(|i| lines[*i] == b'\n').collect();
    // Every byte of the last line, and then every seventh; in the short form fewer, but all about the ends of lines.
    let (close, far) = if long() { (1, 7) } else { (5, 31) };
    let about = ends.iter().flat_map(|end| end - 3..=(end + 3).min(lines.len()));
    let last = (ends[1]..=lines.len()).step_by(close);
    for cut in last.chain((0..ends[1]).step_by(far)).chain(about) {
        let made = file(&lines[..cut]);
        let (sizes, faults) = all(&made.path);
        let whole = ends.iter().filter(|end| cut >= **end).count();
        assert_eq!(sizes, [1, 2, 3][..whole], "{cut}");
        let torn = cut > 0 && !ends.iter().any(|end| cut == *end || cut == *end + 1);
        let line = whole + 1;
        let want = if torn {
            format!("F ends in the middle of line {line}; what came before is used")
        } else {
            "F is empty".to_owned()
        };
        assert_eq!(faults, if torn || cut == 0 { vec![want] } else { vec![] }, "{cut}");
    }
}

#[test]
fn a_damaged_line_is_passed_over_and_named() {
    let lines = String::from_utf8(ndjson(&series(3))).unwrap();
    let middle = |damage: &dyn Fn(&str) -> String| {
        let mut parts: Vec<String> = lines.lines().map(str::to_owned).collect();
        parts[1] = damage(&parts[1]);
        parts.join("\n") + "\n"
    };
    let damaged = |text: &str, what: &str| gives(text.as_bytes(), &[1, 3], &[&format!("F: line 2 is damaged: {what}")]);
    damaged(
        &middle(&|line| line[..300].to_owned()),
        "EOF while parsing a string (column 300)",
    );
    damaged(&middle(&|_| "garbage".into()), "expected value (column 1)");
    damaged(
        &middle(&|_| r#"{"schema":"zmtop-table/1","time":"x","rows":[]}"#.into()),
        "its schema is zmtop-table/1, not zmtop/1: it is not a snapshot that zmtop ps --format ndjson wrote",
    );
    // A string that does not end.
    let (_, faults) = all(&file(middle(&|line| line.replace("\"state\":\"S\"", "\"state\":\"S")).as_bytes()).path);
    assert_eq!(faults.len(), 1);
    // One quotation mark more turns the rest of the line inside out.
    let (sizes, faults) = all(&file(middle(&|line| line.replacen(':', ":\"", 1)).as_bytes()).path);
    assert_eq!((sizes, faults.len()), (vec![1, 3], 1));
}

#[test]
fn blank_lines_are_passed_over_and_counted() {
    let lines = ndjson(&series(2));
    let one = lines.iter().position(|b| *b == b'\n').unwrap() + 1;
    let blank = [b"\n".repeat(300_000), b" \r\n".repeat(100_000), b" ".repeat(300_000)].concat();
    let torn = [&blank, &lines[..one], &blank, b"a\n", &blank, &lines[one..], &blank].concat();
    // Each of the first three ends within the line that follows.
    gives(
        &torn,
        &[1, 2],
        &["F: line 800002 is damaged: expected value (column 300001)"],
    );
    // Within an object, and in one that does not end.
    let blank = b"\n".repeat(300_000);
    let objects = [&b"{\n"[..], &blank, b" \"a\": 1}\n", &blank, b"{\n", &blank, &lines].concat();
    let (sizes, faults) = all(&file(&objects).path);
    assert_eq!((sizes, faults.len()), (vec![1, 2], 1));
    assert!(faults[0].starts_with("F: lines 1 to 900003 are damaged"), "{faults:?}");
}

#[test]
fn damage_in_a_row_is_reported_once() {
    let lines = ndjson(&series(2));
    let one = lines.iter().position(|b| *b == b'\n').unwrap() + 1;
    let torn = [&lines[..one], b"a\nb\n\nc\n", &lines[one..], b"d\n"].concat();
    gives(
        &torn,
        &[1, 2],
        &[
            "F: lines 2 to 5 are damaged: expected value (column 1)",
            "F: line 7 is damaged: expected value (column 1)",
        ],
    );
}

/// A writer was killed, and another appended to what it left.
#[test]
fn what_follows_in_the_same_line_is_found() {
    let lines = ndjson(&series(3));
    let ends: Vec<usize> = (0..lines.len()).filter(|i| lines[*i] == b'\n').collect();
    for cut in [ends[0] + 2, ends[0] + 100, ends[1] - 1] {
        let made = file(&[&lines[..cut], &lines[ends[1] + 1..]].concat());
        let (sizes, faults) = all(&made.path);
        assert_eq!(sizes, [1, 3], "{cut}");
        assert_eq!(faults.len(), 1, "{faults:?}");
        assert!(faults[0].starts_with("F: line 2 is damaged: "), "{faults:?}");
    }
}

#[test]
fn lines_of_others_end_with_their_line() {
    let line = |mib: u32| {
        let zeros = r#""rss":0,"swap":0,"private_clean":0,"private_dirty":0,"shared_clean":0,"shared_dirty":0"#;
        let process = format!(r#"{{"pid":1,"starttime":1,"pss":{},{zeros}}}"#, mib << 20);
        format!(r#"{{"time":"2026-11-20T23:51:00Z","schema":"zmtop/1","processes":[{process}]}}"#)
    };
    let torn = [&line(1), &line(2)[..90], &line(3), "{", &line(4)].join("\n");
    gives(
        torn.as_bytes(),
        &[1, 3, 4],
        &[
            "F: line 2 is damaged: EOF while parsing a string (column 90)",
            "F: line 4 is damaged: EOF while parsing an object (column 1)",
        ],
    );
}

#[test]
fn a_later_version_ends_the_file() {
    let lines = ndjson(&series(2));
    let newer = [&lines[..], b"x\n{\"schema\":\"zmtop/3\",\"time\":0}\n", &lines].concat();
    gives(
        &newer,
        &[1, 2],
        &[
            "F: line 3 is damaged: expected value (column 1)",
            "F: line 4: its schema is zmtop/3, which is newer than this zmtop: it reads zmtop/1",
        ],
    );
}

#[test]
fn zstd_cut_short_keeps_what_can_be_had() {
    use std::io::Write;
    let mut packer = zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
    for one in series(3) {
        packer.write_all(&ndjson(&[one])).unwrap();
        packer.flush().unwrap();
    }
    let packed = packer.finish().unwrap();
    let whole = packed.len();
    let mut seen = std::collections::BTreeSet::new();
    for cut in 0..whole {
        let (sizes, faults) = all(&file(&packed[..cut]).path);
        assert_eq!(sizes, [1, 2, 3][..sizes.len()], "{cut}");
        assert_eq!(faults.len(), 1, "{cut}");
        seen.insert(sizes.len());
    }
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), [0, 1, 2, 3]);
    // Its end alone is missing.
    let (sizes, faults) = all(&file(&packed[..whole - 1]).path);
    assert_eq!(sizes, [1, 2, 3]);
    assert_eq!(faults, [CUT.replace('3', "4")]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_flipped_bit_costs_one_snapshot_at_most(at in any::<prop::sample::Index>(), bit in 0..8_u8) {
        let mut lines = ndjson(&series(3));
        let at = at.index(lines.len());
        lines[at] ^= 1 << bit;
        let (sizes, faults) = all(&file(&lines).path);
        // A damaged newline joins two lines; a new one cuts a line in two.
        prop_assert!(sizes.len() + 2 >= 3 && faults.len() <= 2, "{at} {sizes:?} {faults:?}");
    }

    #[test]
    fn flipped_bits_in_zstd_never_panic(flips in proptest::collection::vec((any::<prop::sample::Index>(), 0..8_u8), 1..4)) {
        let mut packed = zstd::bulk::compress(&ndjson(&series(3)), 1).unwrap();
        for (at, bit) in flips {
            let at = at.index(packed.len());
            packed[at] ^= 1 << bit;
        }
        let (sizes, faults) = all(&file(&packed).path);
        prop_assert!(sizes.len() <= 3 && faults.len() <= 3);
    }

    #[test]
    fn any_bytes_give_no_snapshot_but_a_reason(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let (sizes, faults) = all(&file(&bytes).path);
        prop_assert!(sizes.is_empty() && !faults.is_empty(), "{sizes:?} {faults:?}");
    }

    #[test]
    fn anything_like_json_gives_no_snapshot_but_a_reason(text in r#"[\[\]{}",:\\ \n0-9a-z]{0,80}"#) {
        let (sizes, faults) = all(&file(text.as_bytes()).path);
        prop_assert!(sizes.is_empty() && !faults.is_empty(), "{sizes:?} {faults:?}");
    }
}

#[test]
fn what_is_too_long_is_passed_over() {
    let three = series(3);
    let [one, two, three] = [0, 1, 2].map(|i| String::from_utf8(ndjson(&three[i..=i])).unwrap());
    let longest = one.len() + 20;
    let read = |text: &str| {
        let made = file(text.as_bytes());
        let source = Source::open(&made.path).unwrap().with_longest(longest);
        let mut got = Vec::new();
        for next in source {
            got.push(match next {
                Ok(snapshot) => format!("{}", snapshot.rows()[0].walk.unwrap().memory.pss >> 20),
                Err(SourceError {
                    fault: Fault::Damaged { first, last, what },
                    ..
                }) => format!("{first}-{last}: {what}"),
                Err(other) => other.to_string(),
            });
        }
        got
    };
    let what = format!("longer than {longest} bytes");
    let blown = two.replace("\"host\":\"db1\"", &format!("\"host\":\"{}\"", "x".repeat(99)));
    assert_eq!(
        read(&format!("{one}{blown}{three}")),
        ["1", &format!("2-2: {what}"), "3"]
    );
    // From its first byte on, in the middle of an object of several lines, and at the end.
    assert_eq!(
        read(&format!("{}\n{three}", " ".repeat(9999))),
        [&format!("1-1: {what}"), "3"]
    );
    let several = blown.replace(",\"processes\":", "\n,\"processes\":");
    let got = read(&format!("{one}{several}{three}"));
    assert_eq!((got.len(), &*got[0], &*got[2]), (3, "1", "3"), "{got:?}");
    assert!(got[1].starts_with("2-3: "), "{got:?}");
    assert_eq!(
        read(&format!("{one}{}", blown.trim_end())),
        ["1", &format!("2-2: {what}")]
    );
    // As long as may be.
    assert_eq!(read(&format!("{}{}\n", " ".repeat(18), one.trim_end())), ["1"]);
}

/// A header that claims a window of terabytes, and an endless line out of a small file.
#[test]
fn small_files_do_not_become_huge() {
    let claims = [0x28, 0xb5, 0x2f, 0xfd, 0x00, 0xff, 0x00, 0x00];
    let (sizes, faults) = all(&file(&claims).path);
    assert!(sizes.is_empty() && faults.len() == 1, "{faults:?}");
    assert!(faults[0].contains("memory"), "{faults:?}");
}

#[test]
fn what_needs_too_much_memory_is_passed_over() {
    let lines = String::from_utf8(ndjson(&series(3))).unwrap();
    let lines: Vec<&str> = lines.lines().collect();
    // A megabyte that would become a quarter of a gigabyte.
    let bomb = format!("[{}{{}}]", "{},".repeat(400_000));
    for field in ["x", "heaps", "system", "machine"] {
        let line = lines[1].replacen('{', &format!("{{\"{field}\":{bomb},"), 1);
        let made = [lines[0], &line, lines[2], ""].join("\n");
        gives(
            made.as_bytes(),
            &[1, 3],
            &["F: line 2 is damaged: it needs too much memory"],
        );
    }
}

#[test]
fn a_text_that_no_zmtop_writes_is_passed_over() {
    let lines = String::from_utf8(ndjson(&series(3))).unwrap();
    let lines: Vec<&str> = lines.lines().collect();
    let damaged: &[&str] = &["F: line 2 is damaged: it needs too much memory"];
    // With escaped quotation marks; and the longest that is read.
    for (text, sizes, faults) in [
        ("a".repeat(70_000), &[1, 3][..], damaged),
        ("\\\"".repeat(35_000), &[1, 3], damaged),
        ("a".repeat(65_000), &[1, 2, 3], &[]),
    ] {
        let line = lines[1].replacen('{', &format!("{{\"x\":\"{text}\","), 1);
        let made = [lines[0], &line, lines[2], ""].join("\n");
        gives(made.as_bytes(), sizes, faults);
    }
}

#[test]
fn names_of_brackets_need_no_more_memory_than_others() {
    let lines = String::from_utf8(ndjson(&series(3))).unwrap();
    let lines: Vec<&str> = lines.lines().collect();
    let fields: String = ('a'..='j').fold(String::new(), |all, name| {
        all + &format!("\"{name}\":\"{}\",", "{[,".repeat(20_000))
    });
    let line = lines[1].replacen('{', &format!("{{{fields}"), 1);
    gives([lines[0], &line, lines[2], ""].join("\n").as_bytes(), &[1, 2, 3], &[]);
}

#[test]
fn changes_that_need_too_much_memory_end_their_group() {
    let whole = String::from_utf8(ndjson(&series(1))).unwrap();
    let change = |fields: &str| {
        format!("{{\"schema\":\"zmtop-changes/1\",\"time\":\"2026-11-29T00:00:00Z\",\"monotonic_s\":20.0,{fields}}}\n")
    };
    let small = |name: &str| {
        let list = format!("[{}{{}}]", "{},".repeat(150_000));
        change(&format!("\"machine\":{{\"{name}\":{list}}}"))
    };
    let large = format!("[{}{{}}]", "{},".repeat(400_000));
    let of_row = change(&format!("\"processes\":{{\"1:0\":{{\"x\":{large}}}}}"));
    let of_machine = change(&format!("\"machine\":{{\"x\":{large}}}"));
    let keys: String = (0..400_000).fold(String::new(), |keys, key| keys + "\"" + &key.to_string() + ":1\":0,");
    let of_keys = change(&format!("\"processes\":{{{keys}\"x\":0}}"));
    for lines in [
        vec![of_row],
        vec![of_machine],
        vec![of_keys],
        vec![small("a"), small("b")],
    ] {
        let read = lines.len() as u64;
        let made = [std::slice::from_ref(&whole), &lines[..]].concat().concat();
        let (sizes, faults) = all(&file(made.as_bytes()).path);
        assert_eq!((sizes.len() as u64, faults.len()), (read, 1), "{faults:?}");
        assert!(faults[0].starts_with("F: line "), "{faults:?}");
    }
}

#[test]
fn what_another_says_of_damage_is_safe() {
    let line = "{\"schema\":\"damage\",\"what\":\"a\\u001b[31m\\n\\u202eb\"}\n";
    let made = [line, &String::from_utf8(ndjson(&series(1))).unwrap()].concat();
    gives(
        made.as_bytes(),
        &[1],
        &["F: line 1 is damaged: a\\x1b[31m\\n\\u{202e}b"],
    );
}

//! `stat` and `status`.

use zmtop::model::Missing;
use zmtop::proc::pid::uid;
use zmtop::proc::pid::{name_digest, stat as parse};

/// A stat after the name, each field its own number.
pub(super) const TAIL: &[u8] = b") S 4 5 6 7 -8 9 10 11 12 13 14 15 16 17 -18 19 20 21 22 23 24 25 26 27 28 29 \
    30 31 32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52\n";

fn stat(name: &[u8]) -> Vec<u8> {
    [b"1234 (", name, TAIL].concat()
}

#[test]
fn every_field_is_where_the_kernel_puts_it() {
    let bytes = stat(b"cat");
    let glance = parse(&bytes, 4096).unwrap();
    assert_eq!((glance.pid, glance.comm, glance.starttime), (1234, &b"cat"[..], 22));
    let s = glance.stat;
    assert_eq!((s.state, s.ppid, s.flags), (b'S', 4, 9));
    assert_eq!((s.minflt, s.majflt, s.cpu_ticks), (10, 12, 14 + 15));
    assert_eq!((s.threads, s.rss), (20, 24 * 4096));
    assert!(s.image != 0 && s.argv != 0 && s.image != s.argv);
}

#[test]
fn a_name_may_look_like_the_rest() {
    for name in [
        &b"a\nb) R 1 (x"[..],
        b"",
        b")",
        b"((",
        b") S 1 1 1",
        b"\xff\xfe\x1b[2J",
        b"kworker/u8:1-events_unbound",
    ] {
        let bytes = stat(name);
        let glance = parse(&bytes, 4096).unwrap();
        assert_eq!((glance.comm, glance.stat.state, glance.stat.ppid), (name, b'S', 4));
    }
}

#[test]
fn a_malformed_stat_is_refused() {
    let good = String::from_utf8(stat(b"cat")).unwrap();
    for (from, to) in [
        ("1234 ", "x "),
        ("1234 ", "4294967296 "),
        ("(", ""),
        (")", ""),
        (" S 4 ", " S -4 "),
        (" 22 ", " 99999999999999999999 "),
        (" 24 ", " 18446744073709551615 "),
        (" 24 25 26", ""),
        (" 10 ", " ten "),
    ] {
        let bad = good.replacen(from, to, 1);
        // A gap moves every later field, so it shows only where the line is then too short.
        if from == " 24 25 26" {
            assert_eq!(
                parse(&bad.as_bytes()[..bad.find(" 30 ").unwrap() - 12], 4096),
                Err(Missing::Malformed)
            );
            continue;
        }
        assert_eq!(parse(bad.as_bytes(), 4096), Err(Missing::Malformed), "{from} → {to}");
    }
    for len in 0..good.find(" 25 ").unwrap() {
        assert_eq!(parse(&good.as_bytes()[..len], 4096), Err(Missing::Malformed), "{len}");
    }
}

#[test]
fn the_image_is_hidden_from_who_may_not_look() {
    let good = String::from_utf8(stat(b"cat")).unwrap();
    for hidden in [" 0 0 0 ", " 1 1 0 "] {
        let bytes = good.replacen(" 26 27 28 ", hidden, 1);
        assert_eq!(parse(bytes.as_bytes(), 4096).unwrap().stat.image, 0);
    }
    let image = |fields: &str| {
        let bytes = good.replacen(" 26 27 28 ", fields, 1);
        parse(bytes.as_bytes(), 4096).unwrap().stat.image
    };
    assert_ne!(image(" 26 27 28 "), image(" 26 27 29 "));
    assert_ne!(image(" 26 27 28 "), image(" 27 26 28 "));
    let moved = good.replacen(" 48 49 ", " 48 50 ", 1);
    let (a, b) = (
        parse(good.as_bytes(), 1).unwrap().stat,
        parse(moved.as_bytes(), 1).unwrap().stat,
    );
    assert_eq!(a.image, b.image);
    assert_ne!(a.argv, b.argv);
}

#[test]
fn digests_tell_names_apart() {
    let names: [&[u8]; 6] = [b"", b"a", b"a\0", b"aaaaaaaa", b"aaaaaaaaa", b"b"];
    for (i, a) in names.iter().enumerate() {
        for b in &names[..i] {
            assert_ne!(name_digest(a), name_digest(b));
        }
    }
}

#[test]
fn the_effective_uid_is_the_second() {
    assert_eq!(
        uid(b"Name:\tcat\nUmask:\t0022\nUid:\t0\t1000\t0\t0\nGid:\t5\t5\t5\t5\n"),
        Ok(1000)
    );
    // A newline in a name is written as two characters, so that this one is the name's.
    assert_eq!(uid(b"Name:\ta\\nUid:\t7\nUid:\t1\t2\t2\t2\n"), Ok(2));
    for bad in [
        &b""[..],
        b"Name:\tUid:\t5\t5\n",
        b"Uid:\n",
        b"Uid:\t0\t-1\n",
        b"Uid:\t0\t4294967296\n",
        b"Uid:\t0\tx\n",
    ] {
        assert_eq!(uid(bad), Err(Missing::Malformed));
    }
}

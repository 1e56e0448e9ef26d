//! The time zone of a `TZ` that another user may have chosen.

use std::fs;
use std::path::Path;
use std::process::Command;

use jiff::Timestamp;
use zmtop::zone::of_variable;

/// The offset from UTC in January 2026, in hours.
fn hours(value: &str) -> Option<i32> {
    let january = Timestamp::from_second(1_768_000_000).unwrap();
    of_variable(value).map(|zone| zone.to_offset(january).seconds() / 3600)
}

#[test]
fn a_rule_or_utc_needs_no_file() {
    for (value, want) in [
        ("", Some(0)),
        ("UTC", Some(0)),
        ("UTC0", Some(0)),
        ("PST8PDT,M3.2.0,M11.1.0", Some(-8)),
        (":CET-1", Some(1)),
        ("nonsense", None),
        ("../../etc/passwd", None),
        ("\u{fffd}", None),
    ] {
        assert_eq!(hours(value), want, "{value}");
    }
}

#[test]
fn only_a_regular_file_of_a_zone_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    // Version 1, without transitions: one type of local time, two hours east of UTC.
    let mut zone = b"TZif\0".to_vec();
    zone.extend([0; 15]);
    for count in [0_u32, 0, 0, 0, 1, 4] {
        zone.extend(count.to_be_bytes());
    }
    zone.extend(7200_i32.to_be_bytes());
    zone.extend(b"\0\0EET\0");
    fs::write(path("zone"), &zone).unwrap();
    fs::write(path("text"), "hello").unwrap();
    let large = fs::File::create(path("large")).unwrap();
    large.set_len(1 << 40).unwrap();
    assert!(Command::new("mkfifo").arg(path("fifo")).status().unwrap().success());
    assert_eq!(hours(&path("zone")), Some(2));
    assert_eq!(hours(&format!(":{}", path("zone"))), Some(2));
    for name in ["text", "large", "fifo", "absent", "."] {
        assert_eq!(hours(&path(name)), None, "{name}");
    }
    for device in ["/dev/zero", "/dev/tty", "/proc/kmsg"] {
        assert_eq!(hours(device), None, "{device}");
    }
    if Path::new("/usr/share/zoneinfo/Europe/Berlin").exists() {
        assert_eq!(hours("Europe/Berlin"), Some(1));
    }
}

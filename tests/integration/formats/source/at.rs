//! Moments as typed.

use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use zmtop::source::At;

#[track_caller]
fn means(typed: &str, zone: &TimeZone, want: &str) {
    let last: Timestamp = "2026-11-20T23:51:30Z".parse().unwrap();
    let got = At::parse(typed).unwrap().resolve_in(last.into(), zone);
    let want: Timestamp = want.parse().unwrap();
    assert_eq!(got, SystemTime::from(want), "{typed}");
}

#[test]
fn each_form() {
    let utc = TimeZone::UTC;
    // Eight hours west, by a rule that needs no database.
    let west = TimeZone::posix("PST8PDT,M3.2.0,M11.1.0").unwrap();
    means("2026-11-20T23:51:00.5Z", &west, "2026-11-20T23:51:00.5Z");
    means("2026-11-20T23:51:00+01:00", &west, "2026-11-20T22:51:00Z");
    means("2026-11-20 23:51", &utc, "2026-11-20T23:51:00Z");
    means("2026-11-20 23:51", &west, "2026-11-21T07:51:00Z");
    means("2026-11-20T23:51:07", &utc, "2026-11-20T23:51:07Z");
    means("2026-11-20", &utc, "2026-11-20T00:00:00Z");
    means("23:51", &utc, "2026-11-20T23:51:00Z");
    means("23:51:30", &utc, "2026-11-20T23:51:30Z");
    // The last one there was.
    means("23:52", &utc, "2026-11-19T23:52:00Z");
    means("15:00", &west, "2026-11-20T23:00:00Z");
    means("16:00", &west, "2026-11-20T00:00:00Z");
    means("-10m", &utc, "2026-11-20T23:41:30Z");
    means("-1h30m", &utc, "2026-11-20T22:21:30Z");
    means("-90", &utc, "2026-11-20T23:50:00Z");
    means(" -0 ", &utc, "2026-11-20T23:51:30Z");
    // An hour that the clock jumped over.
    means("2026-03-08 02:30", &west, "2026-03-08T10:30:00Z");
}

#[test]
fn what_is_none_is_refused() {
    for typed in [
        "",
        "now",
        "10",
        "2026",
        "235100",
        "25:00",
        "2026-13-01",
        "-",
        "-x",
        "--5m",
        "10m",
        "2026-11-20 23:51 x",
        "\u{1b}[2J",
    ] {
        let error = At::parse(typed).unwrap_err().to_string();
        assert!(error.ends_with("23:51 or -10m") && !error.contains('\u{1b}'), "{error}");
    }
}

#[test]
fn which_need_the_end_of_the_file() {
    for (typed, needs) in [
        ("23:51", true),
        ("-5m", true),
        ("2026-11-20", false),
        ("2026-11-20T23:51:00Z", false),
    ] {
        assert_eq!(At::parse(typed).unwrap().needs_last(), needs, "{typed}");
    }
    let far = At::parse("-9999d")
        .unwrap()
        .resolve(SystemTime::UNIX_EPOCH + Duration::from_secs(9));
    assert!(far <= SystemTime::UNIX_EPOCH + Duration::from_secs(9));
}

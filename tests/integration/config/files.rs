//! Tests of faulty files in the place of the config: wrong kinds, sizes, rights and bytes.

use std::fmt::Write as _;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use zmtop::config::{Config, ConfigError, Env, MAX_BYTES, Settings};

use super::{Home, lines};
use crate::support::thread_time;

/// The one fault of a config file, found without hanging.
fn fault(home: &Home) -> String {
    let begin = thread_time();
    let mut faults = home.faults();
    assert!(thread_time().saturating_sub(begin) < Duration::from_secs(10));
    assert_eq!(faults.len(), 1, "{faults:?}");
    faults.remove(0)
}

#[test]
fn a_directory_a_fifo_a_socket_and_a_device_are_refused() {
    let home = Home::new();
    let path = home.path("config.toml");
    std::fs::create_dir(&path).unwrap();
    assert_eq!(fault(&home), "config.toml: is a directory, not a regular file");
    std::fs::remove_dir(&path).unwrap();

    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    assert_eq!(fault(&home), "config.toml: is a FIFO, not a regular file");
    std::fs::remove_file(&path).unwrap();

    let socket = std::os::unix::net::UnixListener::bind(&path).unwrap();
    assert!(fault(&home).starts_with("config.toml: cannot be read: "));
    drop(socket);
    std::fs::remove_file(&path).unwrap();

    symlink("/dev/zero", &path).unwrap();
    assert_eq!(fault(&home), "config.toml: is a device, not a regular file");
}

#[test]
fn a_huge_file_is_refused_by_its_size() {
    let home = Home::new();
    let file = std::fs::File::create(home.path("config.toml")).unwrap();
    file.set_len(100 << 20).unwrap();
    let expected = format!("config.toml: is larger than the {MAX_BYTES} bytes allowed");
    assert_eq!(fault(&home), expected);
    file.set_len(MAX_BYTES + 1).unwrap();
    assert_eq!(fault(&home), expected);
}

#[test]
fn the_largest_file_allowed_is_read_whole() {
    let home = Home::new();
    let most = usize::try_from(MAX_BYTES).unwrap();
    let mut text = "ui.tree = true\n".to_owned();
    text += &"#".repeat(most - text.len());
    home.write("config.toml", &text);
    assert!(home.load().unwrap().settings.ui.tree);
    // Full of faults: named up to a number, the rest counted.
    let mut text = String::new();
    for n in 0.. {
        let line = format!("k{n} = 1\n");
        if text.len() + line.len() > most {
            break;
        }
        text += &line;
    }
    home.write("config.toml", &text);
    let begin = thread_time();
    let faults = home.faults();
    assert!(thread_time().saturating_sub(begin) < Duration::from_secs(10));
    assert_eq!(faults.len(), 101);
    assert_eq!(faults[100], "config.toml: and more faults");
    home.write("config.toml", "]".repeat(most));
    assert_eq!(home.faults().len(), 1);
}

#[test]
fn what_is_not_utf8_is_placed() {
    let home = Home::new();
    home.write("config.toml", b"[ui]\n# \xc3\xa4\xff\n");
    assert_eq!(fault(&home), "config.toml:2:4: not UTF-8: byte 0xff at offset 9");
}

#[test]
fn what_is_not_toml_is_placed_line_by_line_and_the_rest_is_still_judged() {
    let home = Home::new();
    home.write("config.toml", "[ui]\nsort =\ntree = 3\nunits = \"m\nmouse true\n");
    let faults = home.faults();
    let places: Vec<_> = faults.iter().map(|f| f.split(": ").next().unwrap()).collect();
    for line in [2, 4, 5] {
        let at = format!("config.toml:{line}:");
        assert!(places.iter().any(|p| p.starts_with(&at)), "{line}: {faults:#?}");
    }
    assert!(
        faults.contains(&"config.toml:3:8: ui.tree: expected true or false, found 3".into()),
        "{faults:#?}"
    );
    assert!(faults[0].contains("not TOML: "), "{faults:#?}");
    home.write("config.toml", "[ui]\ntree = true\ntree = false\n[log]\n[ui]\n");
    let expected = [
        "config.toml:3:1: not TOML: duplicate key",
        "config.toml:5:2: not TOML: duplicate key",
    ];
    assert_eq!(home.faults(), expected);
}

#[test]
fn a_link_is_followed_and_one_to_nowhere_is_a_fault() {
    let home = Home::new();
    let real = home.write("real.toml", "ui.tree = true");
    symlink(&real, home.path("config.toml")).unwrap();
    assert!(home.load().unwrap().settings.ui.tree);
    std::fs::remove_file(&real).unwrap();
    assert_eq!(fault(&home), "config.toml: a symbolic link to a file that is not there");
}

#[test]
fn an_unreadable_file_is_a_fault() {
    let home = Home::new();
    symlink("config.toml", home.path("config.toml")).unwrap();
    assert!(
        fault(&home).starts_with("config.toml: cannot be read: "),
        "a link to itself"
    );
    std::fs::remove_file(home.path("config.toml")).unwrap();
    if rustix::process::geteuid().is_root() {
        return; // root reads everything
    }
    let path = home.write("config.toml", "");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o000)).unwrap();
    assert_eq!(fault(&home), "config.toml: cannot be read: permission denied");
}

#[test]
fn a_file_asked_for_must_be_there() {
    let home = Home::new();
    let e = Config::load(Some(&home.path("other.toml")), &home.env()).unwrap_err();
    assert_eq!(lines(&e, &home.path("")), ["other.toml: no such file"]);
    home.write("other.toml", "ui.tree = true");
    home.write("config.toml", "ui.totals = false");
    let config = Config::load(Some(&home.path("other.toml")), &home.env()).unwrap();
    assert!(config.settings.ui.tree && config.settings.ui.totals);
    assert_eq!(config.file, Some(home.path("other.toml")));
}

#[test]
fn a_home_that_is_no_directory_is_as_none() {
    let env = Env {
        home: Some("/dev/null".into()),
        ..Env::default()
    };
    assert_eq!(Config::load(None, &env).unwrap().settings, Settings::default());
}

#[test]
fn the_faults_of_all_files_are_named_at_once() {
    let home = Home::new();
    home.write("config.toml", "ui.theme = 'mine'\nui.tree = 1\nui.filter = 'pss>'\n");
    home.write("keymap.toml", "[[table]]\nrun = 'sav'\n");
    home.write("themes/mine.toml", "up = 1\n");
    let faults = home.faults();
    let expected = [
        "config.toml:2:11: ui.tree: expected true or false, found 1",
        "config.toml:3:13: ui.filter: not a filter: ",
        "keymap.toml:1:1: table.on: missing",
        "keymap.toml:2:7: table.run: unknown action",
        "themes/mine.toml:1:6: up: expected a style",
    ];
    assert_eq!(faults.len(), expected.len(), "{faults:#?}");
    for (fault, expected) in faults.iter().zip(expected) {
        assert!(fault.starts_with(expected), "{fault}\n{expected}");
    }
}

#[test]
fn hostile_words_are_escaped_and_cut() {
    let text =
        "\"a\\u001b[31m\\u202eb\" = 1\n[ui]\nsort = \"\\u001b]52;c;x\\u0007\"\nfilter = \"/\\u001b(/\"\n".to_owned();
    let mut long = String::new();
    write!(
        long,
        "{text}units = \"{}\"\n[\"{}\"]\n",
        "x".repeat(5000),
        "y".repeat(5000)
    )
    .unwrap();
    for bytes in [text.into_bytes(), long.into_bytes()] {
        let e = Settings::parse(Path::new("a\u{1b}b"), bytes).unwrap_err();
        for line in e.to_string().lines() {
            assert!(line.starts_with("a\\x1bb:"), "{line:?}");
            assert!(!line.chars().any(|c| c.is_control() || c == '\u{202e}'), "{line:?}");
            // A line may list all columns.
            assert!(line.len() < 1000, "{}", line.len());
        }
        assert!(e.faults.len() >= 3);
    }
}

fn parsed(bytes: Vec<u8>) -> Result<Settings, ConfigError> {
    Settings::parse(Path::new("c"), bytes)
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes: Vec<u8>) {
        if let Err(e) = parsed(bytes) {
            prop_assert!(!e.faults.is_empty() && !e.to_string().is_empty());
        }
    }

    /// Close to a config: every line a key of the table with some value.
    #[test]
    fn no_value_panics_and_faults_point_into_the_file(
        lines in prop::collection::vec((key(), value()), 0..12),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut text = String::new();
        for (key, value) in lines {
            writeln!(text, "{key} = {value}").unwrap();
        }
        text.truncate(text.char_indices().map(|(i, _)| i).nth(cut.index(text.chars().count() + 1)).unwrap_or(text.len()));
        let count = text.matches('\n').count() + 1;
        if let Err(e) = parsed(text.into_bytes()) {
            for fault in e.faults {
                prop_assert!(fault.at.is_none_or(|at| (1..=count).contains(&at.line) && at.column >= 1));
            }
        }
    }
}

fn key() -> impl Strategy<Value = String> {
    prop_oneof![prop::sample::select(super::keys()), "[a-z.\\[\\]\"]{1,8}"]
}

fn value() -> impl Strategy<Value = String> {
    prop_oneof![
        "[0-9xXobe_.+-]{1,24}",
        "\"[^\"\\n]{0,12}\"",
        "\\[[\"a-z, 0-9\\n#]{0,12}\\]",
        Just("true".to_owned()),
        Just("{ a = 1 }".to_owned()),
        Just("1979-05-27T07:32:00Z".to_owned()),
        Just("-inf".to_owned()),
        Just("nan".to_owned()),
    ]
}

#[test]
fn no_shape_of_a_large_file_takes_long() {
    let home = Home::new();
    let most = usize::try_from(MAX_BYTES).unwrap();
    // Up to 64 KiB all that is not TOML is looked for, beyond it only the first.
    let rows = [
        ("", "k = \"\n", "", 60_000),
        ("", "]\n", "", 60_000),
        ("", "k = \"\n", "", most),
        ("", "[", "", most),
        ("", "a.", "", most),
        ("", "[a]\n", "", most),
        ("", "[[table]]\n", "", most),
        ("a = ", "[", "", most),
        ("ui.columns = [", "'pps',", "]\n", most),
        ("ui.filter = '", "(!", "'\n", most),
        ("[[table]]\non = [", "'Entr',", "]\nrun = 'tree'\n", most),
        ("[[table]]\non = [", "'x',", "]\nrun = 'tree'\n", most),
    ];
    for (head, body, tail, size) in rows {
        let text = [head, &body.repeat((size - 100) / body.len()), tail].concat();
        home.write("config.toml", &text);
        home.write("keymap.toml", &text);
        let begin = Instant::now();
        let faults = home.load().unwrap_err().faults.len();
        assert!(faults <= 202, "{faults}");
        // A guard against work that grows with the square of the size, which would take minutes.
        assert!(begin.elapsed() < Duration::from_secs(120), "{head}{body}…");
    }
}

//! Saving what was chosen.

use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use zmtop::columns;
use zmtop::config::{Settings, UiSettings, atomic, save};
use zmtop::units::Units;

use super::{Home, lines};

fn chosen() -> UiSettings {
    UiSettings {
        columns: ["pid", "pss", "comm"].map(|id| columns::find(id).unwrap()).into(),
        group_columns: ["pss", "count", "group"].map(|id| columns::find(id).unwrap()).into(),
        by: Some(zmtop::group::GroupBy::Unit),
        sort: columns::find("swap").unwrap(),
        descending: false,
        filter: "user:root | \u{1b}\"x\"".into(),
        units: Units::M,
        tree: true,
        fold: false,
        two_tables: true,
        kernel_threads: true,
        span: "1h".into(),
        graph: "low".into(),
        ..Settings::default().ui
    }
}

fn expected(mut settings: Settings) -> Settings {
    let saved = chosen();
    settings.ui.columns = saved.columns;
    settings.ui.group_columns = saved.group_columns;
    settings.ui.by = saved.by;
    settings.ui.sort = saved.sort;
    settings.ui.filter = saved.filter;
    settings.ui.units = saved.units;
    settings.ui.descending = false;
    settings.ui.tree = true;
    settings.ui.fold = false;
    settings.ui.two_tables = true;
    settings.ui.kernel_threads = true;
    settings.ui.span = "1h".into();
    settings.ui.graph = "low".into();
    settings
}

fn read(path: &Path) -> Settings {
    Settings::parse(path, std::fs::read(path).unwrap()).unwrap()
}

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<_> = std::fs::read_dir(dir)
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn into_no_file_and_no_directory() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a/b/config.toml");
    save(&path, &chosen()).unwrap();
    assert_eq!(read(&path), expected(Settings::default()));
    let mode = |p: &str| std::fs::metadata(dir.path().join(p)).unwrap().mode() & 0o777;
    assert_eq!((mode("a"), mode("a/b"), mode("a/b/config.toml")), (0o700, 0o700, 0o600));
    assert_eq!(names(path.parent().unwrap()), ["config.toml"]);
}

#[test]
fn comments_order_and_other_keys_stay() {
    let home = Home::new();
    let path = home.write(
        "config.toml",
        r#"# mine
unknown = 7 # kept

[log]   # before ui
level = "debug"

[ui]
mouse = false           # no
sort    =   "pss"       # by size
# about the columns
columns = [
    "uss", # gone soon
    "comm",
    # the truth
    "pss",
    "rss", # last
] # after
delta = "5s"

# the end
"#,
    );
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
    save(&path, &chosen()).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    assert_eq!(
        text,
        r#"# mine
unknown = 7 # kept

[log]   # before ui
level = "debug"

[ui]
mouse = false           # no
sort    =   "swap"       # by size
# about the columns
columns = [
    "pid",
    # the truth
    "pss", # gone soon
    "comm", # last
] # after
delta = "5s"
group_columns = ["pss", "count", "group"]
by = "unit"
descending = false
filter = "user:root | \U0000001b\"x\""
units = "m"
tree = true
fold = false
two_tables = true
graph = "low"
kernel_threads = true
span = "1h"

# the end
"#
    );
    assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o777, 0o640);
    // A second time there is nothing to change: not even written.
    let before = std::fs::metadata(&path).unwrap();
    save(&path, &chosen()).unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().ino(), before.ino());
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
}

#[test]
fn every_way_to_write_the_table_takes_the_choices() {
    for text in [
        "",
        "[ui]",
        "[ui]\n",
        "ui = {}\n",
        "ui = { sort = 'pid', mouse = false }",
        "ui.sort = 'pid' # x\nlog.level = 'warn'\n",
        "# only a comment",
        "[ui]\ncolumns = ['pss' # a\n , 'swap'\n]\n[log]\n",
        "[ui]\ncolumns = []\n",
        "[ui]\ncolumns = [\n]\n",
        "[ui]\ncolumns = [ # c\n 'rss', # d\n]\n",
        "[ui]\ncolumns = ['comm','pid','pss',]",
        "[ui]\r\nsort = 'pid'\r\n",
        "\u{feff}[ui]\nsort = 'pid'\n",
    ] {
        let home = Home::new();
        let path = home.write("config.toml", text);
        save(&path, &chosen()).unwrap();
        let after = std::fs::read_to_string(&path).unwrap();
        let ui = Settings::parse(&path, after.clone().into_bytes()).unwrap().ui;
        assert_eq!(ui.columns, chosen().columns, "{text:?} became {after:?}");
        assert_eq!(
            (ui.sort, ui.mouse),
            (chosen().sort, !text.contains("mouse")),
            "{text:?} became {after:?}"
        );
        let comments = |t: &str| t.matches('#').count();
        assert_eq!(comments(&after), comments(text), "{text:?} became {after:?}");
    }
}

#[test]
fn a_link_stays_and_what_it_leads_to_is_replaced() {
    let home = Home::new();
    let dotfiles = tempfile::tempdir().unwrap();
    let real = dotfiles.path().join("zmtop.toml");
    let path = home.path("config.toml");
    symlink(&real, &path).unwrap();
    // Once to a file that is not there yet, seen by saving as missing only through the link: made.
    std::fs::write(&real, "# dot\n").unwrap();
    save(&path, &chosen()).unwrap();
    assert!(path.symlink_metadata().unwrap().is_symlink());
    assert!(std::fs::read_to_string(&real).unwrap().starts_with("# dot\n"));
    assert_eq!(read(&real), expected(Settings::default()));
    assert_eq!((names(dotfiles.path()).len(), names(&home.path("")).len()), (1, 2));

    // By a relative link to a relative link.
    symlink("config.toml", home.path("again.toml")).unwrap();
    let mut other = chosen();
    other.tree = false;
    save(&home.path("again.toml"), &other).unwrap();
    assert!(!read(&real).ui.tree);
    assert!(home.path("again.toml").symlink_metadata().unwrap().is_symlink());
}

#[test]
fn what_cannot_be_understood_is_left_alone() {
    let home = Home::new();
    for (text, expected) in [
        ("[ui\nsort = 'pss'\n", "config.toml:1:4: not TOML: "),
        ("ui = 3\n", "config.toml: `ui` is not a table"),
        ("[[ui]]\n", "config.toml: `ui` is not a table"),
        ("[ui.sort]\n", "config.toml: `ui.sort` is not a value"),
    ] {
        let path = home.write("config.toml", text);
        let e = save(&path, &chosen()).unwrap_err().to_string();
        let e = e.replace(&format!("{}/", home.path("").display()).replace("//", "/"), "");
        assert!(e.starts_with(expected), "{e}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        assert_eq!(names(&home.path("")), ["config.toml", "themes"]);
    }
    let path = home.write("config.toml", b"\xff");
    assert!(save(&path, &chosen()).is_err());
    assert_eq!(std::fs::read(&path).unwrap(), b"\xff");
    std::fs::remove_file(&path).unwrap();
    std::fs::create_dir(&path).unwrap();
    let e = save(&path, &chosen()).unwrap_err().to_string();
    assert!(e.ends_with("is a directory, not a regular file"), "{e}");
}

#[test]
fn a_write_that_fails_leaves_the_old_file_and_nothing_else() {
    let home = Home::new();
    let path = home.write("config.toml", "# old\n");
    let full = |file: &mut std::fs::File| {
        file.write_all(b"# ne")?;
        Err(io::Error::from(io::ErrorKind::StorageFull))
    };
    let e = atomic::replace(&path, full).unwrap_err();
    assert_eq!(e.kind(), io::ErrorKind::StorageFull);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "# old\n");
    assert_eq!(names(&home.path("")), ["config.toml", "themes"]);
    assert!(atomic::replace(&home.path("new.toml"), full).is_err());
    assert_eq!(names(&home.path("")), ["config.toml", "themes"]);
}

#[test]
fn a_panic_while_writing_leaves_the_old_file_and_nothing_else() {
    let home = Home::new();
    let path = home.write("config.toml", "# old\n");
    let outcome = std::panic::catch_unwind(|| {
        let _ = atomic::replace(&path, |_| std::panic::resume_unwind(Box::new("no")));
    });
    assert!(outcome.is_err());
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "# old\n");
    assert_eq!(names(&home.path("")), ["config.toml", "themes"]);
}

#[test]
fn a_place_that_cannot_be_written_is_an_error() {
    let e = save(Path::new("/proc/zmtop/config.toml"), &chosen())
        .unwrap_err()
        .to_string();
    assert!(e.starts_with("/proc/zmtop/config.toml: cannot be written: "), "{e}");
}

#[test]
fn what_was_left_behind_is_taken_away_and_not_written_to() {
    type Case = (&'static str, fn(&Path, &Path));
    let cases: [Case; 4] = [
        ("half a file", |at, _| std::fs::write(at, "half").unwrap()),
        ("a link", |at, victim| symlink(victim, at).unwrap()),
        ("a second name", |at, victim| std::fs::hard_link(victim, at).unwrap()),
        ("a FIFO", |at, _| {
            let mode = rustix::fs::Mode::from_raw_mode(0o600);
            rustix::fs::mkfifoat(rustix::fs::CWD, at, mode).unwrap();
        }),
    ];
    for (what, leave) in cases {
        let home = Home::new();
        let path = home.write("config.toml", "");
        let victim = home.write("victim", "untouched");
        leave(&home.path(".config.toml.new"), &victim);
        save(&path, &chosen()).unwrap();
        assert_eq!(std::fs::read_to_string(victim).unwrap(), "untouched", "{what}");
        assert_eq!(read(&path), expected(Settings::default()), "{what}");
        assert_eq!(lines_of(&home), ["config.toml", "themes", "victim"], "{what}");
    }
}

#[test]
fn what_another_user_left_in_a_shared_folder_is_refused() {
    use std::os::unix::fs::{PermissionsExt, chown};
    if !rustix::process::geteuid().is_root() {
        return; // only root can give a file away
    }
    let home = Home::new();
    std::fs::set_permissions(home.path(""), std::fs::Permissions::from_mode(0o1777)).unwrap();
    let trap = home.write(".config.toml.new", "");
    chown(&trap, Some(65534), Some(65534)).unwrap();
    // Its owner keeps nobody waiting.
    let held = std::fs::File::open(&trap).unwrap();
    rustix::fs::flock(&held, rustix::fs::FlockOperation::LockExclusive).unwrap();
    let error = save(&home.path("config.toml"), &chosen()).unwrap_err().to_string();
    assert!(error.contains(".config.toml.new belongs to another user"), "{error}");
    assert!(!home.path("config.toml").exists());
}

#[test]
fn writers_at_once_wait_for_each_other() {
    let home = Home::new();
    let path = home.write("config.toml", "");
    let text = |tag: usize| format!("# {}\n", tag.to_string().repeat(100_000));
    std::thread::scope(|scope| {
        for tag in 0..4 {
            let path = &path;
            scope.spawn(move || {
                for _ in 0..50 {
                    let own = text(tag);
                    let write = |f: &mut std::fs::File| own.as_bytes().chunks(4096).try_for_each(|c| f.write_all(c));
                    atomic::replace(path, write).unwrap();
                    let found = std::fs::read_to_string(path).unwrap();
                    assert!((0..4).any(|tag| found == text(tag)), "{} bytes", found.len());
                }
            });
        }
    });
    assert_eq!(lines_of(&home), ["config.toml", "themes"]);
}

#[test]
fn a_reader_never_sees_a_part() {
    let home = Home::new();
    let path: PathBuf = home.write("config.toml", "");
    let long = |tag: char| format!("# {}\n", tag.to_string().repeat(100_000));
    atomic::replace(&path, |f| f.write_all(long('a').as_bytes())).unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut seen = 0;
            let mut text = String::new();
            while !done.load(Ordering::Relaxed) || seen == 0 {
                let mut file = std::fs::File::open(&path).unwrap();
                text.clear();
                file.read_to_string(&mut text).unwrap();
                assert!(text == long('a') || text == long('b'), "{} bytes", text.len());
                // The file opened stays whole while others take its name.
                file.rewind().unwrap();
                seen += 1;
            }
            seen
        });
        for n in 0..100 {
            let text = long(if n % 2 == 0 { 'b' } else { 'a' });
            // In pieces, so that a part would be seen if it could be.
            let write = |f: &mut std::fs::File| text.as_bytes().chunks(4096).try_for_each(|c| f.write_all(c));
            atomic::replace(&path, write).unwrap();
        }
        done.store(true, Ordering::Relaxed);
        assert!(reader.join().unwrap() > 0);
    });
    assert_eq!(lines_of(&home), ["config.toml", "themes"]);
}

fn lines_of(home: &Home) -> Vec<String> {
    names(&home.path(""))
}

#[test]
fn what_is_saved_is_loaded() {
    let home = Home::new();
    let config = home.load().unwrap();
    let file = config.file.unwrap();
    save(&file, &chosen()).unwrap();
    match home.load() {
        Ok(config) => assert_eq!(config.settings, expected(Settings::default())),
        Err(e) => panic!("{:?}", lines(&e, &home.path(""))),
    }
}

//! `zmtop config`.

use std::io::{self, Write};
use std::path::Path;

use zmtop::cli::{ConfigAction, ConfigArgs, Exit};
use zmtop::config::{Env, Settings};
use zmtop::run::configure;

use super::Home;

/// Exit, stdout and stderr, the made home written as `~`.
fn run(home: &Home, action: ConfigAction, file: Option<&Path>) -> (Exit, String, String) {
    let args = ConfigArgs {
        action,
        config: file.map(Path::to_path_buf),
    };
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let exit = configure::run(&args, &home.env(), &mut out, &mut err).unwrap();
    let dir = home.dir.path().display().to_string();
    let text = |bytes| String::from_utf8(bytes).unwrap().replace(&dir, "~");
    (exit, text(out), text(err))
}

#[test]
fn default_is_the_shipped_file() {
    let (exit, out, err) = run(&Home::new(), ConfigAction::Default, None);
    assert_eq!((exit, &*err), (Exit::Done, ""));
    assert_eq!(out, zmtop::config::settings::SHIPPED);
}

#[test]
fn path_is_where_it_would_be() {
    let home = Home::new();
    let (exit, out, _) = run(&home, ConfigAction::Path, None);
    assert_eq!((exit, &*out), (Exit::Done, "~/.config/zmtop/config.toml\n"));
    let (_, out, _) = run(&home, ConfigAction::Path, Some(Path::new("/c")));
    assert_eq!(out, "/c\n");
    let args = ConfigArgs {
        action: ConfigAction::Path,
        config: None,
    };
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let exit = configure::run(&args, &Env::default(), &mut out, &mut err).unwrap();
    assert_eq!((exit, out.len()), (Exit::Usage, 0));
    assert_eq!(String::from_utf8(err).unwrap().lines().count(), 1);
}

#[test]
fn check_is_silent_but_for_a_line_when_all_is_well() {
    let home = Home::new();
    let expected = "~/.config/zmtop/config.toml (does not exist: the shipped settings): ok\n";
    assert_eq!(
        run(&home, ConfigAction::Check, None),
        (Exit::Done, expected.into(), String::new())
    );
    home.write("config.toml", "ui.tree = true\n");
    let expected = "~/.config/zmtop/config.toml: ok\n";
    assert_eq!(
        run(&home, ConfigAction::Check, None),
        (Exit::Done, expected.into(), String::new())
    );
}

#[test]
fn check_notes_the_shipped_alerts_that_own_ones_replace() {
    let home = Home::new();
    let own = "[[alert]]\nname = 'big'\nwhen = 'pss>4G'\n";
    let kills = "[[alert]]\nname = 'kills'\non = 'system'\nwhen = 'recent_kills>0'\n";
    for (config, expected) in [
        ("alert = []\n".to_owned(), ""),
        (
            format!("{own}{kills}"),
            "note: your alerts replace the shipped ones. Not in effect: \"a part of the RAM leaks\", \"tasks wait for memory\". To keep \
             them, copy them from `zmtop config default`\n",
        ),
    ] {
        home.write("config.toml", config);
        let (exit, out, err) = run(&home, ConfigAction::Check, None);
        let ok = "~/.config/zmtop/config.toml: ok\n";
        assert_eq!((exit, out, &*err), (Exit::Done, format!("{ok}{expected}"), ""));
    }
}

#[test]
fn every_column_is_listed_with_its_meaning() {
    let (exit, out, err) = run(&Home::new(), ConfigAction::Columns, None);
    assert_eq!((exit, &*err), (Exit::Done, ""));
    assert_eq!(out.lines().count(), zmtop::columns::COLUMNS.len());
    for (line, column) in out.lines().zip(zmtop::columns::COLUMNS) {
        let (id, help) = line.split_once(' ').unwrap();
        assert_eq!((id, help.trim_start()), (column.id, column.help));
    }
}

#[test]
fn check_names_every_fault_with_code_2() {
    let home = Home::new();
    home.write("config.toml", "ui.tree = 1\nui.totals = 2\n");
    home.write("keymap.toml", "[[table]]\non = ['F99']\nrun = 'tree'\n");
    for action in [ConfigAction::Check, ConfigAction::Show] {
        let (exit, out, err) = run(&home, action, None);
        assert_eq!((exit, &*out), (Exit::Usage, ""));
        let expected = [
            "~/.config/zmtop/config.toml:1:11: ui.tree: expected true or false, found 1",
            "~/.config/zmtop/config.toml:2:13: ui.totals: expected true or false, found 2",
            "~/.config/zmtop/keymap.toml:2:7: table.on: unknown key `F99`",
        ];
        assert_eq!(err.lines().count(), expected.len());
        for (line, expected) in err.lines().zip(expected) {
            assert!(line.starts_with(expected), "{line}");
        }
    }
}

#[test]
fn show_is_toml_and_marks_what_differs() {
    let home = Home::new();
    home.write(
        "config.toml",
        "[sampler]\ninterval = 0.5\n[ui]\nsort = 'pss'\nfilter = 'user:\"a\"'\n",
    );
    let (exit, out, err) = run(&home, ConfigAction::Show, None);
    assert_eq!((exit, &*err), (Exit::Done, ""));
    assert!(out.starts_with("# ~/.config/zmtop/config.toml\n\n[sampler]\n"), "{out}");
    assert!(out.contains("\ninterval = \"500ms\"  # default: \"1s\"\n"), "{out}");
    assert!(
        out.contains("\nfilter = \"user:\\\"a\\\"\"  # default: \"\"\n"),
        "{out}"
    );
    assert!(out.contains("\nsort = \"pss\"\n"), "{out}");
    assert_eq!(out.matches("# default").count(), 2);
    let again = Settings::parse(Path::new("x"), out.into_bytes()).unwrap();
    assert_eq!(again, home.load().unwrap().settings);
}

#[test]
fn the_default_keymap_and_every_theme_are_printed() {
    use zmtop::config::{keymap, theme};
    let home = Home::new();
    assert_eq!(
        run(&home, ConfigAction::Keymap, None),
        (Exit::Done, keymap::SHIPPED.into(), String::new())
    );
    let theme = |name: Option<&str>| {
        run(
            &home,
            ConfigAction::Theme {
                name: name.map(Into::into),
            },
            None,
        )
    };
    let (_, names, _) = theme(None);
    assert_eq!(names.lines().count(), theme::SHIPPED.len());
    for (name, text) in theme::SHIPPED {
        assert!(names.lines().any(|line| line == name), "{names}");
        assert_eq!(theme(Some(name)), (Exit::Done, text.into(), String::new()));
    }
    let (exit, out, err) = theme(Some("nrod"));
    assert_eq!((exit, &*out), (Exit::Usage, ""));
    assert!(err.contains("did you mean `nord`"), "{err}");
}

#[test]
fn an_alert_is_fired_once_to_try_its_program() {
    let home = Home::new();
    let seen = home.dir.path().join("seen");
    let script = |name: &str, mode: u32, text: &str| {
        let path = home.write(name, text);
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
        path.display().to_string()
    };
    let (good, bad) = (
        script("good", 0o755, &format!("#!/bin/sh\ncat > {}\n", seen.display())),
        script("bad", 0o755, "#!/bin/sh\nexit 3\n"),
    );
    let no_program = script("none", 0o644, "#!/bin/sh\n");
    let alert = |name: &str, run: &str| format!("[[alert]]\nname = '{name}'\nwhen = 'pss>1T'\nrun = ['{run}']\n");
    home.write("config.toml", alert("good", &good) + &alert("bad", &bad));
    let test = |name: &str| run(&home, ConfigAction::TestAlert { name: name.into() }, None);
    let (exit, out, err) = test("good");
    assert_eq!((exit, &*err), (Exit::Done, ""));
    assert!(out.contains("exited with code 0"), "{out}");
    let payload = std::fs::read_to_string(seen).unwrap();
    assert!(
        payload.contains("\"event\":\"fired\"") && payload.contains("\"alert\":\"good\""),
        "{payload}"
    );
    assert!(out.contains(": pss 1.0T"), "{out}");
    // A figure over time that nobody knows yet has the value of the condition.
    home.write(
        "config.toml",
        "[[alert]]\nname = 'good'\nwhen = 'growth>3M/min dpss>1M'\n",
    );
    let (exit, out, _) = test("good");
    assert_eq!(exit, Exit::Done);
    assert!(out.contains("dpss 1.0M") && out.contains("growth +3.0M/min"), "{out}");
    home.write("config.toml", alert("good", &good) + &alert("bad", &bad));
    let (exit, _, err) = test("bad");
    assert_eq!(exit, Exit::Found);
    assert!(err.contains("ended with code 3"), "{err}");
    let (exit, _, err) = test("god");
    assert_eq!(exit, Exit::Usage);
    assert!(err.contains("did you mean `good`"), "{err}");
    // The check says what could not run.
    assert_eq!(run(&home, ConfigAction::Check, None).0, Exit::Done);
    home.write("config.toml", alert("good", &no_program));
    let (exit, _, err) = run(&home, ConfigAction::Check, None);
    assert_eq!(exit, Exit::Usage);
    assert!(err.contains("permission denied"), "{err}");
    home.write("config.toml", alert("good", "/nonexistent/program"));
    let (exit, _, err) = run(&home, ConfigAction::Check, None);
    assert_eq!(exit, Exit::Usage);
    assert!(err.contains("no such file"), "{err}");
    // Beside other faults.
    home.write(
        "config.toml",
        "ui.tree = 1\n".to_owned() + &alert("good", "/nonexistent/program"),
    );
    let (exit, _, err) = run(&home, ConfigAction::Check, None);
    assert_eq!(exit, Exit::Usage);
    assert!(err.contains("no such file") && err.contains("ui.tree"), "{err}");
}

/// A program that kills what it is told must kill nothing when it is tried.
#[test]
fn an_alert_is_tried_on_what_cannot_exist() {
    let home = Home::new();
    let seen = home.dir.path().join("seen");
    let script = format!("env > {}; cat >> {0}", seen.display());
    for (on, when, expected) in [
        (
            "process",
            "pss>1K",
            &["ZMTOP_PID=2147483647", "\"pid\":2147483647", "ZMTOP_PSS=1024"][..],
        ),
        (
            "process",
            "growth>1M/s",
            &["ZMTOP_PID=2147483647", "ZMTOP_GROWTH=1048576", "ZMTOP_FOOTPRINT="],
        ),
        (
            "unit",
            "pss>1K",
            &["ZMTOP_UNIT=zmtop-test", "\"unit\":\"zmtop-test\"", "ZMTOP_PSS=1024"],
        ),
        (
            "part",
            "share>10%",
            &["ZMTOP_PART=slab_unreclaimable", "ZMTOP_SHARE=0.1"],
        ),
        ("system", "mem_available<1G", &["ZMTOP_MEM_AVAILABLE=1073741824"]),
    ] {
        let alert =
            format!("[[alert]]\nname = 'x'\non = '{on}'\nwhen = '{when}'\nrun = ['/bin/sh', '-c', '{script}']\n");
        home.write("config.toml", alert);
        let (exit, out, err) = run(&home, ConfigAction::TestAlert { name: "x".into() }, None);
        assert_eq!((exit, &*err), (Exit::Done, ""));
        assert!(out.starts_with("alert x: made-up values: "), "{out}");
        let told = std::fs::read_to_string(&seen).unwrap();
        for part in expected.iter().chain(&["ZMTOP_TEST=true", "\"test\":true"]) {
            assert!(told.contains(part), "{on} {when}: no {part} in {told}");
        }
        let pids = told.lines().filter(|line| line.starts_with("ZMTOP_PID=")).count();
        assert_eq!(pids, usize::from(on == "process"), "{told}");
        for name in told.lines().filter_map(|line| line.strip_prefix("ZMTOP_COMMAND=")) {
            assert_eq!(name, "zmtop-test");
        }
    }
}

struct Closed;

impl Write for Closed {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::BrokenPipe.into())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_closed_pipe_is_the_callers_to_judge() {
    let home = Home::new();
    for action in [
        ConfigAction::Show,
        ConfigAction::Check,
        ConfigAction::Path,
        ConfigAction::Default,
        ConfigAction::Keymap,
    ] {
        let args = ConfigArgs { action, config: None };
        let e = configure::run(&args, &home.env(), &mut Closed, &mut io::sink()).unwrap_err();
        assert_eq!(Exit::of_output(&e), Exit::Done);
    }
}

//! The command line, and what it does to the settings.

use std::time::Duration;

use clap::CommandFactory;
use zmtop::cli::{self, Cli, Command, ConfigAction, Exit, Format, ProcessArg};
use zmtop::columns;
use zmtop::config::{Env, Settings};
use zmtop::units::Units;

fn parse(line: &str) -> Result<Cli, cli::Early> {
    let words = line.split_whitespace();
    cli::parse(std::iter::once("zmtop").chain(words).map(Into::into))
}

/// The settings with a monitor's command line over the defaults, or what is wrong with it.
fn applied(line: &str) -> Result<Settings, String> {
    let args = parse(line).unwrap().monitor;
    let mut settings = Settings::default();
    args.apply(&mut settings).map_err(|e| e.to_string())?;
    Ok(settings)
}

#[test]
fn the_definition_is_sound() {
    Cli::command().debug_assert();
}

#[test]
fn nothing_typed_changes_nothing() {
    assert_eq!(applied(""), Ok(Settings::default()));
    assert_eq!(parse("").unwrap().command, None);
}

#[test]
fn each_option_changes_its_setting() {
    type Change = fn(&mut Settings);
    let column = |id| columns::find(id).unwrap();
    let rows: &[(&str, Change)] = &[
        ("--interval 0.5", |s| s.sampler.interval = Duration::from_millis(500)),
        ("--interval 250ms", |s| s.sampler.interval = Duration::from_millis(250)),
        ("--interval=1h", |s| s.sampler.interval = Duration::from_secs(3600)),
        ("--filter user:root", |s| s.ui.filter = "user:root".into()),
        ("-f !user:root", |s| s.ui.filter = "!user:root".into()),
        ("--units bytes", |s| s.ui.units = Units::Bytes),
        ("--theme light", |s| s.ui.theme = "light".into()),
        ("--no-mouse", |s| s.ui.mouse = false),
        ("--tree", |s| s.ui.tree = true),
        ("--log /x/y", |s| s.log.file = Some("/x/y".into())),
        ("--columns pid,pss,comm", |s| {
            s.ui.columns = ["pid", "pss", "comm"].map(|id| columns::find(id).unwrap()).into();
        }),
        ("-r", |s| s.ui.descending = false),
    ];
    for (line, change) in rows {
        let mut expected = Settings::default();
        change(&mut expected);
        assert_ne!(expected, Settings::default());
        assert_eq!(applied(line), Ok(expected), "{line}");
    }
    for (line, id, descending) in [
        ("--sort swap", "swap", true),
        ("--sort -swap", "swap", false),
        ("--sort=-swap", "swap", false),
        ("--sort swap -r", "swap", false),
        ("--sort -swap --reverse", "swap", true),
        ("--sort user", "user", false),
        ("--sort -user", "user", true),
        ("--sort pid", "pid", false),
    ] {
        let ui = applied(line).unwrap().ui;
        assert_eq!((ui.sort, ui.descending), (column(id), descending), "{line}");
    }
}

#[test]
fn a_wrong_value_is_named_with_its_option_and_what_is_allowed() {
    for (line, expected) in [
        ("--interval 10ms", "--interval: `10ms` is out of range: 100ms to 1h"),
        ("--interval 2h", "--interval: `2h` is out of range: 100ms to 1h"),
        ("--interval soon", "--interval: expected a duration such as"),
        ("--interval=-1", "--interval: expected a duration such as"),
        ("--sort pps", "--sort: unknown column `pps`; did you mean `pss`?"),
        (
            "--sort pss,rss",
            "--sort: only one column is allowed here, such as `pss`",
        ),
        ("--sort -", "--sort: unknown column ``: zmtop config columns lists the"),
        ("--columns pss,usr", "--columns: unknown column `usr`; did you mean `"),
        (
            "--columns start",
            "--columns: unknown column `start`; did you mean `elapsed`",
        ),
        ("--columns pss,pss", "--columns: column `pss` is listed twice"),
        (
            "--columns=",
            "--columns: unknown column ``: zmtop config columns lists the",
        ),
        ("--units kb", "--units: unknown unit `kb`; did you mean `k`?"),
        ("--theme ../x", "--theme: `../x` is no theme's name"),
    ] {
        let e = applied(line).unwrap_err();
        assert!(e.starts_with(expected), "{line}: {e}");
    }
}

#[test]
fn an_unknown_theme_is_a_usage_error() {
    let args = parse("--theme solarised").unwrap().monitor;
    let e = args.configure(&Env::default()).unwrap_err();
    assert_eq!(
        e.to_string(),
        "--theme: unknown theme `solarised`; did you mean `solarized`?"
    );
    assert!(
        parse("--theme colorblind")
            .unwrap()
            .monitor
            .configure(&Env::default())
            .is_ok()
    );
}

#[test]
fn no_color_leaves_no_colour() {
    let env = Env {
        colorterm: Some("truecolor".into()),
        ..Env::default()
    };
    let theme = |line| parse(line).unwrap().monitor.configure(&env).unwrap().theme;
    assert!(theme("").bar_anon.fg.is_some());
    let mono = zmtop::config::theme::shipped("mono").unwrap();
    assert_eq!(theme("--no-color"), mono);
    assert_eq!(theme("--no-color --theme light"), mono);
}

#[test]
fn ps_has_its_own_options() {
    let line = "ps user:root pss>1M --sort -pss --columns pid,pss --top 5 --format table --units k --no-color \
                --proc-root /p --config /c";
    let Some(Command::Ps(args)) = parse(line).unwrap().command else {
        panic!("not ps");
    };
    assert_eq!((args.top, args.format), (Some(5), Format::Table));
    assert_eq!(args.paths.proc_root.as_deref(), Some("/p".as_ref()));
    assert_eq!(args.paths.config.as_deref(), Some("/c".as_ref()));
    let mut settings = Settings::default();
    settings.ui.filter = "user:alice".into();
    args.apply(&mut settings).unwrap();
    assert_eq!(settings.ui.filter, "user:root pss>1M");
    assert!(!settings.ui.descending);
    assert_eq!(settings.ui.units, Units::K);
    cli::PsArgs::default().apply(&mut settings).unwrap();
    assert_eq!(settings.ui.filter, "", "the monitor's filter is not that of ps");
}

#[test]
fn every_command_takes_the_config_on_either_side() {
    for (line, file) in [
        ("--config /c ps user:root", "/c"),
        ("ps --config /c user:root", "/c"),
        ("--config /c ps --config /d", "/d"),
    ] {
        let cli = parse(line).unwrap();
        let Some(Command::Ps(args)) = cli.command else {
            panic!("not ps");
        };
        assert_eq!(args.paths.config.as_deref(), Some(file.as_ref()), "{line}");
    }
    assert_eq!(parse("--config /c").unwrap().monitor.paths.config, Some("/c".into()));
    for line in [
        "--config /c mem",
        "--config /c maps 1",
        "--config /c leaks",
        "--config /c completions zsh",
    ] {
        assert!(parse(line).is_ok(), "{line}");
    }
}

#[test]
fn config_takes_its_file_on_either_side() {
    for line in [
        "config show --config /c",
        "config --config /c show",
        "--config /c config show",
    ] {
        let Some(Command::Config(args)) = parse(line).unwrap().command else {
            panic!("not config");
        };
        assert_eq!(args.action, ConfigAction::Show);
        assert_eq!(args.config.as_deref(), Some("/c".as_ref()), "{line}");
    }
}

#[test]
fn what_does_not_work_is_refused_with_code_2() {
    for (line, expected) in [
        ("--nonsense", "--nonsense"),
        ("confg", "similar subcommand"),
        ("confg", "cmd:confg is a filter"),
        ("--jsno", "zmtop ps --format json"),
        ("maps redis -n 3", "zmtop maps --top N lists N rows"),
        ("maps -p 1", "zmtop maps 1234"),
        ("leaks -u root", "zmtop leaks user:NAME"),
        ("ps --format xml", "possible values: table, json, rows, ndjson, csv"),
        ("ps --by mood", "possible values: command, user,"),
        ("ps --at 12:00", "--from"),
        ("ps --top 0", "1.."),
        ("ps --count 3", "--every"),
        (
            "--interval 2 ps",
            "--interval <TIME> before `ps` applies to the monitor; put options and filters of `ps` after it",
        ),
        ("--proc-root /p ps", "--proc-root <DIR> before `ps` applies"),
        ("--no-color mem --format json", "--no-color before `mem` applies"),
        ("help frob", "frob"),
        ("completions tcsh", "bash, zsh, fish"),
        ("completions", "SHELL"),
        ("config", "Usage"),
        ("config frob", "frob"),
        ("--sort", "--sort"),
        ("--theme a\u{1b}[31mb\u{7} --x\u{7}y", "--x"),
    ] {
        let e = parse(line).unwrap_err();
        assert_eq!(e.exit, Exit::Usage, "{line}");
        assert!(e.text.contains(expected), "{line}: {}", e.text);
        assert!(!e.text.contains(['\u{1b}', '\u{7}']), "{:?}", e.text);
    }
}

#[test]
fn words_that_are_no_command_filter_the_monitor() {
    for (line, filter) in [
        ("user:nobody", "user:nobody"),
        ("user:nobody pss>1M --interval 5", "user:nobody pss>1M"),
        ("--interval 5 firefox", "firefox"),
        ("-f pss>1M user:a", "(pss>1M) (user:a)"),
    ] {
        let cli = parse(line).unwrap();
        assert_eq!(cli.command, None, "{line}");
        assert_eq!(cli.monitor.filter.as_deref(), Some(filter), "{line}");
    }
    assert_eq!(applied("user:nobody --interval 5").unwrap().ui.filter, "user:nobody");
    // A misspelled command is refused, and so is a filter before a command.
    assert!(parse("lekas").unwrap_err().text.contains("leaks"));
    let e = parse("user:nobody ps").unwrap_err();
    assert!(e.text.contains("filters of `ps` after it"), "{}", e.text);
    let e = parse("ps --view web").unwrap_err();
    assert!(
        e.text.contains("only the monitor has views: zmtop --view NAME"),
        "{}",
        e.text
    );
    assert!(parse("user:nobody --nonsense").unwrap_err().text.contains("--nonsense"));
    assert!(applied("pss>").unwrap_err().contains("a figure is missing after pss"));
}

#[test]
fn options_of_other_monitors_do_what_is_meant_or_name_the_way() {
    for (line, filter) in [
        ("-u nobody", "user:nobody"),
        ("-p 1,7", "pid:1,7"),
        ("-u nobody -p 7 -f pss>1M", "user:nobody pid:7 (pss>1M)"),
        ("-u a|b", "user:\"a|b\""),
    ] {
        assert_eq!(applied(line).unwrap().ui.filter, filter, "{line}");
        let Some(Command::Ps(args)) = parse(&format!("ps {}", line.replace("-f ", ""))).unwrap().command else {
            panic!("not ps");
        };
        let mut settings = Settings::default();
        args.apply(&mut settings).unwrap();
        assert_eq!(settings.ui.filter, filter, "{line}");
    }
    let ps = |line: &str| match parse(line).unwrap().command {
        Some(Command::Ps(args)) => args,
        other => panic!("{other:?}"),
    };
    assert_eq!(ps("ps -n 5").top, Some(5));
    assert_eq!(ps("ps --json").format, Format::Json);
    for (line, way) in [
        ("--json", "zmtop ps --format json"),
        ("-n 5", "--count N"),
        ("-d 5", "--interval TIME"),
        ("-b", "zmtop ps --every"),
        ("-t", "--tree"),
        ("-C", "--no-color"),
        ("-H", "share its memory"),
        ("help lekas", "'leaks'"),
        ("help filter", "zmtop man"),
        ("leaks -u nobody", "user:NAME"),
        ("maps 1 -p 7", "zmtop maps 1234"),
        ("ps --format jsonl", "--format rows"),
    ] {
        let e = parse(line).unwrap_err();
        assert_eq!(e.exit, Exit::Usage, "{line}");
        assert!(e.text.contains(way), "{line}: {}", e.text);
    }
}

#[test]
fn at_most_three_names_are_suggested() {
    let e = applied("--sort mark").unwrap_err();
    assert!(e.len() < 120, "{e}");
    let e = applied("--sort cg_hi").unwrap_err();
    assert!(e.contains("did you mean") && e.matches('`').count() <= 8, "{e}");
}

#[test]
fn help_and_version_are_no_errors() {
    let help = parse("--help").unwrap_err();
    assert_eq!(help.exit, Exit::Done);
    for word in [
        "ps",
        "config",
        "--interval",
        "--sort",
        "--filter",
        "--theme",
        "--no-color",
        "--proc-root",
        "--log",
    ] {
        assert!(help.text.contains(word), "{word} is not in the help");
    }
    for line in ["help ps", "ps --help"] {
        let help = parse(line).unwrap_err();
        assert_eq!(help.exit, Exit::Done, "{line}");
        assert!(
            help.text.contains("zmtop ps [OPTIONS] [FILTER]..."),
            "{line}: {}",
            help.text
        );
    }
    let version = parse("--version").unwrap_err();
    let expected = format!("zmtop {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!((version.exit, version.text), (Exit::Done, expected));
}

#[test]
fn exit_codes_are_the_documented_ones() {
    let codes = [
        Exit::Done,
        Exit::Found,
        Exit::Usage,
        Exit::Unread,
        Exit::Unwritten,
        Exit::Unjudged,
    ]
    .map(|e| e as u8);
    assert_eq!(codes, [0, 1, 2, 3, 4, 5]);
    let of = |kind: std::io::ErrorKind| Exit::of_output(&kind.into());
    assert_eq!(of(std::io::ErrorKind::BrokenPipe), Exit::Done);
    assert_eq!(of(std::io::ErrorKind::StorageFull), Exit::Unwritten);
}

#[test]
fn a_process_is_typed_as_a_pid_a_name_or_a_filter() {
    let maps = |line: &str| match parse(line).unwrap().command {
        Some(Command::Maps(args)) => args.processes,
        other => panic!("{other:?}"),
    };
    let name = |name: &str| ProcessArg::Name(name.into());
    assert_eq!(
        maps("maps 1 leak.py 7z 4294967295"),
        [
            ProcessArg::Pid(1),
            name("leak.py"),
            name("7z"),
            ProcessArg::Pid(u32::MAX)
        ]
    );
    let filter = |typed: &str| ProcessArg::Filter(typed.into());
    assert_eq!(
        maps("maps user:alice nginx: pss>1Q /usr/bin/redis-server pss>1M"),
        [
            filter("user:alice"),
            name("nginx:"),
            name("pss>1Q"),
            name("/usr/bin/redis-server"),
            filter("pss>1M")
        ]
    );
    let Some(Command::Leaks(args)) = parse("leaks --prove node").unwrap().command else {
        panic!("not leaks");
    };
    assert_eq!(args.prove, Some(name("node")));
}

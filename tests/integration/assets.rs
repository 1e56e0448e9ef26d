//! Files that packages ship beside the program: the manual page and the completions, as the program writes them.

use std::process::Command;

use zmtop::columns::COLUMNS;
use zmtop::config::Keymap;
use zmtop::filter;

use crate::support::kept::{assert_kept, asset};
use crate::support::pty::ZMTOP;

const FILES: [(&str, &[&str]); 4] = [
    ("zmtop.1", &["man"]),
    ("completions/zmtop.bash", &["completions", "bash"]),
    ("completions/_zmtop", &["completions", "zsh"]),
    ("completions/zmtop.fish", &["completions", "fish"]),
];

fn written(args: &[&str]) -> String {
    let done = Command::new(ZMTOP).args(args).output().unwrap();
    assert!(
        done.status.success(),
        "{args:?}: {}",
        String::from_utf8_lossy(&done.stderr)
    );
    String::from_utf8(done.stdout).unwrap()
}

#[test]
fn the_files_are_what_the_program_writes() {
    for (name, args) in FILES {
        assert_kept(name, &written(args));
    }
}

/// The page's text as it is read, without fonts and escapes.
fn page() -> String {
    let mut text = written(&["man"]);
    for (escape, plain) in [
        ("\\fB", ""),
        ("\\fI", ""),
        ("\\fR", ""),
        ("\\-", "-"),
        ("\\*(Aq", "'"),
        ("\\&", ""),
    ] {
        text = text.replace(escape, plain);
    }
    text.replace("\\\\", "\\")
}

#[test]
fn the_manual_page_has_all_of_it() {
    let page = page();
    let headings: Vec<_> = page.lines().filter_map(|line| line.strip_prefix(".SH ")).collect();
    assert_eq!(
        headings,
        [
            "NAME",
            "SYNOPSIS",
            "DESCRIPTION",
            "OPTIONS",
            "COMMANDS",
            "FILTERS",
            "COLUMNS",
            "SCREEN",
            "KEYS",
            "FILES",
            "ENVIRONMENT",
            "\"EXIT STATUS\"",
            "EXAMPLES",
            "\"SEE ALSO\""
        ]
    );
    for command in ["ps", "mem", "maps", "held", "leaks", "config", "completions", "man"] {
        assert!(page.contains(&format!(".SS \"zmtop {command}\"\n")), "{command}");
    }
    let has = |text: &str| assert!(page.contains(text), "{text}");
    for (example, what) in filter::help() {
        has(example);
        has(what);
    }
    for column in COLUMNS {
        has(&format!("{} ({})", column.id, column.title));
    }
    for binding in &Keymap::default().bindings {
        has(&binding.desc);
    }
    for text in [
        "--pick",
        "config.toml",
        "NO_COLOR",
        "4: the output could not be written",
        "--every <TIME>",
        "--areas",
    ] {
        has(text);
    }
}

/// Returns what bash offers for the last word of a command line.
fn completed(line: &str) -> Vec<String> {
    let script = "source \"$1\"; COMP_WORDS=($2); [[ $2 == *' ' ]] && COMP_WORDS+=(''); \
                  COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); \
                  _zmtop zmtop \"${COMP_WORDS[COMP_CWORD]}\" \"${COMP_WORDS[COMP_CWORD-1]}\"; \
                  printf '%s\\n' \"${COMPREPLY[@]}\"";
    let done = Command::new("bash")
        .args(["--norc", "-c", script, "bash"])
        .arg(asset("completions/zmtop.bash"))
        .arg(line)
        .output()
        .unwrap();
    assert!(done.stderr.is_empty(), "{}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout)
        .unwrap()
        .lines()
        .map(Into::into)
        .collect()
}

#[test]
fn bash_completes_commands_options_and_values() {
    for (line, expected) in [
        ("zmtop le", &["leaks"][..]),
        ("zmtop ps --form", &["--format"]),
        ("zmtop ps --format ", &["table", "json", "rows", "ndjson", "csv"]),
        ("zmtop ps --by con", &["container"]),
        ("zmtop leaks --by map", &[""]),
        ("zmtop --theme drac", &["dracula"]),
        ("zmtop mem --units by", &["bytes"]),
        ("zmtop ps --sort footp", &["footprint"]),
        ("zmtop maps --sort addr", &["address"]),
        ("zmtop completions z", &["zsh"]),
        ("zmtop config ch", &["check"]),
        // An option that only zmtop itself uses is hidden.
        ("zmtop callers --arm", &[""]),
        ("zmtop callers --flame", &["--flamegraph"]),
    ] {
        assert_eq!(completed(line), expected, "{line}");
    }
}

//! Words quoted for a shell are read by it as they were.

use std::process::Command;

use zmtop::text::shell_word;

use crate::support::pty::have;

/// Words that shells read in a way of their own.
const WORDS: [&[u8]; 24] = [
    b"",
    b"plain",
    b"--option=value",
    b"NAME=value",
    b"two words",
    b"it's",
    b"'",
    b"''a''",
    b"$HOME `id` $(id)",
    b"!event !!",
    b"~ ~root",
    b"*? [a-z] {a,b}",
    b"; rm -rf x & | > <",
    b"#",
    b"=cmd",
    b"%1",
    b"back\\slash\\n",
    b"\"quoted\"",
    "caf\u{e9} \u{732b} \u{1f600}".as_bytes(),
    "\u{ef80}".as_bytes(),
    b"-",
    b"a:b,c/d.e+f@g_h",
    b"\\'",
    b"(a)",
];

/// Words that hold what must not reach a terminal.
const UNPRINTABLE: [&[u8]; 10] = [
    b"a\nb",
    b"a\n",
    b"\t\r\x07\x7f",
    b"\x1b[201~id\r",
    b"it's\n\\ 'quoted'; id",
    b"\x01\x0123",
    b"\xff\xfe7",
    "\u{9b}31m".as_bytes(),
    "\u{202e}gpj.exe\u{200b}".as_bytes(),
    b"caf\xc3\xa9 \xc3",
];

/// The arguments as a shell passes them on.
fn read_by(shell: &str, line: &str) -> Vec<Vec<u8>> {
    let out = Command::new(shell)
        .args(["-c", &format!("printf '%s\\0' {line}")])
        .env("LC_ALL", "C.UTF-8")
        .output()
        .unwrap();
    assert!(out.status.success(), "{line}: {}", String::from_utf8_lossy(&out.stderr));
    let mut words: Vec<_> = out.stdout.split(|byte| *byte == 0).map(<[u8]>::to_vec).collect();
    words.pop();
    words
}

fn quoted(words: &[&[u8]]) -> String {
    let words: Vec<_> = words.iter().map(|word| shell_word(word)).collect();
    words.join(" ")
}

#[test]
fn shells_read_every_word_as_it_was() {
    for shell in ["bash", "dash", "zsh", "ksh", "sh"] {
        if shell == "sh" || have_shell(shell) {
            assert_eq!(read_by(shell, &quoted(&WORDS)), WORDS, "{shell}");
        }
    }
    for shell in ["bash", "zsh"] {
        if have_shell(shell) {
            assert_eq!(read_by(shell, &quoted(&UNPRINTABLE)), UNPRINTABLE, "{shell}");
        }
    }
}

/// Shells that are not everywhere are tested where they are.
fn have_shell(shell: &str) -> bool {
    shell == "bash" && have(shell) || Command::new(shell).args(["-c", ":"]).output().is_ok()
}

#[test]
fn what_is_quoted_is_printable_and_one_word_everywhere() {
    for word in UNPRINTABLE {
        let quoted = shell_word(word);
        let is_bad = |c: char| c.is_control() || zmtop::text::is_invisible(c);
        assert!(!quoted.contains(is_bad), "{quoted:?}");
        // A shell that does not know this form reads another word, but one, and runs nothing.
        let inside = quoted
            .strip_prefix("$'")
            .and_then(|rest| rest.strip_suffix('\''))
            .unwrap();
        assert!(!inside.contains('\''), "{quoted}");
        assert_eq!(read_by("sh", &quoted).len(), 1, "{quoted}");
    }
    assert_eq!(shell_word(b"/usr/bin/zmtop"), "/usr/bin/zmtop");
    assert_eq!(shell_word(b"/opt/my tools/zmtop"), "'/opt/my tools/zmtop'");
}

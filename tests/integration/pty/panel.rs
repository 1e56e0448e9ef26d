//! The panel on a process that grows.

use crate::accuracy::child::{self, Child};
use crate::support::pty::Pty;

const NAME: &str = "pty::panel::it_names_what_grows";

#[test]
fn it_names_what_grows() {
    child::be(NAME);
    let mut grows = Child::start(NAME);
    grows.tell("map 0 100");
    grows.tell("touch 0 0 10");
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("grows-here");
    std::fs::File::create(&file).unwrap().set_len(24 << 20).unwrap();

    let mut pty = Pty::zmtop((120, 40), &["--interval", "200ms"]);
    pty.wait_for_table();
    pty.send(&format!("/pid:{}\r", grows.pid()));
    pty.wait_for("Σ 1 of");
    pty.send("\r");
    pty.wait_for("its mappings  ·");
    // One that it had grows, and one that it had not comes.
    grows.tell("touch 0 10 60");
    grows.tell(&format!("share 1 24 {}", file.display()));
    pty.wait("growth in", |screen| {
        let grew = |name: &str, low: f64, high: f64| {
            screen.lines().filter(|l| l.contains(name)).any(|line| {
                let first = line.split_whitespace().next().unwrap_or_default();
                let mib = first.strip_prefix('+').and_then(|n| n.strip_suffix('M'));
                mib.and_then(|n| n.parse::<f64>().ok())
                    .is_some_and(|n| n >= low && n <= high)
            })
        };
        grew("[anon]", 59.0, 62.0) && grew("grows-here new", 23.0, 25.0) && screen.contains("growth in")
    });
    // While it reads again and again, it ends at once.
    pty.send("q");
    assert_eq!(pty.exit_code(), 0);
    grows.end();
}

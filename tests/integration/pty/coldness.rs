//! Hot and cold memory of a real process, from the key to the panel.

use crate::accuracy::child::{self, Child};
use crate::support::pty::{ESC, Pty};

const NAME: &str = "pty::coldness::c_asks_and_the_panel_tells_what_is_cold";

#[test]
fn c_asks_and_the_panel_tells_what_is_cold() {
    child::be(NAME);
    let mut target = Child::start(NAME);
    target.tell("map 0 32");
    target.tell("touch 0 0 32");
    let home = tempfile::tempdir().unwrap();
    let config = home.path().join("config.toml");
    std::fs::write(&config, "[sampler]\ncold_interval = \"1s\"\n").unwrap();
    let config = config.display().to_string();
    let mut pty = Pty::zmtop((120, 40), &["--interval", "200ms", "--config", &config]);
    pty.wait_for_table();
    pty.send(&format!("/pid:{}\r", target.pid()));
    pty.wait_for("Σ 1 of");
    pty.send("\r");
    pty.wait_for("its mappings  ·");
    pty.send("r");
    pty.wait_for("Nothing else changes.");
    pty.send("\r");
    pty.wait_for("touches from now on");
    let cold = |screen: &str, low: f64, high: f64| {
        let line = screen
            .lines()
            .find(|line| line.contains("[anon]") && line.contains(" anon "));
        // GROWTH, PSS, RSS, SWAP, COLD.
        let cold = line.and_then(|line| line.split_whitespace().nth(4)?.strip_suffix('M'));
        let mib = cold.and_then(|n| n.parse::<f64>().ok());
        mib.is_some_and(|mib| (low..high).contains(&mib)) && screen.contains("untouched for")
    };
    pty.wait("nothing was touched", |screen| cold(screen, 31.0, 36.0));
    // What is touched again is no longer cold.
    target.tell("touch 0 0 24");
    pty.wait("a quarter is cold", |screen| cold(screen, 7.0, 12.0));
    // Pressed again it begins anew.
    pty.send("r");
    pty.wait_for("Nothing else changes.");
    pty.send(ESC);
    pty.wait("it is closed", |s| !s.contains("Nothing else changes."));
    pty.send("q");
    assert_eq!(pty.exit_code(), 0);
    target.end();
}

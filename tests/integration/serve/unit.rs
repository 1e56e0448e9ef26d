//! The systemd unit of the exporter, as far as it can be tried without systemd.

use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;
use std::time::{Duration, Instant};

use super::server::Server;
use crate::support::kept::asset;
use crate::support::pty::ZMTOP;
use crate::support::{PATIENCE, cannot, copy_program, skip};

/// The highest exposure level that systemd may see, in tenths. What is left above 0 is the network, and the capabilities.
const EXPOSURE: &str = "--threshold=22";

fn unit() -> String {
    std::fs::read_to_string(asset("zmtop-serve.service")).unwrap()
}

/// The value of a setting of the unit.
fn setting(name: &str) -> String {
    let unit = unit();
    let mut lines = unit.lines();
    let found = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
    found.unwrap_or_else(|| panic!("{name}")).to_owned()
}

#[test]
fn systemd_finds_nothing_wrong_and_little_exposed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("zmtop-serve.service");
    std::fs::write(&path, unit().replace("/usr/bin/zmtop", ZMTOP)).unwrap();
    for args in [&["verify", "--man=no"][..], &["security", "--offline=true", EXPOSURE]] {
        let Ok(done) = Command::new("systemd-analyze").args(args).arg(&path).output() else {
            return skip("systemd-analyze is not installed");
        };
        let said = String::from_utf8_lossy(&done.stderr).into_owned() + &String::from_utf8_lossy(&done.stdout);
        assert!(done.status.success(), "{said}");
        assert!(args[0] != "verify" || said.is_empty(), "{said}");
    }
}

#[test]
fn its_capabilities_are_enough_for_the_figures_of_others() {
    if !rustix::process::geteuid().is_root() {
        return skip("granting a capability needs root");
    }
    let dir = tempfile::tempdir().unwrap();
    std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let program = dir.path().join("zmtop");
    copy_program(ZMTOP, &program);
    let granted = setting("AmbientCapabilities")
        .to_lowercase()
        .replace("cap_", "+")
        .replace(' ', ",");
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--no-new-privs"]);
    for set in ["--inh-caps=", "--ambient-caps=", "--bounding-set="] {
        command.arg(format!("{set}-all,{granted}"));
    }
    let can = Command::new(command.get_program())
        .args(command.get_args())
        .arg("true")
        .status();
    if !can.is_ok_and(|status| status.success()) {
        return cannot("these capabilities cannot be granted here");
    }
    command
        .arg(program)
        .args(["serve", "--listen", "127.0.0.1:0", "--by", "user"]);
    let server = Server::of(command.env_clear()).unwrap_or_else(|said| panic!("{said}"));
    // These tests run as root. On a loaded machine, what is not read in time has no sum until the next scrape.
    let begun = Instant::now();
    let pss = loop {
        let text = server.scrape();
        let pss = text
            .lines()
            .find_map(|line| line.strip_prefix("zmtop_pss_bytes{by=\"user\",group=\"root\"} "));
        if let Some(pss) = pss {
            break pss.parse::<f64>().unwrap();
        }
        assert!(begun.elapsed() < PATIENCE, "{text}");
        std::thread::sleep(Duration::from_millis(50));
    };
    assert!(pss > 1e6, "{pss}");
}

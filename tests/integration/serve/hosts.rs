//! Two hosts, a Prometheus and the shipped rules: a leak fires, a saw-tooth does not.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use super::prometheus::Prometheus;
use super::server::Server;
use crate::support::pty::{ZMTOP, have};
use crate::support::skip;

/// Time that a leak is given to be called.
const LENGTH: Duration = Duration::from_secs(1800);
/// Time between two scrapes, and between two looks at the alerts.
const EVERY: Duration = Duration::from_secs(5);

/// Starts `zmtop serve` in a pid namespace of its own, beside programs that end with it.
fn host(scripts: &TempDir, roles: &[&str]) -> Result<Server, String> {
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/programs/programs.py");
    let mut script = String::from("exec 3<&0\n");
    for role in roles {
        // A group is named after the script that is run.
        std::fs::copy(&fixture, scripts.path().join(format!("{role}.py"))).unwrap();
        let folder = scripts.path().display();
        writeln!(script, "python3 -I -B {folder}/{role}.py {role} 1 <&3 2>/dev/null &").unwrap();
    }
    script += "exec \"$0\" serve --listen 127.0.0.1:0";
    Server::of(
        Command::new("unshare")
            .args(["-Urpf", "--mount-proc", "--kill-child", "sh", "-c", &script, ZMTOP])
            .env("HOME", scripts.path())
            .stdin(Stdio::piped()),
    )
}

/// Returns the name, the host and the group of each alert of a group that fires.
fn firing(prometheus: &Prometheus) -> Vec<[String; 3]> {
    let data = prometheus.ask("alerts", &[]);
    let alerts = data["alerts"].as_array().unwrap().iter();
    let groups = alerts.filter(|alert| alert["state"] == "firing" && alert["labels"].get("group").is_some());
    let text = |label: &Value| label.as_str().unwrap_or_default().to_owned();
    groups
        .map(|alert| ["alertname", "instance", "group"].map(|name| text(&alert["labels"][name])))
        .collect()
}

#[test]
#[ignore = "takes half an hour"]
fn a_leak_fires_and_a_saw_tooth_does_not_in_real_time() {
    if !(have("prometheus") && have("python3") && have("unshare")) {
        return;
    }
    let scripts = tempfile::tempdir().unwrap();
    let hosts = [&["leak", "steady"][..], &["teeth", "heap", "cache"]].map(|roles| host(&scripts, roles));
    let [Ok(leaky), Ok(quiet)] = hosts else {
        return skip("no private pid namespaces");
    };
    let prometheus = Prometheus::start(&[leaky.address, quiet.address], EVERY);
    let begun = Instant::now();
    let expected = ["ZmtopLeak", &leaky.address.to_string(), "python3 leak.py"].map(str::to_owned);
    loop {
        std::thread::sleep(EVERY);
        let fires = firing(&prometheus);
        assert!(fires.iter().all(|alert| *alert == expected), "{fires:?}");
        if !fires.is_empty() {
            break;
        }
        assert!(begun.elapsed() < LENGTH, "the leak did not fire");
    }
    // Past the test harness, which shows nothing of a test that passes.
    let _ = writeln!(std::io::stdout(), "the leak fired after {:?}", begun.elapsed());
    // It was silent of what it saw, all the time.
    for role in ["teeth", "heap", "cache"] {
        let known = format!("max_over_time(zmtop_leaking{{group=\"python3 {role}.py\"}}[30m]) == 0");
        assert_eq!(prometheus.series(&known).len(), 1, "{role}");
    }
    assert_eq!(prometheus.series("min_over_time(up[30m]) == 1").len(), 2);
}

//! A real Prometheus that scrapes two real exporters.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::Owned;
use crate::support::pty::{PATIENCE, Pty, ZMTOP, have};
use crate::support::tree::ProcTree;

/// Starts an exporter of a made machine.
fn exporter(tree: &ProcTree) -> (Owned, SocketAddr) {
    let mut child = Command::new(ZMTOP)
        .args(["serve", "--listen", "127.0.0.1:0", "--interval", "1s", "--proc-root"])
        .arg(tree.root())
        .env_clear()
        .env("HOME", tree.path("home"))
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stderr.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    let address = line.trim().strip_prefix("zmtop: listening at http://");
    let address = address.and_then(|rest| rest.strip_suffix("/metrics"));
    let address = address.unwrap_or_else(|| panic!("{line}")).parse().unwrap();
    (Owned(child), address)
}

#[test]
fn two_exporters_are_two_hosts() {
    if !have("prometheus") {
        return;
    }
    let trees = [ProcTree::new(), ProcTree::new()];
    trees[0].process(100).comm("api").write();
    trees[1].process(100).comm("redis").write();
    let [one, two] = &trees;
    let exporters = [exporter(one), exporter(two)];
    let home = tempfile::tempdir().unwrap();
    let config = home.path().join("prometheus.yml");
    let targets: Vec<_> = exporters.iter().map(|(_, address)| format!("'{address}'")).collect();
    let mut file = std::fs::File::create(&config).unwrap();
    let targets = targets.join(",");
    write!(
        file,
        "global: {{scrape_interval: 1s}}\nscrape_configs: [{{job_name: zmtop, static_configs: [{{targets: [{targets}]}}]}}]\n"
    )
    .unwrap();
    // A port that is free now. Another program is unlikely to take it.
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut prometheus = Command::new("prometheus");
    prometheus
        .arg(format!("--config.file={}", config.display()))
        .arg(format!("--storage.tsdb.path={}", home.path().join("data").display()))
        .arg(format!("--web.listen-address={address}"));
    let _prometheus = Owned::quiet(&mut prometheus);
    let begun = Instant::now();
    while TcpStream::connect(address).is_err() {
        assert!(begun.elapsed() < PATIENCE, "prometheus does not listen");
        std::thread::sleep(Duration::from_millis(50));
    }
    let url = format!("http://{address}");
    let mut pty = Pty::zmtop((160, 24), &["fleet", "--prometheus", &url, "--interval", "1s"]);
    let hosts = exporters.iter().map(|(_, address)| address.to_string());
    let hosts: Vec<_> = hosts.collect();
    pty.wait("both", |text| {
        let has = |name: &str, host: &str| text.lines().any(|line| line.contains(name) && line.contains(host));
        text.contains("2 hosts") && has("api", &hosts[0]) && has("redis", &hosts[1])
    });
    // Of the made machines; the sum of all, and the pressure of the one that waits most.
    pty.wait("the pressure", |text| {
        text.contains("some 1.5") && text.contains("full 0.2")
    });
    pty.send("q");
    assert_eq!(pty.exit_code(), 0);
}

//! Requests to a running `zmtop serve`.

use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::server::{PATIENCE, Server, tree};
use crate::support::cannot;

#[test]
fn scrapes_are_answered_in_both_formats() {
    let tree = tree();
    let server = Server::start(&tree, &[]);
    let text = server.scrape();
    assert!(
        text.contains("content-type: text/plain; version=0.0.4; charset=utf-8\r\n"),
        "{text}"
    );
    assert!(
        text.contains("\nzmtop_pss_bytes{by=\"command\",group=\"server\"} 3072000.0\n"),
        "{text}"
    );
    assert!(
        text.contains("\n# TYPE zmtop_system_swap_in_bytes_total counter\n"),
        "{text}"
    );
    let open = server.get("/metrics", "application/openmetrics-text;version=1.0.0");
    assert!(open.contains("content-type: application/openmetrics-text; version=1.0.0; charset=utf-8\r\n"));
    assert!(open.ends_with("# EOF\n"));
    assert!(server.get("/", "*/*").contains("href=\"/metrics\""));
}

#[test]
fn what_is_no_scrape_is_refused_and_scrapes_go_on() {
    let tree = tree();
    let server = Server::start(&tree, &[]);
    server.scrape();
    let flood = format!("GET /metrics HTTP/1.1\r\nX: {}\r\n\r\n", "x".repeat(1 << 20));
    for (request, answer) in [
        (
            "POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n",
            "HTTP/1.1 405 ",
        ),
        ("GET /etc/passwd HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP/1.1 404 "),
        ("HEAD /metrics HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP/1.1 200 "),
        ("\0\x01\x02 nonsense\r\n\r\n", "HTTP/1.1 400 "),
        (&flood, "HTTP/1.1 431 "),
    ] {
        let found = server.send(request.as_bytes());
        // Where more was sent than was read, the answer may be lost with the connection.
        let is_lost = found.is_empty() && request.len() > 1 << 16;
        assert!(found.starts_with(answer) || is_lost, "{found}");
        server.scrape();
    }
    // Clients that say nothing, or not all, or go away in the middle.
    let mut slow: Vec<_> = (0..200).map(|_| server.connect()).collect();
    for stream in &mut slow {
        stream.write_all(b"GET /metrics HT").unwrap();
    }
    server.scrape();
    drop(slow);
    server.scrape();
}

#[test]
fn a_hundred_at_once_get_the_same_snapshot() {
    let tree = tree();
    let server = Server::start(&tree, &["--interval", "1h"]);
    server.scrape();
    let without_age = |text: String| -> Vec<String> {
        let body = text.split("\r\n\r\n").nth(1).unwrap().to_owned();
        let kept = body
            .lines()
            .filter(|line| !line.starts_with("zmtop_snapshot_age_seconds "));
        kept.map(ToOwned::to_owned).collect()
    };
    let texts: Vec<_> = std::thread::scope(|scope| {
        let scrapes: Vec<_> = (0..100).map(|_| scope.spawn(|| without_age(server.scrape()))).collect();
        scrapes.into_iter().map(|scrape| scrape.join().unwrap()).collect()
    });
    assert!(texts.iter().all(|text| text == &texts[0]));
}

#[test]
fn a_stuck_read_delays_no_scrape() {
    let tree = tree();
    tree.process(8).comm("stuck").cmdline("stuck\0").write();
    tree.fifo(8, "smaps_rollup");
    let server = Server::start(&tree, &[]);
    let text = server.scrape();
    assert!(text.contains("zmtop_pss_bytes{by=\"command\",group=\"server\"}"));
    assert!(!text.contains("zmtop_pss_bytes{by=\"command\",group=\"stuck\"}"));
}

#[test]
fn it_stops_when_told() {
    let tree = tree();
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        let mut server = Server::start(&tree, &[]);
        server.scrape();
        kill_process(Pid::from_raw(server.child.id().cast_signed()).unwrap(), signal).unwrap();
        assert_eq!(server.child.wait().unwrap().code(), Some(0), "{signal:?}");
    }
}

#[test]
fn addresses_that_are_taken_or_not_of_the_loopback_are_refused() {
    let tree = tree();
    let server = Server::start(&tree, &[]);
    let (code, _, why) = tree.zmtop(&format!("serve --listen {}", server.address));
    assert_eq!(code, Some(2));
    assert!(why.contains("cannot listen"), "{why}");
    let (code, _, why) = tree.zmtop("serve --listen 0.0.0.0:0");
    assert_eq!(code, Some(2));
    assert!(why.contains("loopback"), "{why}");
}

#[test]
fn the_file_is_whole_and_others_may_read_it() {
    let tree = tree();
    let file = tree.path("metrics.prom");
    let server = Server::start(&tree, &["--textfile", file.to_str().unwrap()]);
    let begun = Instant::now();
    while !file.exists() {
        assert!(begun.elapsed() < PATIENCE);
        std::thread::sleep(Duration::from_millis(20));
    }
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.ends_with('\n') && text.contains("\nzmtop_series "), "{text}");
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o644);
    drop(server);
}

#[test]
fn promtool_finds_nothing_wrong() {
    let tree = tree();
    let hostile = b"a\"b\\c\n\x1b]52;c;eA==\x07\xff\xe2\x80\xae";
    tree.process(9)
        .comm(hostile)
        .cmdline([&hostile[..], b"\0"].concat())
        .write();
    let server = Server::start(&tree, &[]);
    let text = server.scrape();
    let Ok(mut promtool) = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
    else {
        return cannot("promtool is not installed");
    };
    let body = text.split_once("\r\n\r\n").unwrap().1;
    promtool.stdin.take().unwrap().write_all(body.as_bytes()).unwrap();
    let done = promtool.wait_with_output().unwrap();
    let said = [done.stdout, done.stderr].concat();
    assert!(
        done.status.success() && said.is_empty(),
        "{}",
        String::from_utf8_lossy(&said)
    );
}

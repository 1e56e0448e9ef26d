//! Requests to a running `zmtop serve`.

use std::collections::HashSet;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use miniz_oxide::inflate::decompress_to_vec;
use rustix::fs::{CWD, Mode, mkfifoat};
use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process, prlimit};

use super::access::web_config;
use super::server::{PATIENCE, Server, tree};
use crate::support::pty::ZMTOP;
use crate::support::{alert, cannot};

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
    let texts: Vec<_> = std::thread::scope(|scope| {
        let scrape = || without_age(body(&server.scrape()));
        let scrapes: Vec<_> = (0..100).map(|_| scope.spawn(scrape)).collect();
        scrapes.into_iter().map(|scrape| scrape.join().unwrap()).collect()
    });
    assert!(texts.iter().all(|text| text == &texts[0]));
}

#[test]
fn a_new_snapshot_has_a_text_of_its_own() {
    let tree = tree();
    let more = |pid, kb| tree.process(pid).comm("more").cmdline("more\0").pss_kb(kb).write();
    // In the first snapshot: a group that begins later has no series in its first minute.
    more(8, 1000);
    let server = Server::start(&tree, &["--interval", "100ms"]);
    let begun = Instant::now();
    let has = |kb: u64| {
        let series = format!("zmtop_pss_bytes{{by=\"command\",group=\"more\"}} {}.0\n", kb << 10);
        while !server.scrape().contains(&series) {
            assert!(begun.elapsed() < PATIENCE);
            std::thread::sleep(Duration::from_millis(50));
        }
    };
    has(1000);
    more(9, 3000);
    has(4000);
}

#[test]
fn who_takes_gzip_gets_the_same_text_in_it() {
    let tree = tree();
    let server = Server::start(&tree, &["--interval", "1h"]);
    let plain = server.scrape();
    assert!(!plain.contains("content-encoding"), "{plain}");
    assert!(plain.contains("vary: accept, accept-encoding\r\n"), "{plain}");
    let ask = |encodings: &str| {
        let request = format!("GET /metrics HTTP/1.1\r\nHost: x\r\nAccept-Encoding: {encodings}\r\n\r\n");
        server.send_for_bytes(request.as_bytes())
    };
    let answer = ask("zstd, gzip");
    let at = answer.windows(4).position(|end| end == b"\r\n\r\n").unwrap() + 4;
    let (head, file) = answer.split_at(at);
    let head = str::from_utf8(head).unwrap();
    assert!(head.contains("content-encoding: gzip\r\n"), "{head}");
    assert!(head.contains(&format!("content-length: {}\r\n", file.len())), "{head}");
    let text = decompress_to_vec(&file[10..file.len() - 8]).unwrap();
    let text = str::from_utf8(&text).unwrap();
    assert_eq!(without_age(text), without_age(body(&plain)));
    let refused = String::from_utf8(ask("gzip;q=0")).unwrap();
    assert!(!refused.contains("content-encoding"), "{refused}");
    assert_eq!(without_age(body(&refused)), without_age(body(&plain)));
}

fn body(answer: &str) -> &str {
    answer.split_once("\r\n\r\n").unwrap().1
}

/// The lines of a text but for the age of its snapshot, the one figure of the moment.
fn without_age(text: &str) -> Vec<String> {
    let kept = text
        .lines()
        .filter(|line| !line.starts_with("zmtop_snapshot_age_seconds "));
    kept.map(ToOwned::to_owned).collect()
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
        assert_eq!(server.end(signal), Some(0), "{signal:?}");
    }
}

#[test]
fn a_stderr_that_nobody_reads_delays_nothing() {
    let tree = tree();
    let config = web_config(&tree, "");
    let mut server = Server::start(&tree, &["--interval", "100ms", "--web-config", &config]);
    server.scrape();
    server.fill_stderr();
    // It says that it has read the file, and then uses it.
    web_config(&tree, "http_server_config:\n  headers:\n    X-Frame-Options: deny\n");
    server.scrape_until("the header", |answer| answer.contains("x-frame-options: deny\r\n"));
    web_config(&tree, "basic_auth_users: {");
    tree.process(8).comm("later").cmdline("later\0").pss_kb(1000).write();
    server.scrape_until("the new process", |answer| answer.contains("\nzmtop_groups 2.0\n"));
    // What it said arrives once there is room, in order.
    server.wait_for("was read again");
    server.wait_for("the previous one stays in use");
    server.fill_stderr();
    // Also said while there is no room, and lost.
    web_config(&tree, "basic_auth_users: [");
    assert_eq!(server.end(Signal::TERM), Some(0));
}

#[test]
fn a_black_box_that_fails_while_nobody_reads_stderr_delays_no_snapshot() {
    let home = tempfile::tempdir().unwrap();
    let mut command = Command::new("sh");
    command
        .args(["-c", "exec \"$0\" serve --listen 127.0.0.1:0 --interval 200ms", ZMTOP])
        .env_clear()
        .env("HOME", home.path())
        .stdin(Stdio::null());
    let mut server = Server::of(&mut command).unwrap();
    server.scrape();
    server.fill_stderr();
    // No file may become larger, as on a full disk.
    let limit = Rlimit {
        current: Some(0),
        maximum: Some(0),
    };
    prlimit(Some(Pid::from_child(&server.child)), Resource::Fsize, limit).unwrap();
    // In each snapshot, it has used more processor time.
    let mut seen = HashSet::new();
    server.scrape_until("new snapshots", |answer| {
        let mut lines = answer.lines();
        seen.extend(
            lines
                .find(|line| line.starts_with("zmtop_cpu_seconds_total "))
                .map(str::to_owned),
        );
        seen.len() > 6
    });
    server.wait_for("black box: not recorded: File too large");
    server.fill_stderr();
    assert_eq!(server.end(Signal::TERM), Some(0));
}

#[test]
fn an_alert_runs_no_program() {
    let tree = tree();
    let (config, ran) = alert(&tree.path(""));
    let mut server = Server::start(&tree, &["--interval", "100ms", "--config", config.to_str().unwrap()]);
    for (count, name) in (2..).zip(["first", "second", "third", "fourth"]) {
        tree.process(20 + count).comm(name).cmdline(format!("{name}\0")).write();
        server.scrape_until(name, |answer| answer.contains(&format!("\nzmtop_groups {count}.0\n")));
    }
    assert_eq!(server.end(Signal::TERM), Some(0));
    assert!(!ran.exists());
}

#[test]
fn a_scrape_reads_nothing() {
    let tree = tree();
    let server = Server::start(&tree, &["--interval", "1h"]);
    let before = without_age(body(&server.scrape()));
    assert!(
        before.iter().any(|line| line.ends_with("group=\"server\"} 3072000.0")),
        "{before:?}"
    );
    tree.process(7).comm("server").cmdline("server\0").pss_kb(9000).write();
    // Who opens it waits for ever.
    let meminfo = tree.root().join("meminfo");
    std::fs::remove_file(&meminfo).unwrap();
    mkfifoat(CWD, &meminfo, Mode::RUSR | Mode::WUSR).unwrap();
    for _ in 0..3 {
        assert_eq!(without_age(body(&server.scrape())), before);
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
fn a_file_whose_disk_hangs_is_said() {
    use rustix::fs::{FlockOperation, flock};
    let tree = tree();
    let (file, left) = (tree.path("metrics.prom"), tree.path(".metrics.prom.new"));
    // A writer waits for the lock, as it would for a disk.
    let lock = std::fs::File::create(&left).unwrap();
    flock(&lock, FlockOperation::LockExclusive).unwrap();
    let start = || Server::start(&tree, &["--textfile", file.to_str().unwrap()]);
    let mut server = start();
    server.wait_for("metrics.prom has not been written after 5s");
    server.scrape();
    // It goes on waiting.
    flock(&lock, FlockOperation::Unlock).unwrap();
    let begun = Instant::now();
    while !file.exists() {
        assert!(begun.elapsed() < PATIENCE);
        std::thread::sleep(Duration::from_millis(20));
    }
    drop(server);
    std::fs::remove_file(&file).unwrap();
    let lock = std::fs::File::create(&left).unwrap();
    flock(&lock, FlockOperation::LockExclusive).unwrap();
    let mut server = start();
    server.wait_for("has not been written after 5s");
    kill_process(Pid::from_raw(server.child.id().cast_signed()).unwrap(), Signal::TERM).unwrap();
    server.wait_for("metrics.prom was still being written");
    assert_eq!(server.child.wait().unwrap().code(), Some(0));
    // What is left of it is removed by the next start.
    drop(lock);
    let _server = start();
    while !file.exists() || left.exists() {
        assert!(begun.elapsed() < PATIENCE);
        std::thread::sleep(Duration::from_millis(20));
    }
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

#[test]
fn no_argument_of_a_command_line_is_exported() {
    let tree = tree();
    let container = "0::/system.slice/web.service\n";
    for (pid, comm, cmdline) in [
        (10, "server", "server\0--token=hunter2\0hunter2\0"),
        (11, "java", "java\0-Dpassword=hunter2\0-jar\0/opt/shop.jar\0hunter2\0"),
        (12, "python3", "python3\0-c\0import hunter2\0"),
        (13, "sh", "sh\0-c\0curl hunter2\0"),
        (14, "node", "node\0-r\0hunter2\0/srv/shop.js\0--key\0hunter2\0"),
    ] {
        let process = tree.process(pid).comm(comm).cmdline(cmdline);
        process.cgroup(container).pss_kb(3000).write();
    }
    for by in ["command", "user", "unit", "container", "pod", "cgroup", "family"] {
        let server = Server::start(&tree, &["--by", by, "--top", "100"]);
        let text = server.scrape();
        assert!(text.contains("\nzmtop_series "), "{by}: {text}");
        assert!(!text.contains("hunter2"), "{by}: {text}");
        assert!(
            by != "command" || text.contains("group=\"java -jar shop.jar\""),
            "{text}"
        );
    }
}

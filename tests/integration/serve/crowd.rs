//! Many clients that have no password. All addresses of the loopback count as one client.

use std::collections::VecDeque;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::process::{Resource, getrlimit, setrlimit};

use super::access::{basic, status, users, web_config};
use super::server::{PATIENCE, Server, tree};
use crate::support::pty::ZMTOP;

/// More connections than `zmtop serve` keeps.
const MANY: usize = 520;

/// Allows for as many descriptors as the kernel does.
fn make_room() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    setrlimit(Resource::Nofile, limit).unwrap();
}

/// Connects from 127.0.0.`host`.
fn connect_from(host: u8, server: &Server) -> TcpStream {
    connect(Ipv4Addr::new(127, 0, 0, host), server)
}

fn connect(from: Ipv4Addr, server: &Server) -> TcpStream {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()
        .unwrap();
    let stream = runtime.block_on(async {
        let socket = tokio::net::TcpSocket::new_v4().unwrap();
        socket.bind(SocketAddr::new(IpAddr::V4(from), 0)).unwrap();
        socket.connect(server.address).await.unwrap()
    });
    let stream = stream.into_std().unwrap();
    stream.set_nonblocking(false).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

fn crowd(host: u8, count: usize, server: &Server) -> Vec<TcpStream> {
    (0..count).map(|_| connect_from(host, server)).collect()
}

/// Sends a request from 127.0.0.`host`; returns the status of the answer, "none" where the connection was closed.
fn ask(host: u8, request: &str, server: &Server) -> String {
    let mut stream = connect_from(host, server);
    let _ = stream.write_all(request.as_bytes());
    answer(&mut stream)
}

fn answer(stream: &mut TcpStream) -> String {
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer);
    status(&answer).to_owned()
}

#[test]
fn idle_connections_fail_no_scrape() {
    make_room();
    let tree = tree();
    let config = web_config(&tree, &users(&[("alice", "right")], 4));
    let server = Server::start(&tree, &["--web-config", &config]);
    let right = basic("alice", "right");
    // From another address, and from their own.
    for host in [2, 3] {
        let idle = crowd(3, MANY, &server);
        let answers: Vec<_> = (0..24).map(|_| ask(host, &right, &server)).collect();
        assert!(
            answers.iter().all(|status| status == "200"),
            "127.0.0.{host}: {answers:?}"
        );
        drop(idle);
    }
}

#[test]
fn a_known_user_is_answered_beside_guessers_of_many_addresses() {
    make_room();
    let tree = tree();
    let config = web_config(&tree, &users(&[("alice", "right")], 10));
    let server = Server::start(&tree, &["--web-config", &config]);
    let right = basic("alice", "right");
    assert_eq!(ask(2, &right, &server), "200");
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (server, is_over) = (&server, &is_over);
            scope.spawn(move || {
                // Each gives up after a while, and comes again from another address.
                let mut waiting = VecDeque::new();
                for n in (0..=u8::MAX).cycle() {
                    if is_over.load(Ordering::Relaxed) {
                        return;
                    }
                    let mut guess = connect(Ipv4Addr::new(127, 2, thread, n), server);
                    let _ = guess.write_all(basic("alice", &n.to_string()).as_bytes());
                    waiting.push_back(guess);
                    if waiting.len() > MANY / 3 {
                        waiting.pop_front();
                    }
                }
            });
        }
        // As many guesses as there is room for.
        std::thread::sleep(Duration::from_secs(1));
        let answers: Vec<_> = (0..24).map(|_| ask(2, &right, &server)).collect();
        is_over.store(true, Ordering::Relaxed);
        assert!(answers.iter().all(|status| status == "200"), "{answers:?}");
    });
}

#[test]
fn a_crowd_fails_no_scrape_where_few_files_may_be_open() {
    make_room();
    let tree = tree();
    let mut command = Command::new("sh");
    let script = "ulimit -n 100 && exec \"$0\" serve --listen 127.0.0.1:0 --proc-root \"$1\"";
    command.args(["-c", script, ZMTOP]).arg(tree.root()).env_clear();
    let server = Server::of(&mut command).unwrap();
    server.scrape();
    let mut slow = connect_from(3, &server);
    let idle = crowd(3, 300, &server);
    let answers: Vec<_> = (0..24)
        .map(|_| ask(2, "GET / HTTP/1.1\r\nHost: x\r\n\r\n", &server))
        .collect();
    assert!(answers.iter().all(|status| status == "200"), "{answers:?}");
    // The oldest was closed for others long before its time was over.
    assert_eq!(slow.read(&mut [0]).unwrap_or(0), 0);
    let open = idle.iter().filter(|stream| is_open(stream)).count();
    assert!((1..=25).contains(&open), "{open}");
}

/// Returns true if a connection that has no answer was not closed.
fn is_open(stream: &TcpStream) -> bool {
    stream.set_nonblocking(true).unwrap();
    stream
        .peek(&mut [0])
        .is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
}

#[test]
fn a_right_password_is_checked_beside_guesses_without_end_of_its_own_address() {
    let tree = tree();
    let config = web_config(&tree, &users(&[("alice", "right")], 4));
    let server = Server::start(&tree, &["--web-config", &config]);
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    assert_eq!(ask(2, &basic("alice", "wrong"), &server), "401");
                }
            });
        }
        let answers: Vec<_> = (0..20).map(|_| ask(2, &basic("alice", "right"), &server)).collect();
        is_over.store(true, Ordering::Relaxed);
        assert!(answers.iter().all(|status| status == "200"), "{answers:?}");
    });
}

#[test]
fn who_has_no_password_uses_up_no_rate_limit() {
    let tree = tree();
    let text = format!(
        "{}rate_limit: {{interval: 1h, burst: 2}}\n",
        users(&[("alice", "right")], 4)
    );
    let server = Server::start(&tree, &["--web-config", &web_config(&tree, &text)]);
    for (password, expected) in [
        ("a", "401"),
        ("b", "401"),
        ("c", "401"),
        ("right", "200"),
        ("right", "200"),
        ("right", "429"),
    ] {
        assert_eq!(ask(2, &basic("alice", password), &server), expected);
    }
}

#[test]
fn crowds_that_come_and_go_leave_nothing() {
    make_room();
    let tree = tree();
    let server = Server::start(&tree, &[]);
    server.scrape();
    let pid = server.child.id();
    let files = || std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap().count();
    let resident = || {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().strip_suffix(" kB").unwrap().parse::<u64>().unwrap()
    };
    let wave = || {
        let crowd = crowd(3, MANY, &server);
        assert_eq!(ask(2, "GET / HTTP/1.1\r\nHost: x\r\n\r\n", &server), "200");
        drop(crowd);
    };
    let before = files();
    // The first ones make room in its tables.
    (0..2).for_each(|_| wave());
    let took = resident();
    (0..6).for_each(|_| wave());
    // 6 KiB of each connection would be as much.
    let grown = resident().saturating_sub(took);
    assert!(grown < 16 << 10, "{grown} KiB more");
    let begun = std::time::Instant::now();
    while files() > before + 2 {
        assert!(begun.elapsed() < PATIENCE, "{} files, {before} before", files());
        std::thread::sleep(Duration::from_millis(50));
    }
}

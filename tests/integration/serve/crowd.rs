//! Many clients that have no password. Addresses of the loopback stand for machines.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::process::{Resource, getrlimit, setrlimit};

use super::access::{basic, status, users, web_config};
use super::server::{PATIENCE, Server, tree};

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
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()
        .unwrap();
    let stream = runtime.block_on(async {
        let socket = tokio::net::TcpSocket::new_v4().unwrap();
        let own = IpAddr::V4(Ipv4Addr::new(127, 0, 0, host));
        socket.bind(SocketAddr::new(own, 0)).unwrap();
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

/// Returns how many of the connections are answered or closed.
fn settled(streams: &[TcpStream]) -> usize {
    let is_settled = |stream: &&TcpStream| {
        stream.set_nonblocking(true).unwrap();
        let seen = stream.peek(&mut [0]);
        stream.set_nonblocking(false).unwrap();
        !seen.is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
    };
    streams.iter().filter(is_settled).count()
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
fn a_crowd_closes_its_own_connections_and_idle_ones_first() {
    make_room();
    let tree = tree();
    // A check that takes a while: the crowd comes while the password waits for it.
    let config = web_config(&tree, &users(&[("alice", "right")], 11));
    let server = Server::start(&tree, &["--web-config", &config]);
    let right = basic("alice", "right");
    let (begin, rest) = right.split_at(20);
    let mut slow = connect_from(2, &server);
    slow.write_all(begin.as_bytes()).unwrap();
    let mut waiting = connect_from(3, &server);
    waiting.write_all(right.as_bytes()).unwrap();
    let crowds = [crowd(3, MANY, &server), crowd(4, MANY, &server)];
    slow.write_all(rest.as_bytes()).unwrap();
    assert_eq!([answer(&mut slow), answer(&mut waiting)], ["200", "200"]);
    drop(crowds);
}

#[test]
fn a_right_password_does_not_wait_behind_the_guesses_of_another_address() {
    let tree = tree();
    // A check and its pause take so long that sixty of them would take longer than a connection may.
    let config = web_config(&tree, &users(&[("alice", "right")], 8));
    let server = Server::start(&tree, &["--web-config", &config]);
    let mut guesses = crowd(2, 60, &server);
    for (n, guess) in guesses.iter_mut().enumerate() {
        guess.write_all(basic("alice", &n.to_string()).as_bytes()).unwrap();
    }
    let before = settled(&guesses);
    assert_eq!(ask(3, &basic("alice", "right"), &server), "200");
    let meanwhile = settled(&guesses) - before;
    assert!(meanwhile < 10, "{meanwhile} guesses were checked before it");
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

//! Access to the exporter: users and passwords, rate limits, addresses.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::server::{Server, tree};
use crate::support::tree::ProcTree;

/// Writes a web config; returns its path.
pub(super) fn web_config(tree: &ProcTree, text: &str) -> String {
    // Written beside and renamed, as a careful administrator does it.
    let (new, path) = (tree.path("web.new"), tree.path("web.yml"));
    std::fs::write(&new, text).unwrap();
    std::fs::rename(new, &path).unwrap();
    path.to_str().unwrap().into()
}

pub(super) fn users(users: &[(&str, &str)], cost: u32) -> String {
    let line = |(name, password): &(&str, &str)| format!("  {name}: {}\n", bcrypt::hash(password, cost).unwrap());
    format!("basic_auth_users:\n{}", users.iter().map(line).collect::<String>())
}

fn request(authorization: &str) -> String {
    format!("GET / HTTP/1.1\r\nHost: x\r\nAuthorization: {authorization}\r\n\r\n")
}

pub(super) fn basic(user: &str, password: &str) -> String {
    request(&format!("Basic {}", STANDARD.encode(format!("{user}:{password}"))))
}

pub(super) fn status(answer: &str) -> &str {
    answer.split(' ').nth(1).unwrap_or("none")
}

#[test]
fn only_users_with_their_passwords_are_answered() {
    let tree = tree();
    let config = web_config(&tree, &users(&[("alice", "open:sesame"), ("bob", "hunter2")], 4));
    let server = Server::start(&tree, &["--web-config", &config]);
    let raw = |text: &str| request(&format!("Basic {}", STANDARD.encode(text)));
    for (asked, expected) in [
        (basic("alice", "open:sesame"), "200"),
        // Known by now.
        (basic("alice", "open:sesame"), "200"),
        (request("bAsIc Ym9iOmh1bnRlcjI="), "200"),
        (basic("alice", "hunter2"), "401"),
        (basic("alice", ""), "401"),
        (basic("alice", "open:sesam"), "401"),
        (basic("Alice", "open:sesame"), "401"),
        (basic("", ""), "401"),
        (basic("nobody", "hunter2"), "401"),
        (raw("alice"), "401"),
        (raw("alice\0:open:sesame"), "401"),
        (request("Basic ="), "401"),
        (request("Basic"), "401"),
        (request("Bearer YWxpY2U6b3BlbjpzZXNhbWU="), "401"),
        ("GET / HTTP/1.1\r\nHost: x\r\n\r\n".into(), "401"),
        ("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n".into(), "401"),
        (basic("bob", "hunter2"), "200"),
    ] {
        let answer = server.send(asked.as_bytes());
        assert_eq!(status(&answer), expected, "{asked}");
        assert_eq!(
            answer.contains("www-authenticate: Basic realm="),
            expected == "401",
            "{answer}"
        );
    }
}

#[test]
fn wrong_passwords_do_not_keep_a_known_user_waiting() {
    use std::io::Write as _;
    let tree = tree();
    let config = web_config(&tree, &users(&[("alice", "right")], 10));
    let server = Server::start(&tree, &["--web-config", &config]);
    let right = basic("alice", "right");
    assert_eq!(status(&server.send(right.as_bytes())), "200");
    let flood: Vec<_> = (0..200)
        .map(|n| {
            let mut stream = server.connect();
            let asked = basic("alice", &format!("guess {n}"));
            stream.write_all(asked.as_bytes()).unwrap();
            stream
        })
        .collect();
    for _ in 0..5 {
        assert_eq!(status(&server.send(right.as_bytes())), "200");
    }
    drop(flood);
}

#[test]
fn headers_and_the_rate_limit_are_those_of_the_file() {
    let tree = tree();
    let text = "http_server_config:\n  headers:\n    X-Frame-Options: deny\nrate_limit: {interval: 1h, burst: 2}\n";
    let server = Server::start(&tree, &["--web-config", &web_config(&tree, text)]);
    for expected in ["200", "404", "429", "429"] {
        let path = if expected == "404" { "/nothing" } else { "/" };
        let answer = server.get(path, "*/*");
        assert_eq!(status(&answer), expected);
        assert!(answer.contains("x-frame-options: deny\r\n"), "{answer}");
    }
}

#[test]
fn a_changed_file_applies_unless_it_is_faulty() {
    let tree = tree();
    let config = web_config(&tree, &users(&[("alice", "one")], 4));
    let mut server = Server::start(&tree, &["--web-config", &config]);
    let says = |server: &Server, password| status(&server.send(basic("alice", password).as_bytes())).to_owned();
    assert_eq!(says(&server, "one"), "200");
    web_config(&tree, &users(&[("alice", "two")], 4));
    server.wait_for("was read again");
    assert_eq!(says(&server, "one"), "401");
    assert_eq!(says(&server, "two"), "200");
    for (faulty, why) in [
        (
            "basic_auth_users:\n  alice: plain\n",
            "basic_auth_users.alice: not a bcrypt hash",
        ),
        ("basic_auth_users: {", "not YAML"),
    ] {
        web_config(&tree, faulty);
        server.wait_for(why);
        assert_eq!(says(&server, "two"), "200");
    }
    std::fs::remove_file(&config).unwrap();
    server.wait_for("no such file");
    assert_eq!(says(&server, "two"), "200");
    web_config(&tree, &users(&[("alice", "three")], 4));
    server.wait_for("was read again");
    assert_eq!(says(&server, "three"), "200");
}

#[test]
fn a_reload_never_drops_a_guard() {
    let tree = tree();
    let both = users(&[("alice", "one"), ("bob", "two")], 4);
    let config = web_config(&tree, &both);
    let mut server = Server::start(&tree, &["--web-config", &config]);
    // Written in place: empty, cut before the users, cut after their key, a comment alone.
    for cut in [
        "",
        "rate_limit: {interval: 1s, burst: 100}\n",
        "basic_auth_users:\n",
        "# nobody\n",
    ] {
        std::fs::write(&config, cut).unwrap();
        server.wait_for("web.yml: basic_auth_users was removed");
        assert_eq!(status(&server.get("/", "*/*")), "401", "{cut:?}");
        assert_eq!(status(&server.send(basic("alice", "one").as_bytes())), "200", "{cut:?}");
        // The same reason is said again once the file was whole in between.
        std::fs::write(&config, &both).unwrap();
        server.wait_for("was read again");
    }
    // A rate limit keeps nobody from reading, so it may go; and one user of several.
    web_config(&tree, &format!("{both}rate_limit: {{interval: 1s, burst: 100}}\n"));
    server.wait_for("was read again");
    web_config(&tree, &both);
    server.wait_for("was read again");
    web_config(&tree, &users(&[("bob", "two")], 4));
    server.wait_for("was read again");
    assert_eq!(status(&server.send(basic("alice", "one").as_bytes())), "401");
    assert_eq!(status(&server.send(basic("bob", "two").as_bytes())), "200");
}

#[test]
fn strangers_are_kept_out_of_addresses_that_they_reach() {
    let tree = tree();
    // An address that no machine has: what is allowed fails later.
    let listen = |text: &str| {
        let config = web_config(&tree, text);
        let (code, _, why) = tree.zmtop(&format!("serve --listen 192.0.2.1:1 --web-config {config}"));
        assert_eq!(code, Some(2), "{why}");
        why
    };
    for text in ["", "rate_limit: {interval: 1s, burst: 1}\n"] {
        let why = listen(text);
        assert!(why.contains("require TLS and a password with --web-config"), "{why}");
    }
    let why = listen(&users(&[("alice", "one")], 4));
    assert!(
        why.contains("passwords and metrics cross the network in plain text"),
        "{why}"
    );
    assert!(why.contains("cannot listen at 192.0.2.1:1"), "{why}");
}

#[test]
fn a_web_config_that_cannot_be_read_is_refused() {
    let tree = tree();
    let long = tree.path("long.yml");
    std::fs::write(&long, "#".repeat(2 << 20)).unwrap();
    let fifo = tree.file(7, "fifo");
    tree.fifo(7, "fifo");
    for (file, why) in [
        (tree.path("absent.yml"), "no such file"),
        (tree.root(), "is a directory"),
        (long, "is larger than the 1048576 bytes allowed"),
        (fifo, "is a FIFO"),
    ] {
        let (code, _, said) = tree.zmtop(&format!("serve --web-config {}", file.display()));
        assert_eq!(code, Some(2));
        assert!(said.contains(why), "{said}");
    }
}

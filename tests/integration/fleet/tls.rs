//! A server that is asked in TLS.

use super::server::{Series, Server};
use crate::support::certificates::Authority;
use crate::support::pty::Pty;

#[test]
fn a_certificate_is_trusted_if_its_authority_is() {
    let dir = tempfile::tempdir().unwrap();
    let authority = Authority::new();
    let server = Server::start_in_tls(Series::new(&["web1:9464"]), &authority.sign("127.0.0.1", 4000));
    let cases = [
        (authority.pem, "1 host  2 groups"),
        (Authority::new().pem, "does not answer: invalid peer certificate"),
    ];
    for (pem, said) in cases {
        let file = dir.path().join("ca.pem");
        std::fs::write(&file, pem).unwrap();
        let url = server.url();
        let file = file.to_str().unwrap();
        let mut pty = Pty::zmtop((160, 24), &["fleet", "--prometheus", &url, "--ca-file", file]);
        pty.wait_for(said);
        pty.send("q");
        assert_eq!(pty.exit_code(), 0);
    }
}

#[test]
fn a_token_on_its_way_to_another_host_is_warned_of() {
    let dir = tempfile::tempdir().unwrap();
    let token = dir.path().join("token");
    std::fs::write(&token, "secret").unwrap();
    let named = ["--token-file", token.to_str().unwrap()];
    let local = Server::start(Series::new(&["web1:9464"]));
    for (url, more, is_warned) in [
        ("http://192.0.2.1:9090", &named[..], true),
        ("http://192.0.2.1:9090", &[], false),
        (&*local.url(), &named, false),
    ] {
        let mut pty = Pty::zmtop((160, 24), &[&["fleet", "--prometheus", url], more].concat());
        if is_warned {
            pty.wait_for("crosses the network to 192.0.2.1:9090 in plain text");
        } else {
            pty.wait_for("quit");
            assert!(!String::from_utf8_lossy(&pty.raw()).contains("in plain text"), "{url}");
        }
        pty.send("q");
        assert_eq!(pty.exit_code(), 0);
    }
}

#[test]
fn certificates_that_cannot_be_read_are_reported() {
    let url = "https://127.0.0.1:9090";
    let mut pty = Pty::zmtop((120, 24), &["fleet", "--prometheus", url, "--ca-file", "/nowhere"]);
    pty.wait_for("/nowhere");
    assert_eq!(pty.exit_code(), 2);
}

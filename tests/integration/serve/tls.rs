//! TLS, with certificates made for the test.

use std::io::{Read as _, Write as _};
use std::sync::Arc;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned, SupportedProtocolVersion, version};

use super::access::web_config;
use super::server::{Server, tree};
use crate::support::certificates::{Authority, Pair};
use crate::support::tree::ProcTree;

impl Authority {
    /// Asks for the index; returns the answer or the error.
    fn get(
        &self,
        server: &Server,
        versions: &[&'static SupportedProtocolVersion],
        own: Option<&Pair>,
    ) -> Result<String, std::io::Error> {
        let mut roots = RootCertStore::empty();
        roots.add(certificate(&self.pem)).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(versions)
            .unwrap()
            .with_root_certificates(roots);
        let config = match own {
            None => builder.with_no_client_auth(),
            Some(own) => {
                let key = PrivateKeyDer::from_pem_slice(own.key.as_bytes()).unwrap();
                builder
                    .with_client_auth_cert(vec![certificate(&own.cert)], key)
                    .unwrap()
            }
        };
        let name = ServerName::try_from("127.0.0.1").unwrap();
        let connection = ClientConnection::new(Arc::new(config), name).unwrap();
        let mut stream = StreamOwned::new(connection, server.connect());
        stream.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    }
}

fn certificate(pem: &str) -> CertificateDer<'static> {
    CertificateDer::from_pem_slice(pem.as_bytes()).unwrap()
}

/// A pair, more lines of the config, what else is done to the files, and what is said then.
type Fault<'a> = (Pair, &'a str, &'a dyn Fn(&ProcTree), &'a str);

const BOTH: [&SupportedProtocolVersion; 2] = [&version::TLS12, &version::TLS13];

/// Writes a certificate and its key, and a web config that names them; `more` are lines of `tls_server_config`.
fn configure(tree: &ProcTree, pair: &Pair, more: &str) -> String {
    for (name, pem) in [("cert.pem", &pair.cert), ("key.pem", &pair.key)] {
        std::fs::write(tree.path(name), pem).unwrap();
    }
    web_config(tree, &tls_config(more))
}

fn tls_config(more: &str) -> String {
    format!("tls_server_config:\n  cert_file: cert.pem\n  key_file: key.pem\n{more}")
}

#[test]
fn scrapes_are_answered_in_tls_and_plain_http_is_reported_so() {
    let (tree, authority) = (tree(), Authority::new());
    let config = configure(&tree, &authority.sign("127.0.0.1", 4000), "");
    let server = Server::start(&tree, &["--web-config", &config]);
    // A client that says nothing keeps nobody waiting, and is let go.
    let mut silent = server.connect();
    for versions in [&BOTH[..1], &BOTH[1..], &BOTH] {
        let answer = authority.get(&server, versions, None).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    }
    let plain = server.get("/", "*/*");
    assert!(
        plain.starts_with("HTTP/1.0 400 ") && plain.contains("https://"),
        "{plain}"
    );
    // A handshake that makes no sense.
    assert!(!server.send(b"\x16\x03\x01\x00\x05hello").contains("HTTP/"));
    let stranger = Authority::new();
    assert!(stranger.get(&server, &BOTH, None).is_err());
    assert_eq!(silent.read(&mut [0]).unwrap(), 0);
    assert!(authority.get(&server, &BOTH, None).is_ok());
}

#[test]
fn versions_and_suites_are_those_of_the_file() {
    let (tree, authority) = (tree(), Authority::new());
    let pair = authority.sign("127.0.0.1", 4000);
    let config = configure(
        &tree,
        &pair,
        "  max_version: TLS12\n  cipher_suites: [TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384]\n",
    );
    let server = Server::start(&tree, &["--web-config", &config]);
    assert!(authority.get(&server, &BOTH[..1], None).is_ok());
    assert!(authority.get(&server, &BOTH[1..], None).is_err());
}

#[test]
fn clients_without_a_certificate_are_refused_where_one_is_needed() {
    let (tree, authority) = (tree(), Authority::new());
    let clients = Authority::new();
    std::fs::write(tree.path("ca.pem"), &clients.pem).unwrap();
    let config = configure(
        &tree,
        &authority.sign("127.0.0.1", 4000),
        "  client_ca_file: ca.pem\n  client_auth_type: RequireAndVerifyClientCert\n  client_allowed_sans: [good.example]\n",
    );
    let server = Server::start(&tree, &["--web-config", &config]);
    let answers = |own: Option<&Pair>| {
        let answer = authority.get(&server, &BOTH, own);
        answer.is_ok_and(|answer| answer.starts_with("HTTP/1.1 200 "))
    };
    assert!(answers(Some(&clients.sign("good.example", 4000))));
    for refused in [
        None,
        Some(clients.sign("bad.example", 4000)),
        Some(clients.sign("good.example", 2000)),
        Some(authority.sign("good.example", 4000)),
    ] {
        assert!(!answers(refused.as_ref()));
    }
}

#[test]
fn new_certificates_are_read_and_faulty_ones_are_not_used() {
    let (tree, authority) = (tree(), Authority::new());
    let expired = authority.sign("127.0.0.1", 2000);
    let config = configure(&tree, &expired, "");
    let mut server = Server::start(&tree, &["--web-config", &config]);
    assert!(authority.get(&server, &BOTH, None).is_err());
    let good = authority.sign("127.0.0.1", 4000);
    configure(&tree, &good, "");
    server.wait_for("was read again");
    assert!(authority.get(&server, &BOTH, None).is_ok());
    // The key of another certificate, as between two writes.
    std::fs::write(tree.path("key.pem"), &expired.key).unwrap();
    server.wait_for("is not the key of the certificate");
    assert!(authority.get(&server, &BOTH, None).is_ok());
    web_config(&tree, "");
    server.wait_for("to switch TLS on or off");
    assert!(authority.get(&server, &BOTH, None).is_ok());
}

#[test]
fn a_reload_never_drops_the_need_of_a_certificate() {
    let (tree, authority, clients) = (tree(), Authority::new(), Authority::new());
    std::fs::write(tree.path("ca.pem"), &clients.pem).unwrap();
    let own = authority.sign("127.0.0.1", 4000);
    let needed = "  client_ca_file: ca.pem\n  client_auth_type: RequireAndVerifyClientCert\n";
    let old = format!("{needed}  client_allowed_sans: [good.example]\n");
    let named = format!("{old}  min_version: TLS13\n");
    let config = configure(&tree, &own, &named);
    let mut server = Server::start(&tree, &["--web-config", &config]);
    let answers = |server: &Server, own: Option<&Pair>| {
        let answer = authority.get(server, &BOTH, own);
        answer.is_ok_and(|answer| answer.starts_with("HTTP/1.1 200 "))
    };
    let other = clients.sign("bad.example", 4000);
    let given = "  client_ca_file: ca.pem\n  client_auth_type: VerifyClientCertIfGiven\n";
    for (weaker, why) in [
        ("", "client_auth_type: RequireAndVerifyClientCert was removed"),
        (needed, "client_allowed_sans was removed"),
        (&old, "min_version: TLS13 was removed"),
        (given, "client_auth_type: RequireAndVerifyClientCert was removed"),
    ] {
        web_config(&tree, &tls_config(weaker));
        server.wait_for(why);
        assert!(!answers(&server, None), "{why}");
        assert!(!answers(&server, Some(&other)), "{why}");
    }
    // Another name is no weaker guard.
    web_config(&tree, &tls_config(&named.replace("good", "better")));
    server.wait_for("was read again");
    assert!(answers(&server, Some(&clients.sign("better.example", 4000))));
}

#[test]
fn certificates_and_keys_that_are_of_no_use_are_refused() {
    let (tree, authority) = (tree(), Authority::new());
    let pair = || authority.sign("127.0.0.1", 4000);
    let none = |_: &ProcTree| {};
    let unlink = |tree: &ProcTree| std::fs::remove_file(tree.path("key.pem")).unwrap();
    let faults: [Fault<'_>; 6] = [
        (pair(), "", &unlink, "key.pem: no such file"),
        (
            Pair {
                key: pair().key,
                ..pair()
            },
            "",
            &none,
            "key.pem: is not the key of the certificate",
        ),
        (
            Pair {
                key: pair().cert,
                ..pair()
            },
            "",
            &none,
            "key.pem: holds no unencrypted private key in PEM",
        ),
        (
            Pair {
                cert: pair().key,
                ..pair()
            },
            "",
            &none,
            "cert.pem: holds no certificate in PEM",
        ),
        (
            Pair {
                cert: "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n".into(),
                ..pair()
            },
            "",
            &none,
            "cert.pem: cannot be used",
        ),
        (
            pair(),
            "  client_ca: none\n  client_auth_type: VerifyClientCertIfGiven\n",
            &none,
            "web.yml: holds no certificate in PEM",
        ),
    ];
    for (pair, more, spoil, why) in faults {
        let config = configure(&tree, &pair, more);
        spoil(&tree);
        let (code, _, said) = tree.zmtop(&format!("serve --web-config {config}"));
        assert_eq!(code, Some(2));
        assert!(said.contains(why), "{said}");
    }
}

#[test]
fn tls_alone_lets_everyone_in_and_says_so() {
    let (tree, authority) = (tree(), Authority::new());
    let config = configure(&tree, &authority.sign("192.0.2.1", 4000), "");
    // An address that no machine has: what is allowed fails later.
    let (code, _, said) = tree.zmtop(&format!("serve --listen 192.0.2.1:1 --web-config {config}"));
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("anyone on the network can read the metrics"), "{said}");
    assert!(said.contains("cannot listen at 192.0.2.1:1"), "{said}");
}

//! The web config of `zmtop serve`, in the format of Prometheus's exporter toolkit.

use std::path::Path;

use zmtop::serve::web::WebConfig;

/// A bcrypt hash at the least cost there is.
const HASH: &str = "$2y$04$0z4XDJj5AQxW8gBUT9lBUeDKDGPRQeqCGDOwrgxQWxRhnd6.h2L46";

fn faults(text: &str) -> Vec<String> {
    let error = WebConfig::parse(Path::new("/etc/web.yml"), text).unwrap_err();
    let lines = error.faults.iter().map(ToString::to_string);
    lines.map(|line| line.replace("/etc/web.yml", "web.yml")).collect()
}

/// Asserts that a fault of a text is said, and nothing that should not be.
fn expect(text: &str, expected: &str) {
    let found = faults(text);
    assert!(found.iter().any(|line| line.contains(expected)), "{text}\n{found:#?}");
    for line in &found {
        assert!(
            !line.chars().any(char::is_control) && !line.contains("secret"),
            "{line}"
        );
    }
}

#[test]
fn a_whole_file_of_the_toolkit_is_understood() {
    let text = format!(
        "# Comments, quotes and blocks as YAML has them.\n\
         tls_server_config:\n  cert_file: server.crt\n  key_file: '/keys/server.key'\n  client_auth_type: \
         RequireAndVerifyClientCert\n  client_ca: |\n    -----BEGIN CERTIFICATE-----\n    -----END CERTIFICATE-----\n  \
         client_allowed_sans:\n    - prometheus.example.org\n    - 10.0.0.1\n  min_version: TLS13\n  max_version: TLS13\n  \
         cipher_suites: [TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, TLS_AES_128_GCM_SHA256]\n  prefer_server_cipher_suites: false\n  \
         curve_preferences: [CurveP256, X25519]\n\
         http_server_config:\n  http2: false\n  headers:\n    X-Frame-Options: deny\n    X-XSS-Protection: \"\"\n    \
         Strict-Transport-Security: max-age=60\n\
         basic_auth_users:\n  alice: {HASH}\n  \"bob\": \"{HASH}\"\n\
         rate_limit:\n  interval: 500ms\n  burst: 20\n"
    );
    let config = WebConfig::parse(Path::new("/etc/web.yml"), &text).unwrap();
    let tls = config.tls.as_ref().unwrap();
    let files: Vec<_> = tls.files().collect();
    assert_eq!(files, [Path::new("/etc/server.crt"), Path::new("/keys/server.key")]);
    assert!(tls.needs_client() && config.is_guarded());
    assert_eq!(config.users.len(), 2);
    assert_eq!(
        config.headers,
        [
            ("X-Frame-Options", "deny".into()),
            ("Strict-Transport-Security", "max-age=60".into())
        ]
    );
    assert_eq!(config.rate_limit, Some((std::time::Duration::from_millis(500), 20)));
}

#[test]
fn a_file_that_asks_for_nothing_guards_nothing() {
    for text in [
        "",
        "# Nothing.\n",
        "---\n{}\n",
        "tls_server_config: {}\nbasic_auth_users:\n",
        "rate_limit: {interval: 0}",
    ] {
        let config = WebConfig::parse(Path::new("web.yml"), text).unwrap();
        assert!(config.tls.is_none() && !config.is_guarded(), "{text}");
        assert!(config.rate_limit.is_none(), "{text}");
    }
}

#[test]
fn every_fault_is_named_with_its_key_and_place() {
    let pair = "tls_server_config:\n  cert_file: a\n  key_file: b\n";
    for (text, expected) in [
        ("nonsense", "web.yml:1:1: expected a mapping, as `key: value`"),
        (
            "tls_config: {}\n",
            "web.yml:1:1: tls_config: unknown key `tls_config`. Known: tls_server_config, ",
        ),
        (
            "tls_server_config:\n  min_version: TLS12\n",
            "web.yml:2:3: tls_server_config: cert_file is missing",
        ),
        (
            &format!("{pair}  cert: x\n"),
            "web.yml:2:3: tls_server_config.cert: conflicts with cert_file; set only one",
        ),
        (
            &format!("{pair}  colour: red\n"),
            "web.yml:4:3: tls_server_config.colour: unknown key `colour`",
        ),
        (
            &format!("{pair}  client_auth_type: RequireAnyClientCert\n"),
            "web.yml:4:21: tls_server_config.client_auth_type: expected NoClientCert, VerifyClientCertIfGiven or",
        ),
        (
            &format!("{pair}  client_auth_type: RequireAndVerifyClientCert\n"),
            "web.yml:2:3: tls_server_config.client_auth_type: needs a client_ca_file",
        ),
        (
            &format!("{pair}  client_ca_file: ca\n"),
            "web.yml:2:3: tls_server_config.client_ca_file: needs a client_auth_type",
        ),
        (
            &format!("{pair}  client_allowed_sans: [a.example]\n"),
            "web.yml:2:3: tls_server_config.client_allowed_sans: needs client_auth_type: RequireAndVerifyClientCert",
        ),
        (
            &format!("{pair}  client_allowed_sans: ['spiffe://a/b']\n"),
            "tls_server_config.client_allowed_sans: only host names and IP addresses are compared here",
        ),
        (
            &format!("{pair}  min_version: TLS10\n"),
            "tls_server_config.min_version: unknown version `TLS10`",
        ),
        (
            &format!("{pair}  min_version: TLS13\n  max_version: TLS12\n"),
            "tls_server_config.min_version: is above max_version",
        ),
        (
            &format!("{pair}  cipher_suites: [TLS_RSA_WITH_RC4_128_SHA]\n"),
            "tls_server_config.cipher_suites: unknown cipher suite `TLS_RSA_WITH_RC4_128_SHA`",
        ),
        (
            &format!("{pair}  curve_preferences: [CurveP521]\n"),
            "tls_server_config.curve_preferences: unknown curve `CurveP521`",
        ),
        (
            &format!("{pair}  prefer_server_cipher_suites: maybe\n"),
            "tls_server_config.prefer_server_cipher_suites: expected true or false, found `maybe`",
        ),
        (
            "http_server_config:\n  headers:\n    X-Frame-Options: allow\n",
            "web.yml:3:22: http_server_config.headers.X-Frame-Options: expected deny or sameorigin, found `allow`",
        ),
        (
            "http_server_config:\n  headers:\n    Server: me\n",
            "http_server_config.headers.Server: unknown key `Server`",
        ),
        (
            "basic_auth_users:\n  alice: secret\n",
            "web.yml:2:10: basic_auth_users.alice: not a bcrypt hash, as `htpasswd -nBC 10 NAME` prints",
        ),
        (
            &format!("basic_auth_users:\n  alice: {}\n", HASH.replace("$04$", "$17$")),
            "basic_auth_users.alice: its cost is above 16",
        ),
        (
            &format!("basic_auth_users:\n  a: {HASH}\n  a: {HASH}\n"),
            "web.yml:3:3: a: is repeated",
        ),
        ("basic_auth_users: [a]\n", "basic_auth_users: expected a mapping"),
        ("rate_limit:\n  interval: 1s\n", "rate_limit: burst is missing"),
        (
            "rate_limit:\n  interval: soon\n  burst: 0\n",
            "rate_limit.interval: expected a duration such as 1s, found `soon`",
        ),
    ] {
        expect(text, expected);
    }
}

#[test]
fn what_is_no_plain_yaml_is_refused() {
    for (text, expected) in [
        ("a: &x 1\nb: *x\n", "web.yml:1:"),
        ("a: {}\n---\nb: {}\n", "a second document"),
        ("a: [1, 2\n", "not YAML"),
        ("a: \"\\", "not YAML"),
        (&"[".repeat(30), "lists and mappings nest too deep"),
        (&"[".repeat(1000), "not YAML"),
        (&"a:\n ".repeat(50), "a: unknown key `a`"),
    ] {
        expect(text, expected);
    }
}

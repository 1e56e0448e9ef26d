//! Environments: sorted, and without their secrets.

use zmtop::proc::environ::parse;

fn parsed(bytes: &[u8]) -> Vec<String> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let variables = parse(bytes).into_iter();
    variables
        .map(|v| format!("{}={}", text(&v.name), text(&v.value)))
        .collect()
}

#[test]
fn variables_are_sorted_and_read_whatever_they_are() {
    assert_eq!(parsed(b"B=2\0A=1=x\0\0C\0D=\0"), ["A=1=x", "B=2", "C=", "D="]);
    assert_eq!(parsed(b""), [""; 0]);
    assert_eq!(parsed(b"CUT=of"), ["CUT=of"]);
}

#[test]
fn what_may_be_secret_is_hidden() {
    for secret in [
        "API_TOKEN",
        "GITHUB_TOKEN",
        "PGPASSWORD",
        "MYSQL_PWD",
        "AWS_SECRET_ACCESS_KEY",
        "SENTRY_DSN",
        "session_cookie",
        "SSH_PRIVATE_KEY",
        "OTEL_EXPORTER_OTLP_HEADERS",
        "ZMTOP_PROMETHEUS_PASSWORD",
        "DEPLOYKEY",
    ] {
        assert_eq!(
            parsed(format!("{secret}=hunter2").as_bytes()),
            [format!("{secret}=***")]
        );
    }
    for plain in [
        "PWD=/srv",
        "OLDPWD=/",
        "HOME=/root",
        "KEYMAP=de",
        "SSH_AUTH_SOCK=/run/agent",
        "PASSWORD_FILE=/run/secrets/x",
        "LANG=C",
    ] {
        assert_eq!(parsed(plain.as_bytes()), [plain]);
    }
    assert_eq!(
        parsed(b"DATABASE_URL=postgres://web:hunter2@db:5432/shop?x=a@b and redis://:p@h,http://plain/a@b"),
        ["DATABASE_URL=postgres://***@db:5432/shop?x=a@b and redis://***@h,http://plain/a@b"]
    );
}

//! `zmtop fleet`: the server to query and the credentials, from the command line.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::header::HeaderValue;

use crate::cli::UsageError;
use crate::cli::fleet::FleetArgs;
use crate::config::env::{PROMETHEUS_PASSWORD as PASSWORD, PROMETHEUS_TOKEN as TOKEN};
use crate::config::{Config, Env};
use crate::fleet::{self, DEFAULT_LABEL, Link, Server};
use crate::run::monitor::StartFleet;
use crate::text;

/// Maximum size of a file with a secret.
const MAX_SECRET: u64 = 64 << 10;

/// Returns the configuration of the monitor, and a function that starts the queries.
pub(super) fn configure(args: &FleetArgs, env: &Env) -> Result<(Config, StartFleet), UsageError> {
    let mut config = args.configure(env)?;
    let server = Server::parse(&args.prometheus, args.ca_file.as_deref(), authorization(args)?)
        .map_err(|what| UsageError::option("--prometheus", what))?;
    if server.is_token_exposed() {
        config.warnings.push(format!(
            "--prometheus does not use https: the token or password crosses the network to {} in plain text",
            text::safe(server.name().as_bytes())
        ));
    }
    let label = args.host_label.as_deref().unwrap_or(DEFAULT_LABEL);
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    if label.is_empty() || label.starts_with(|c: char| c.is_ascii_digit()) || !label.bytes().all(is_word) {
        return Err(UsageError::option("--host-label", "is not a label name"));
    }
    let matchers = args.matchers.trim().trim_start_matches('{').trim_end_matches('}');
    let link = Link {
        server,
        matchers: matchers.to_owned(),
        label: label.to_owned(),
    };
    let start: StartFleet = Box::new(|runtime, ends| {
        let task = fleet::run(link, ends.publish, ends.wanted, ends.state, ends.history, ends.tell);
        runtime.spawn(task);
    });
    Ok((config, start))
}

/// Builds the `Authorization` header; `None` without a user or token. Secrets come from files or variables, since every user can
/// see the command line.
fn authorization(args: &FleetArgs) -> Result<Option<HeaderValue>, UsageError> {
    let variable = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
    let (option, text) = if let Some(user) = &args.user {
        let password = match &args.password_file {
            Some(file) => secret(file, "--password-file")?,
            None => variable(PASSWORD).ok_or_else(|| {
                UsageError::option("--user", format!("needs --password-file or the variable {PASSWORD}"))
            })?,
        };
        (
            "--user",
            format!("Basic {}", STANDARD.encode(format!("{user}:{password}"))),
        )
    } else if let Some(file) = &args.token_file {
        ("--token-file", format!("Bearer {}", secret(file, "--token-file")?))
    } else if let Some(token) = variable(TOKEN) {
        (TOKEN, format!("Bearer {}", token.trim()))
    } else {
        return Ok(None);
    };
    let mut header = HeaderValue::from_str(&text)
        .map_err(|_| UsageError::option(option, "contains characters that are not allowed in a header"))?;
    header.set_sensitive(true);
    Ok(Some(header))
}

/// Reads a secret without its line ending.
fn secret(file: &Path, option: &'static str) -> Result<String, UsageError> {
    use std::io::Read as _;
    let shown = || text::safe(file.as_os_str().as_encoded_bytes()).into_owned();
    let mut read = String::new();
    std::fs::File::open(file)
        .and_then(|opened| opened.take(MAX_SECRET).read_to_string(&mut read))
        .map_err(|error| UsageError::option(option, format!("cannot read {}: {error}", shown())))?;
    Ok(read.trim_end_matches(['\n', '\r']).to_owned())
}

//! The web config: TLS and basic authentication for `zmtop serve`, in the format of Prometheus's exporter toolkit.
//!
//! No key is ignored. A key with another meaning than in the toolkit, or without any here, is a fault.

use std::collections::HashMap;
use std::path::Path;
use std::str::FromStr as _;
use std::time::Duration;

use super::tls::TlsSettings;
use super::yaml::{Node, Reader, read_yaml, switch};
use crate::config::fault::{ConfigError, Faults, shown};
use crate::config::file;
use crate::units::parse_span;

/// The maximum cost of a bcrypt hash. A check at this cost takes about 4 s, and each step more would double it.
const MAX_COST: u32 = 16;
/// The headers that may be added to responses, with the values allowed. An empty list allows any value.
const HEADERS: [(&str, &[&str]); 5] = [
    ("Content-Security-Policy", &[]),
    ("X-Frame-Options", &["deny", "sameorigin"]),
    ("X-Content-Type-Options", &["nosniff"]),
    ("X-XSS-Protection", &[]),
    ("Strict-Transport-Security", &[]),
];

/// A setting that protects from unauthorized reads: its name, and whether a web config has it.
type Guard = (&'static str, fn(&WebConfig) -> bool);

/// The guards of a web config. A guard can only be removed by a restart.
const GUARDS: [Guard; 5] = [
    ("tls_server_config", |config| config.tls.is_some()),
    ("basic_auth_users", |config| !config.users.is_empty()),
    ("client_auth_type: RequireAndVerifyClientCert", |config| {
        config.has_tls(TlsSettings::needs_client)
    }),
    ("client_allowed_sans", |config| {
        config.has_tls(|tls| !tls.allowed_names.is_empty())
    }),
    ("min_version: TLS13", |config| config.has_tls(TlsSettings::needs_latest)),
];

#[derive(Clone, Debug, Default)]
pub struct WebConfig {
    pub tls: Option<TlsSettings>,
    /// The users and their bcrypt hashes. If empty, everyone may read.
    pub users: HashMap<String, String>,
    /// Headers added to responses. Names and values are valid.
    pub headers: Vec<(&'static str, String)>,
    /// The time between two responses, and the size of a burst.
    pub rate_limit: Option<(Duration, u32)>,
}

impl WebConfig {
    /// Reads a file. Paths in it are relative to its directory.
    ///
    /// # Errors
    /// Every fault of the file. The files that it names are not read yet.
    pub fn load(file: &Path) -> Result<Self, ConfigError> {
        let text = file::read(file)?.ok_or_else(|| ConfigError::of_file(file, "no such file"))?;
        Self::parse(file, &text)
    }

    /// Parses the text of a file.
    ///
    /// # Errors
    /// Every fault of the text.
    pub fn parse(file: &Path, text: &str) -> Result<Self, ConfigError> {
        let mut reader = Reader {
            faults: Faults::new(file, text),
            text,
        };
        let mut config = Self::default();
        match read_yaml(text) {
            Ok(None) => {}
            Ok(Some(root)) => config.take(&mut reader, &root, file.parent().unwrap_or(Path::new(""))),
            Err((at, what)) => reader.fault(at, "", what),
        }
        reader.faults.finish()?;
        Ok(config)
    }

    /// Returns true if any setting keeps strangers from reading.
    pub fn is_guarded(&self) -> bool {
        !self.users.is_empty() || self.has_tls(TlsSettings::needs_client)
    }

    fn has_tls(&self, is: fn(&TlsSettings) -> bool) -> bool {
        self.tls.as_ref().is_some_and(is)
    }

    /// Returns the name of a guard that this config has and `new` lacks; `None` if `new` has all of them. Only their
    /// presence counts: one of several users may be removed.
    pub fn guard_lost_in(&self, new: &Self) -> Option<&'static str> {
        let lost = GUARDS.iter().find(|(_, is_in)| is_in(self) && !is_in(new));
        lost.map(|(name, _)| *name)
    }

    fn take(&mut self, reader: &mut Reader<'_>, root: &Node, dir: &Path) {
        let mut sections = reader.section(root);
        if let Some(node) = sections.take("tls_server_config") {
            let mut section = reader.section(node);
            if !section.left.is_empty() {
                self.tls = TlsSettings::take(reader, &mut section, node.at, dir);
            }
            reader.end(section);
        }
        if let Some(node) = sections.take("http_server_config") {
            let mut section = reader.section(node);
            // Only HTTP/1.1 is served, which every HTTP/2 client also supports. So the value is checked but not used.
            reader.parsed(section.take("http2"), switch);
            if let Some(node) = section.take("headers") {
                let mut headers = reader.section(node);
                for (name, allowed) in HEADERS {
                    let value = reader.parsed(headers.take(name), |value| header(value, allowed));
                    self.headers.extend(value.map(|value| (name, value)));
                }
                reader.end(headers);
            }
            reader.end(section);
        }
        if let Some(node) = sections.take("basic_auth_users") {
            for (name, _, node) in reader.entries(node) {
                let hash = reader.parsed(Some(node), hash);
                self.users.extend(hash.map(|hash| (name.clone(), hash)));
            }
        }
        if let Some(node) = sections.take("rate_limit") {
            let mut section = reader.section(node);
            let interval = reader.parsed(section.take("interval"), |text| {
                parse_span(text).ok_or_else(|| format!("expected a duration such as 1s, found `{}`", shown(text)))
            });
            let burst = reader.parsed(section.take("burst"), |text| match text.parse() {
                Ok(burst) if burst > 0 => Ok(burst),
                _ => Err(format!("expected a number from 1, found `{}`", shown(text))),
            });
            let interval = interval.filter(|interval| !interval.is_zero());
            if interval.is_some() && burst.is_none() {
                let what = "burst is missing: the number of answers at once";
                reader.fault(node.at, &node.key, what);
            }
            self.rate_limit = interval.zip(burst);
            reader.end(section);
        }
        reader.end(sections);
    }
}

/// Checks a bcrypt hash. Messages do not show it, since passwords can be guessed from it.
fn hash(text: &str) -> Result<String, String> {
    let parts = bcrypt::HashParts::from_str(text);
    let parts = parts.map_err(|_| "not a bcrypt hash, as `htpasswd -nBC 10 NAME` prints after the colon")?;
    if parts.get_cost() > MAX_COST {
        let why = format!("its cost is above {MAX_COST}: no password could be checked in time");
        return Err(why);
    }
    Ok(text.into())
}

fn header(value: &str, allowed: &[&str]) -> Result<String, String> {
    if !allowed.is_empty() && !allowed.contains(&value) {
        return Err(format!("expected {}, found `{}`", allowed.join(" or "), shown(value)));
    }
    if value.bytes().any(|byte| !(b' '..=b'~').contains(&byte)) {
        return Err("only printable ASCII can be sent".into());
    }
    Ok(value.to_owned())
}

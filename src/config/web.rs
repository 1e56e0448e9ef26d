//! The web config: TLS and basic authentication of what listens, in the format of Prometheus's exporter toolkit.
//!
//! ```text
//! yaml     the text as a tree
//! section  values taken by name; a name that nobody takes is a fault
//! tls      the settings of TLS, and what rustls makes of them
//! ```
//!
//! A key that would mean something else here than in the toolkit, or nothing, is a fault: none is passed over.

mod section;
mod tls;
mod yaml;

use std::collections::HashMap;
use std::path::Path;
use std::str::FromStr as _;
use std::time::Duration;

use self::section::{Found, Reader, Section, switch};
pub use self::tls::TlsSettings;
use self::yaml::Node;
use super::fault::{ConfigError, Faults, shown};
use super::file;
use crate::units::parse_span;

/// The highest cost of a bcrypt hash: the check takes some 4 s, and twice as long for each more.
const MAX_COST: u32 = 16;
/// The headers that may be added to answers, and the values that may be given to them, if not all.
const HEADERS: [(&str, &[&str]); 5] = [
    ("Content-Security-Policy", &[]),
    ("X-Frame-Options", &["deny", "sameorigin"]),
    ("X-Content-Type-Options", &["nosniff"]),
    ("X-XSS-Protection", &[]),
    ("Strict-Transport-Security", &[]),
];

/// The web config.
#[derive(Clone, Debug, Default)]
pub struct WebConfig {
    /// The settings of TLS; `None` where it is not used.
    pub tls: Option<TlsSettings>,
    /// The users that are answered, and their bcrypt hashes; all are answered if it is empty.
    pub users: HashMap<String, String>,
    /// Headers added to answers; names and values are valid.
    pub headers: Vec<(&'static str, String)>,
    /// The time between two answers, and how many may be given at once.
    pub rate_limit: Option<(Duration, u32)>,
}

impl WebConfig {
    /// Reads a file. Paths in it are relative to its directory.
    ///
    /// # Errors
    /// Every fault of the file. Those it names are not read yet.
    pub fn load(file: &Path) -> Result<Self, ConfigError> {
        let text = file::read(file)?.ok_or_else(|| ConfigError::of_file(file, "no such file"))?;
        Self::parse(file, &text)
    }

    /// Understands the text of a file.
    ///
    /// # Errors
    /// Every fault of it.
    pub fn parse(file: &Path, text: &str) -> Result<Self, ConfigError> {
        let mut reader = Reader {
            faults: Faults::new(file, text),
            text,
        };
        let mut config = Self::default();
        match yaml::read(text) {
            Ok(None) => {}
            Ok(Some(root)) => config.take(&mut reader, &root, file.parent().unwrap_or(Path::new(""))),
            Err((at, what)) => reader.fault(at, "", what),
        }
        reader.faults.finish()?;
        Ok(config)
    }

    /// Returns true if somebody or something keeps strangers from reading.
    pub fn is_guarded(&self) -> bool {
        !self.users.is_empty() || self.tls.as_ref().is_some_and(TlsSettings::needs_client)
    }

    fn take(&mut self, reader: &mut Reader<'_>, root: &Node, dir: &Path) {
        let key = String::new();
        let mut sections = reader.section("", &Found { key, node: root });
        if let Some(found) = sections.take("tls_server_config") {
            let mut section = reader.section("tls_server_config.", &found);
            if !section.is_empty() {
                self.tls = TlsSettings::take(reader, &mut section, found.node.at, dir);
            }
            reader.end(section);
        }
        if let Some(found) = sections.take("http_server_config") {
            let mut section = reader.section("http_server_config.", &found);
            // HTTP/1.1 is spoken, which every client of HTTP/2 speaks, too.
            reader.parsed(section.take("http2"), switch);
            if let Some(found) = section.take("headers") {
                let mut headers = reader.section("http_server_config.headers.", &found);
                self.headers = take_headers(reader, &mut headers);
                reader.end(headers);
            }
            reader.end(section);
        }
        if let Some(found) = sections.take("basic_auth_users") {
            for (name, _, node) in reader.entries(&found) {
                let key = format!("basic_auth_users.{name}");
                if let Some(hash) = reader.parsed(Some(Found { key, node }), hash) {
                    self.users.insert(name.clone(), hash);
                }
            }
        }
        if let Some(found) = sections.take("rate_limit") {
            let mut section = reader.section("rate_limit.", &found);
            let interval = reader.parsed(section.take("interval"), |text| {
                parse_span(text).ok_or_else(|| format!("expected a length of time such as 1s, found `{}`", shown(text)))
            });
            let burst = reader.parsed(section.take("burst"), |text| match text.parse() {
                Ok(burst) if burst > 0 => Ok(burst),
                _ => Err(format!("expected a number from 1, found `{}`", shown(text))),
            });
            let interval = interval.filter(|interval| !interval.is_zero());
            if interval.is_some() && burst.is_none() {
                reader.fault(
                    found.node.at,
                    "rate_limit",
                    "burst is missing: the number of answers at once",
                );
            }
            self.rate_limit = interval.zip(burst);
            reader.end(section);
        }
        reader.end(sections);
    }
}

/// Checks a bcrypt hash. It is not shown: who sees it can guess passwords.
fn hash(text: &str) -> Result<String, String> {
    let parts = bcrypt::HashParts::from_str(text);
    let parts = parts.map_err(|_| "not a bcrypt hash, as `htpasswd -nBC 10 NAME` prints after the colon")?;
    if parts.get_cost() > MAX_COST {
        return Err(format!(
            "its cost is above {MAX_COST}: no password could be checked in time"
        ));
    }
    Ok(text.into())
}

fn take_headers(reader: &mut Reader<'_>, section: &mut Section<'_>) -> Vec<(&'static str, String)> {
    let mut headers = Vec::new();
    for (name, allowed) in HEADERS {
        let value = reader.parsed(section.take(name), |value| {
            if !allowed.is_empty() && !allowed.contains(&value) {
                return Err(format!("expected {}, found `{}`", allowed.join(" or "), shown(value)));
            }
            if value.bytes().any(|byte| !(b' '..=b'~').contains(&byte)) {
                return Err("only printable ASCII can be sent".into());
            }
            Ok(value.to_owned())
        });
        headers.extend(value.map(|value| (name, value)));
    }
    headers
}

//! The settings of pushes, from the environment variables that OpenTelemetry defines.

use std::path::PathBuf;
use std::str::FromStr as _;
use std::time::Duration;

use hyper::Uri;
use hyper::header::{HeaderMap, HeaderName, HeaderValue};

/// The path of metrics at a collector.
const PATH: &str = "/v1/metrics";

/// The settings of pushes.
#[derive(Debug)]
pub(super) struct Settings {
    /// The address of the metrics; its host is there.
    pub(super) url: Uri,
    /// Headers of each request, tokens among them.
    pub(super) headers: HeaderMap,
    /// Time between two pushes.
    pub(super) interval: Duration,
    /// Time for one request.
    pub(super) timeout: Duration,
    /// The certificates to trust, where they are not those of the system.
    pub(super) certificate: Option<PathBuf>,
    /// The attributes of what is measured.
    pub(super) resource: Vec<(String, String)>,
}

impl Settings {
    /// Reads the settings of pushes to a collector. `variable` returns a variable of the environment.
    ///
    /// # Errors
    /// The first that cannot be understood or is not known here.
    pub(super) fn new(url: &str, variable: impl Fn(&str) -> Option<String>) -> Result<Self, String> {
        // One for metrics goes before one for all signals.
        let of_exporter = |name: &str| {
            let both = [
                format!("OTEL_EXPORTER_OTLP_METRICS_{name}"),
                format!("OTEL_EXPORTER_OTLP_{name}"),
            ];
            both.into_iter().find_map(|name| {
                variable(&name)
                    .filter(|value| !value.is_empty())
                    .map(|value| (name, value))
            })
        };
        for (name, spoken) in [
            ("PROTOCOL", "http/protobuf"),
            ("COMPRESSION", "none"),
            ("CLIENT_KEY", ""),
            ("CLIENT_CERTIFICATE", ""),
        ] {
            if let Some((name, value)) = of_exporter(name)
                && value != spoken
            {
                let only = if spoken.is_empty() { "nothing" } else { spoken };
                return Err(format!("{name}: only {only} is supported"));
            }
        }
        let milliseconds = |found: Option<(String, String)>, default| {
            let Some((name, value)) = found else {
                return Ok(default);
            };
            match value.parse() {
                Ok(time @ 1..=86_400_000) => Ok(Duration::from_millis(time)),
                _ => Err(format!("{name}: expected milliseconds from 1 to 86400000")),
            }
        };
        let interval = "OTEL_METRIC_EXPORT_INTERVAL";
        let interval = variable(interval).map(|value| (interval.to_owned(), value));
        let mut headers = HeaderMap::new();
        if let Some((variable, value)) = of_exporter("HEADERS") {
            for (name, value) in pairs(&variable, &value)? {
                // Tokens: never shown, not even where they are wrong.
                let wrong = || format!("{variable}: expected headers as name=value,name=value");
                let name = HeaderName::from_str(&name).map_err(|_| wrong())?;
                let mut value = HeaderValue::from_str(&value).map_err(|_| wrong())?;
                value.set_sensitive(true);
                headers.insert(name, value);
            }
        }
        let mut resource = Vec::new();
        let attributes = "OTEL_RESOURCE_ATTRIBUTES";
        if let Some(value) = variable(attributes) {
            resource = pairs(attributes, &value)?;
        }
        if let Some(name) = variable("OTEL_SERVICE_NAME").filter(|name| !name.is_empty()) {
            resource.retain(|(key, _)| key != "service.name");
            resource.push(("service.name".into(), name));
        }
        Ok(Self {
            url: address(url)?,
            headers,
            interval: milliseconds(interval, Duration::from_secs(60))?,
            timeout: milliseconds(of_exporter("TIMEOUT"), Duration::from_secs(10))?,
            certificate: of_exporter("CERTIFICATE").map(|(_, path)| path.into()),
            resource,
        })
    }
}

/// Understands the address of a collector, to which the path of metrics is added if it is not there.
fn address(text: &str) -> Result<Uri, String> {
    let wrong = "expected an address such as http://localhost:4318";
    let uri = Uri::from_str(text).map_err(|_| wrong)?;
    let host = uri.authority().ok_or(wrong)?;
    if host.as_str().contains('@') {
        return Err(
            "name no user and password in it, which everyone can see: OTEL_EXPORTER_OTLP_HEADERS has them".into(),
        );
    }
    let Some(scheme @ ("http" | "https")) = uri.scheme_str() else {
        return Err(wrong.into());
    };
    let path = uri.path().trim_end_matches('/');
    let more = if path.ends_with(PATH) { "" } else { PATH };
    let built = Uri::builder()
        .scheme(scheme)
        .authority(host.as_str())
        .path_and_query(format!("{path}{more}"));
    built.build().map_err(|_| wrong.into())
}

/// Understands `key=value,key=value`, the values with `%` escapes.
fn pairs(variable: &str, text: &str) -> Result<Vec<(String, String)>, String> {
    let parts = text.split(',').filter(|part| !part.trim().is_empty());
    let pairs = parts.map(|part| {
        let (key, value) = part.split_once('=')?;
        Some((key.trim().to_owned(), unescape(value.trim())?)).filter(|(key, _)| !key.is_empty())
    });
    pairs
        .collect::<Option<_>>()
        .ok_or_else(|| format!("{variable}: expected key=value,key=value"))
}

fn unescape(text: &str) -> Option<String> {
    let mut parts = text.split('%');
    let mut bytes = parts.next()?.as_bytes().to_vec();
    for part in parts {
        let digits = part
            .get(..2)
            .filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        bytes.extend_from_slice(&part.as_bytes()[2..]);
    }
    String::from_utf8(bytes).ok()
}

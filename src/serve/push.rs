//! Pushes metrics to a collector of OpenTelemetry. A failed push is not kept: the next one has newer figures, and counters
//! continue.

use std::convert::Infallible;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr as _;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use hyper::{StatusCode, Uri};
use tokio::time::MissedTickBehavior;

use super::page::Page;
use super::{lock, otlp};
use crate::http::{Client, Limits};

/// The waits before the retries of a push.
const WAITS: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(5)];
/// Maximum wait if the collector names one.
const MAX_WAIT: Duration = Duration::from_secs(30);
/// Interval of checks for the first snapshot.
const FIRST_CHECK: Duration = Duration::from_millis(100);

/// The path of metrics at a collector.
const PATH: &str = "/v1/metrics";

/// A collector to push to, and the settings from the environment variables that OpenTelemetry defines.
pub(crate) struct Push {
    client: Client,
    /// The address of the metrics.
    url: Uri,
    /// Headers of each request. They may contain tokens.
    headers: HeaderMap,
    interval: Duration,
    /// The timeout of one request.
    timeout: Duration,
    /// The attributes of this machine.
    resource: Vec<(String, String)>,
}

/// The reason why a push failed.
struct Failed {
    /// Safe to print.
    what: String,
    /// The time after which a retry may help, if the collector named one; `None` if a retry is useless.
    retry: Option<Duration>,
}

/// Returns the failure of something that may succeed the next time.
fn passing(error: impl fmt::Display) -> Failed {
    let what = crate::text::safe(error.to_string().as_bytes()).into_owned();
    let retry = Some(Duration::ZERO);
    Failed { what, retry }
}

/// Returns an environment variable and its name, if it is not empty.
fn variable(name: &str) -> Option<(String, String)> {
    let value = std::env::var(name).ok().filter(|value| !value.is_empty())?;
    Some((name.to_owned(), value))
}

/// Returns the variable of that name for metrics, or else the one for all signals.
fn of_exporter(name: &str) -> Option<(String, String)> {
    let for_metrics = variable(&format!("OTEL_EXPORTER_OTLP_METRICS_{name}"));
    for_metrics.or_else(|| variable(&format!("OTEL_EXPORTER_OTLP_{name}")))
}

impl Push {
    /// Reads the settings from the environment, and the trusted certificates if the URL is `https`.
    ///
    /// # Errors
    /// The first setting, or the address, that cannot be used; or the certificates cannot be read.
    pub(crate) fn new(url: &str) -> Result<Self, String> {
        for (name, supported) in [
            ("PROTOCOL", "http/protobuf"),
            ("COMPRESSION", "none"),
            ("CLIENT_KEY", ""),
            ("CLIENT_CERTIFICATE", ""),
        ] {
            if let Some((name, _)) = of_exporter(name).filter(|(_, value)| value != supported) {
                let only = if supported.is_empty() { "nothing" } else { supported };
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
        let mut headers = HeaderMap::new();
        if let Some((variable, value)) = of_exporter("HEADERS") {
            for (name, value) in pairs(&variable, &value)? {
                // They may be tokens: never shown, even if they are invalid.
                let wrong = || format!("{variable}: expected headers as name=value,name=value");
                let name = HeaderName::from_str(&name).map_err(|_| wrong())?;
                let mut value = HeaderValue::from_str(&value).map_err(|_| wrong())?;
                value.set_sensitive(true);
                headers.insert(name, value);
            }
        }
        let mut resource = Vec::new();
        if let Some((name, value)) = variable("OTEL_RESOURCE_ATTRIBUTES") {
            resource = pairs(&name, &value)?;
        }
        if let Some((_, name)) = variable("OTEL_SERVICE_NAME") {
            resource.retain(|(key, _)| key != "service.name");
            resource.push(("service.name".into(), name));
        }
        let url = address(url)?;
        let interval = milliseconds(variable("OTEL_METRIC_EXPORT_INTERVAL"), Duration::from_secs(60))?;
        let timeout = milliseconds(of_exporter("TIMEOUT"), Duration::from_secs(10))?;
        let certificate = of_exporter("CERTIFICATE").map(|(_, path)| PathBuf::from(path));
        Ok(Self {
            client: Client::new(&url, certificate.as_deref(), "OTEL_EXPORTER_OTLP_CERTIFICATE")?,
            url,
            headers,
            interval,
            timeout,
            resource,
        })
    }

    /// Returns a warning if tokens cross the network unencrypted.
    pub(crate) fn warning(&self) -> Option<String> {
        (!self.headers.is_empty() && self.client.is_exposed()).then(|| {
            format!(
                "--otlp names no https address: the headers of OTEL_EXPORTER_OTLP_HEADERS, with any token in them, and the metrics \
                 cross the network to {} in plain text",
                self.client.authority
            )
        })
    }

    /// Pushes at intervals. Passes a failure to `complain` once, until a push succeeds or fails in another way.
    pub(crate) async fn keep_pushing(&self, page: &Arc<Page>, complain: fn(&str)) -> Infallible {
        let mut turns = tokio::time::interval(self.interval);
        turns.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut reported = None;
        loop {
            turns.tick().await;
            let Some(body) = self.body(page).await else {
                tokio::time::sleep(FIRST_CHECK).await;
                turns.reset_immediately();
                continue;
            };
            let sent = self.send(body).await;
            lock(&page.exporter).count_push(sent.is_ok());
            let failed = sent.err().map(|failed| failed.what);
            if let Some(what) = failed.as_ref().filter(|_| failed != reported) {
                complain(&format!("cannot push to {}: {what}", self.url));
            }
            reported = failed;
        }
    }

    /// Writes the last snapshot on a thread of its own; `None` before the first.
    async fn body(&self, page: &Arc<Page>) -> Option<Bytes> {
        let (page, mut resource) = (Arc::clone(page), self.resource.clone());
        let written = tokio::task::spawn_blocking(move || {
            let (host, families, time) = page.families()?;
            for (key, value) in [
                ("service.name", env!("CARGO_PKG_NAME").to_owned()),
                ("service.version", env!("CARGO_PKG_VERSION").to_owned()),
                ("host.name", host),
                ("os.type", "linux".to_owned()),
            ] {
                if !resource.iter().any(|(named, _)| named == key) {
                    resource.push((key.to_owned(), value));
                }
            }
            Some(Bytes::from(otlp::write(&families, &resource, time)))
        });
        written.await.ok().flatten()
    }

    /// Sends with retries.
    async fn send(&self, body: Bytes) -> Result<(), Failed> {
        for wait in WAITS {
            match self.send_once(body.clone()).await {
                Err(Failed { retry: Some(after), .. }) => tokio::time::sleep(wait.max(after).min(MAX_WAIT)).await,
                other => return other,
            }
        }
        self.send_once(body).await
    }

    async fn send_once(&self, body: Bytes) -> Result<(), Failed> {
        let request = self.client.post(self.url.path());
        let request = request
            .header(CONTENT_TYPE, "application/x-protobuf")
            .body(Full::new(body));
        let mut request = request.map_err(passing)?;
        for (name, value) in &self.headers {
            request.headers_mut().insert(name, value.clone());
        }
        let limits = Limits {
            connect: self.timeout,
            total: self.timeout,
            body: None,
        };
        let answer = self.client.send(request, &limits).await.map_err(passing)?;
        let status = answer.status();
        if status.is_success() {
            return Ok(());
        }
        let may_retry = matches!(
            status,
            StatusCode::TOO_MANY_REQUESTS
                | StatusCode::BAD_GATEWAY
                | StatusCode::SERVICE_UNAVAILABLE
                | StatusCode::GATEWAY_TIMEOUT
        );
        let after = answer.headers().get(RETRY_AFTER);
        let after = after.and_then(|seconds| seconds.to_str().ok()?.parse().ok());
        Err(Failed {
            what: format!("it answers {status}"),
            retry: may_retry.then(|| Duration::from_secs(after.unwrap_or(0))),
        })
    }
}

/// Parses the address of a collector, and adds the path of metrics if it is missing.
fn address(text: &str) -> Result<Uri, String> {
    let wrong = "expected an address such as http://localhost:4318";
    let uri = Uri::from_str(text).map_err(|_| wrong)?;
    let host = uri.authority().ok_or(wrong)?;
    if host.as_str().contains('@') {
        return Err(
            "it must not contain a user and password, because everyone can see them: use OTEL_EXPORTER_OTLP_HEADERS"
                .into(),
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

/// Parses `key=value,key=value`. The values have `%` escapes.
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

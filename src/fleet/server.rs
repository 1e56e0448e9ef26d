//! One query to a Prometheus, over HTTP/1.1 and within bounds of time and size.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::Full;
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue, LOCATION};
use hyper::{Response, StatusCode, Uri};

use super::answer::{Answer, AnswerError};
use crate::http::{Client, HttpError, Limits};
use crate::text::{safe, safe_prefix};

/// An answer has one figure of up to 200 000 groups. Prometheus gives up after 2 minutes, but nobody looks at a screen for
/// so long.
const LIMITS: Limits = Limits {
    connect: Duration::from_secs(5),
    total: Duration::from_secs(30),
    body: Some(MAX_ANSWER),
};
const MAX_ANSWER: u64 = 64 << 20;

/// A Prometheus, or a server with its HTTP API.
#[derive(Clone, Debug)]
pub(crate) struct Server {
    client: Arc<Client>,
    path: String,
    authorization: Option<HeaderValue>,
}

impl Server {
    /// Parses a URL. Trusts the certificates in the file, or else the system's.
    ///
    /// # Errors
    /// The reason why it cannot be queried.
    pub(crate) fn parse(url: &str, ca_file: Option<&Path>, authorization: Option<HeaderValue>) -> Result<Self, String> {
        let uri: Uri = url.parse().map_err(|_| "is no URL such as http://127.0.0.1:9090")?;
        if uri.authority().ok_or("names no host")?.as_str().contains('@') {
            let why = "must hold no user and password, which all on this machine can see: --user and --password-file name them";
            return Err(why.into());
        }
        if uri.query().is_some() {
            return Err("must end with the path".into());
        }
        Ok(Self {
            client: Arc::new(Client::new(&uri, ca_file, "--ca-file")?),
            path: uri.path().trim_end_matches('/').to_owned(),
            authorization,
        })
    }

    /// Returns true if others on the network can read the token or password that it gets.
    pub(crate) fn is_token_exposed(&self) -> bool {
        self.authorization.is_some() && self.client.is_exposed()
    }

    /// Returns its name for the screen.
    pub(crate) fn name(&self) -> &str {
        &self.client.authority
    }

    /// Sends a query with these form fields. Returns the body of the answer.
    ///
    /// # Errors
    /// The reason why there is none, safe to print. It completes a sentence that begins with the server's name.
    pub(super) async fn ask(&self, api: &str, form: &[(&str, &str)]) -> Result<Vec<u8>, String> {
        let fields = form.iter().map(|(name, value)| format!("{name}={}", encoded(value)));
        let mut request = self
            .client
            .post(&format!("{}/api/v1/{api}", self.path))
            .header(ACCEPT, "application/json")
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded");
        if let Some(authorization) = &self.authorization {
            request = request.header(AUTHORIZATION, authorization);
        }
        let request = request.body(Full::from(fields.collect::<Vec<_>>().join("&")));
        let request = request.map_err(|error| format!("cannot be asked: {error}"))?;
        match self.client.send(request, &LIMITS).await {
            Ok(response) => body(response),
            Err(error) => Err(match error {
                HttpError::Unreachable => "cannot be reached: timed out".into(),
                HttpError::TimedOut => format!("does not answer within {} s", LIMITS.total.as_secs()),
                HttpError::Connection(error) => format!("does not answer: {}", reason(&error)),
                HttpError::Broken(error) => format!("broke off: {}", safe(error.to_string().as_bytes())),
                HttpError::TooLong => format!(
                    "answers more than {} MB: --match chooses fewer series",
                    MAX_ANSWER >> 20
                ),
            }),
        }
    }
}

fn body(response: Response<Vec<u8>>) -> Result<Vec<u8>, String> {
    let status = response.status();
    if matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
        return Err(format!(
            "denies it ({}): --token-file, or --user and --password-file, say who asks",
            status.as_u16()
        ));
    }
    if status.is_redirection() {
        let to = response.headers().get(LOCATION);
        let to = to.map_or(&b"elsewhere"[..], HeaderValue::as_bytes);
        return Err(format!("leads to {}: name that", safe_prefix(to, 80)));
    }
    let bytes = response.into_body();
    if status.is_success() {
        return Ok(bytes);
    }
    Err(match Answer::read(&bytes) {
        Err(AnswerError::Refused(why)) => format!("refuses: {why}"),
        _ => format!("answers {}", safe(status.to_string().as_bytes())),
    })
}

/// Encodes a form value.
fn encoded(value: &str) -> String {
    let byte = |byte: u8| match byte {
        b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b'-' | b'.' | b'_' => char::from(byte).to_string(),
        other => format!("%{other:02X}"),
    };
    value.bytes().map(byte).collect()
}

/// Returns the text of an error without "(os error N)".
fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    let reason = text.split(" (os error").next().unwrap_or_default().to_lowercase();
    safe_prefix(reason.as_bytes(), 80).into_owned()
}

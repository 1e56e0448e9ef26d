//! A question over HTTP/1.1, plain or in TLS, on a connection of its own, within bounds of time and size.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt as _, Full};
use hyper::body::{Body as _, Bytes, Incoming};
use hyper::client::conn::http1::handshake;
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST, HeaderValue, USER_AGENT};
use hyper::{Request, Response, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use tokio::time::timeout;

use crate::run::connection::Peer;
use crate::source::prometheus::{Answer, AnswerError};
use crate::text;

/// Time to connect.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Time for a whole answer: Prometheus gives up after two minutes, and nobody looks at a screen for so long.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum size of an answer: a figure of 200 000 groups.
const MAX_ANSWER: u64 = 64 << 20;

/// A Prometheus.
#[derive(Clone, Debug)]
pub struct Server {
    peer: Arc<Peer>,
    /// As it stands in the URL.
    authority: String,
    path: String,
    authorization: Option<HeaderValue>,
}

impl Server {
    /// Understands a URL. The certificates in the file are trusted, or else those of the system.
    ///
    /// # Errors
    /// It is none that can be asked; says why.
    pub(crate) fn parse(url: &str, ca_file: Option<&Path>, authorization: Option<HeaderValue>) -> Result<Self, String> {
        let uri: Uri = url.parse().map_err(|_| "is no URL such as http://127.0.0.1:9090")?;
        let authority = uri.authority().ok_or("names no host")?;
        if authority.as_str().contains('@') {
            return Err(
                "must hold no user and password, which all on this machine can see: --user and --password-file name \
                        them"
                    .into(),
            );
        }
        if uri.query().is_some() {
            return Err("must end with the path".into());
        }
        Ok(Self {
            peer: Arc::new(Peer::new(&uri, ca_file, "--ca-file")?),
            authority: authority.as_str().to_owned(),
            path: uri.path().trim_end_matches('/').to_owned(),
            authorization,
        })
    }

    /// Returns its name for the screen.
    pub(crate) fn name(&self) -> &str {
        &self.authority
    }

    /// Asks, with this form of names and values; returns the body of the answer.
    ///
    /// # Errors
    /// There is none; says why, safe to print, as it goes on after the server's name.
    pub(super) async fn ask(&self, api: &str, form: &[(&str, &str)]) -> Result<Vec<u8>, String> {
        match timeout(ANSWER_TIMEOUT, self.exchange(api, form)).await {
            Ok(answer) => answer,
            Err(_) => Err(format!("does not answer within {} s", ANSWER_TIMEOUT.as_secs())),
        }
    }

    async fn exchange(&self, api: &str, form: &[(&str, &str)]) -> Result<Vec<u8>, String> {
        let stream = timeout(CONNECT_TIMEOUT, self.peer.connect())
            .await
            .map_err(|_| "cannot be reached: timed out")?
            .map_err(|error| format!("does not answer: {}", reason(&error)))?;
        let broken = |error: hyper::Error| format!("broke off: {}", text::safe(error.to_string().as_bytes()));
        let (mut sender, connection) = handshake(TokioIo::new(stream)).await.map_err(broken)?;
        // Ends with the exchange.
        let connection = tokio::spawn(connection);
        let answer = async {
            let response = sender.send_request(self.request(api, form)?).await.map_err(broken)?;
            read(response).await
        };
        let answer = answer.await;
        connection.abort();
        answer
    }

    fn request(&self, api: &str, form: &[(&str, &str)]) -> Result<Request<Full<Bytes>>, String> {
        let form: Vec<String> = form
            .iter()
            .map(|(name, value)| format!("{name}={}", encoded(value)))
            .collect();
        let mut request = Request::post(format!("{}/api/v1/{api}", self.path))
            .header(HOST, &self.authority)
            .header(ACCEPT, "application/json")
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
            .header(USER_AGENT, concat!("zmtop/", env!("CARGO_PKG_VERSION")));
        if let Some(authorization) = &self.authorization {
            request = request.header(AUTHORIZATION, authorization);
        }
        request
            .body(Full::from(form.join("&")))
            .map_err(|error| format!("cannot be asked: {error}"))
    }
}

/// Reads a response.
async fn read(response: Response<Incoming>) -> Result<Vec<u8>, String> {
    let status = response.status();
    match status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
            return Err(format!(
                "denies it ({}): --token-file, or --user and --password-file, say who asks",
                status.as_u16()
            ));
        }
        status if status.is_redirection() => {
            let to = response
                .headers()
                .get("location")
                .map_or(&b"elsewhere"[..], HeaderValue::as_bytes);
            return Err(format!("leads to {}: name that", text::safe_prefix(to, 80)));
        }
        _ => {}
    }
    let too_long = || {
        format!(
            "answers more than {} MB: --match chooses fewer series",
            MAX_ANSWER >> 20
        )
    };
    let mut body = response.into_body();
    if body.size_hint().lower() > MAX_ANSWER {
        return Err(too_long());
    }
    let mut bytes = Vec::with_capacity(body.size_hint().lower() as usize);
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| format!("broke off: {}", text::safe(error.to_string().as_bytes())))?;
        if let Ok(data) = frame.into_data() {
            if bytes.len() as u64 + data.len() as u64 > MAX_ANSWER {
                return Err(too_long());
            }
            bytes.extend_from_slice(&data);
        }
    }
    if status.is_success() {
        return Ok(bytes);
    }
    Err(match Answer::read(&bytes) {
        Err(AnswerError::Refused(why)) => format!("refuses: {why}"),
        _ => format!("answers {}", text::safe(status.to_string().as_bytes())),
    })
}

/// Encodes a value of a form.
fn encoded(value: &str) -> String {
    let byte = |byte: u8| match byte {
        b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b'-' | b'.' | b'_' => char::from(byte).to_string(),
        other => format!("%{other:02X}"),
    };
    value.bytes().map(byte).collect()
}

/// Returns the reason alone, without the "(os error N)".
fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    let reason = text.split(" (os error").next().unwrap_or_default().to_lowercase();
    text::safe_prefix(reason.as_bytes(), 80).into_owned()
}

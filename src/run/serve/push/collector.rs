//! Sends one request to a collector.

use std::convert::Infallible;
use std::fmt;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HOST, HeaderValue, RETRY_AFTER, USER_AGENT};
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;

use super::settings::Settings;
use crate::run::connection::Peer;

/// A collector of metrics.
pub(super) struct Collector {
    settings: Settings,
    peer: Peer,
}

/// The reason why a push failed.
#[derive(Debug)]
pub(super) struct Failed {
    /// Safe to print.
    pub(super) what: String,
    /// The time after which it may be tried again, where the collector named one; `None` if that is of no use.
    pub(super) retry: Option<Duration>,
}

/// Returns the failure of something that may work the next time.
fn passing(error: impl fmt::Display) -> Failed {
    let what = crate::text::safe(error.to_string().as_bytes()).into_owned();
    let retry = Some(Duration::ZERO);
    Failed { what, retry }
}

impl Collector {
    /// Reads the certificates that are trusted, where TLS is asked for.
    ///
    /// # Errors
    /// They cannot be read.
    pub(super) fn new(settings: Settings) -> Result<Self, String> {
        let peer = Peer::new(
            &settings.url,
            settings.certificate.as_deref(),
            "OTEL_EXPORTER_OTLP_CERTIFICATE",
        )?;
        Ok(Self { settings, peer })
    }

    /// Returns the settings it was made of.
    pub(super) const fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Sends a request for export, within the time for it.
    pub(super) async fn send(&self, body: Bytes) -> Result<(), Failed> {
        let answer = tokio::time::timeout(self.settings.timeout, self.exchange(body)).await;
        let answer = answer.map_err(|_| passing("it does not answer in time"))??;
        let status = answer.status();
        if status.is_success() {
            return Ok(());
        }
        let seconds = answer
            .headers()
            .get(RETRY_AFTER)
            .and_then(|value| value.to_str().ok()?.parse().ok());
        let is_passing = [
            StatusCode::TOO_MANY_REQUESTS,
            StatusCode::BAD_GATEWAY,
            StatusCode::SERVICE_UNAVAILABLE,
            StatusCode::GATEWAY_TIMEOUT,
        ];
        Err(Failed {
            what: format!("it answers {status}"),
            retry: is_passing
                .contains(&status)
                .then(|| Duration::from_secs(seconds.unwrap_or(0))),
        })
    }

    async fn exchange(&self, body: Bytes) -> Result<Response<Incoming>, Failed> {
        let stream = self.peer.connect().await.map_err(passing)?;
        let url = &self.settings.url;
        let mut request = Request::post(url.path()).body(Full::new(body)).map_err(passing)?;
        let headers = request.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-protobuf"));
        headers.insert(
            USER_AGENT,
            HeaderValue::from_static(concat!("zmtop/", env!("CARGO_PKG_VERSION"))),
        );
        let host = url.authority().map_or("", |host| host.as_str());
        headers.insert(HOST, HeaderValue::from_str(host).map_err(passing)?);
        for (name, value) in &self.settings.headers {
            headers.insert(name, value.clone());
        }
        let io = TokioIo::new(stream);
        let (mut sender, connection) = hyper::client::conn::http1::handshake(io).await.map_err(passing)?;
        let driven = async {
            // Its end ends the request, too, which says why.
            let _ = connection.await;
            std::future::pending::<Infallible>().await
        };
        tokio::select! {
            answer = sender.send_request(request) => answer.map_err(passing),
            never = driven => match never {},
        }
    }
}

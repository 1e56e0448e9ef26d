//! Sends one request to a collector, over HTTP/1.1, plain or in TLS.

use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HOST, HeaderValue, RETRY_AFTER, USER_AGENT};
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::settings::Settings;

/// A collector of metrics.
pub(super) struct Collector {
    settings: Settings,
    host: String,
    port: u16,
    tls: Option<(TlsConnector, ServerName<'static>)>,
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
        let host = settings.url.host().unwrap_or_default();
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        let is_tls = settings.url.scheme_str() == Some("https");
        let tls = if is_tls {
            let name = ServerName::try_from(host.clone()).map_err(|error| error.to_string())?;
            Some((TlsConnector::from(trusting(&settings)?), name))
        } else {
            None
        };
        let port = settings.url.port_u16().unwrap_or(if is_tls { 443 } else { 80 });
        Ok(Self {
            settings,
            host,
            port,
            tls,
        })
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
        let stream = TcpStream::connect((self.host.as_str(), self.port))
            .await
            .map_err(passing)?;
        match &self.tls {
            None => self.request(stream, body).await,
            Some((connector, name)) => {
                let stream = connector.connect(name.clone(), stream).await.map_err(passing)?;
                self.request(stream, body).await
            }
        }
    }

    async fn request<S>(&self, stream: S, body: Bytes) -> Result<Response<Incoming>, Failed>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
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

/// Returns what trusts the certificates that are named, or those of the system.
fn trusting(settings: &Settings) -> Result<Arc<ClientConfig>, String> {
    let mut roots = RootCertStore::empty();
    let found = match &settings.certificate {
        Some(path) => {
            let found = CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
            found.map_err(|error| format!("{}: {error}", crate::config::fault::shown_path(path)))?
        }
        None => rustls_native_certs::load_native_certs().certs,
    };
    roots.add_parsable_certificates(found);
    if roots.is_empty() {
        return Err("no certificates to trust: name a file of them in OTEL_EXPORTER_OTLP_CERTIFICATE".into());
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let builder = builder.map_err(|error| error.to_string())?;
    Ok(Arc::new(builder.with_root_certificates(roots).with_no_client_auth()))
}

//! An HTTP/1.1 client, plain or in TLS: one request per connection. The fleet queries a Prometheus with it, and the exporter
//! pushes to a collector.

use std::convert::Infallible;
use std::fmt;
use std::io;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt as _, Full};
use hyper::body::{Body as _, Bytes, Incoming};
use hyper::client::conn::http1::handshake;
use hyper::header::{HOST, USER_AGENT};
use hyper::http::request::Builder;
use hyper::{Request, Response, Uri};
use hyper_util::rt::TokioIo;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use crate::text::safe;

/// A server and how to reach it.
pub(crate) struct Client {
    /// The host and port as written in the URL.
    pub(crate) authority: String,
    host: String,
    port: u16,
    tls: Option<(TlsConnector, ServerName<'static>)>,
}

/// The limits of a request.
pub(crate) struct Limits {
    /// Time to connect.
    pub(crate) connect: Duration,
    /// Time for everything, the body of the response included.
    pub(crate) total: Duration,
    /// Maximum size of the body of the response; `None` leaves it unread.
    pub(crate) body: Option<u64>,
}

/// The reason why a request got no response.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HttpError {
    #[error("it cannot be reached in time")]
    Unreachable,
    #[error("it does not answer in time")]
    TimedOut,
    /// The kernel's reason, or TLS's, such as an untrusted certificate.
    #[error(transparent)]
    Connection(#[from] io::Error),
    #[error(transparent)]
    Broken(#[from] hyper::Error),
    #[error("its answer is too long")]
    TooLong,
}

trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send> Stream for T {}

impl Client {
    /// Creates a client for the server of a URL. For `https`, reads the trusted certificates from the file, or else the
    /// system's. `option` is the option that names the file.
    ///
    /// # Errors
    /// The URL is neither `http` nor `https`, or names no host; or the certificates cannot be read.
    pub(crate) fn new(url: &Uri, certificates: Option<&Path>, option: &str) -> Result<Self, String> {
        let authority = url.authority().ok_or("names no host")?;
        let host = authority.host().trim_matches(['[', ']']).to_owned();
        let tls = match url.scheme_str() {
            Some("http") => None,
            Some("https") => {
                let name = ServerName::try_from(host.clone()).map_err(|error| error.to_string())?;
                Some((TlsConnector::from(trusting(certificates, option)?), name))
            }
            _ => return Err("begins with neither http:// nor https://".into()),
        };
        Ok(Self {
            authority: authority.as_str().to_owned(),
            host,
            port: url.port_u16().unwrap_or(if tls.is_some() { 443 } else { 80 }),
            tls,
        })
    }

    /// Returns true if others on the network can read what is sent: the connection is unencrypted and leaves this
    /// machine.
    pub(crate) fn is_exposed(&self) -> bool {
        self.tls.is_none() && !is_loopback(&self.host)
    }

    /// Starts a POST request to a path of the server.
    pub(crate) fn post(&self, path: &str) -> Builder {
        Request::post(path)
            .header(HOST, &self.authority)
            .header(USER_AGENT, concat!("zmtop/", env!("CARGO_PKG_VERSION")))
    }

    /// Connects, sends the request and returns the response. The connection ends with it, or when the future is dropped.
    pub(crate) async fn send(
        &self,
        request: Request<Full<Bytes>>,
        limits: &Limits,
    ) -> Result<Response<Vec<u8>>, HttpError> {
        let sent = async {
            let stream = timeout(limits.connect, self.connect()).await;
            let stream = stream.map_err(|_| HttpError::Unreachable)??;
            let (mut sender, connection) = handshake(TokioIo::new(stream)).await?;
            let answer = async {
                let (head, body) = sender.send_request(request).await?.into_parts();
                let body = match limits.body {
                    Some(max) => read(body, max).await?,
                    None => Vec::new(),
                };
                Ok(Response::from_parts(head, body))
            };
            let driven = async {
                // If the connection fails, the request fails too, and returns the reason.
                let _ = connection.await;
                std::future::pending::<Infallible>().await
            };
            tokio::select! {
                answer = answer => answer,
                never = driven => match never {},
            }
        };
        timeout(limits.total, sent).await.map_err(|_| HttpError::TimedOut)?
    }

    async fn connect(&self) -> io::Result<Box<dyn Stream>> {
        let stream = TcpStream::connect((&*self.host, self.port)).await?;
        Ok(match &self.tls {
            None => Box::new(stream),
            Some((connector, name)) => Box::new(connector.connect(name.clone(), stream).await?),
        })
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.authority)
    }
}

async fn read(mut body: Incoming, max: u64) -> Result<Vec<u8>, HttpError> {
    let announced = body.size_hint().lower();
    if announced > max {
        return Err(HttpError::TooLong);
    }
    let mut bytes = Vec::with_capacity(announced as usize);
    while let Some(frame) = body.frame().await {
        if let Ok(data) = frame?.into_data() {
            if bytes.len() as u64 + data.len() as u64 > max {
                return Err(HttpError::TooLong);
            }
            bytes.extend_from_slice(&data);
        }
    }
    Ok(bytes)
}

/// Returns true if a host is this machine, by its address or by a reserved name (RFC 6761).
fn is_loopback(host: &str) -> bool {
    let name = host.trim_end_matches('.').to_ascii_lowercase();
    match name.parse::<IpAddr>() {
        Ok(address) => address.to_canonical().is_loopback(),
        Err(_) => name == "localhost" || name.ends_with(".localhost"),
    }
}

/// Returns a TLS configuration that trusts the certificates in the file, or the system's.
fn trusting(certificates: Option<&Path>, option: &str) -> Result<Arc<ClientConfig>, String> {
    let mut roots = RootCertStore::empty();
    let found = match certificates {
        Some(path) => {
            let found = CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
            found.map_err(|error| format!("{}: {error}", safe(path.as_os_str().as_encoded_bytes())))?
        }
        None => rustls_native_certs::load_native_certs().certs,
    };
    roots.add_parsable_certificates(found);
    if roots.is_empty() {
        return Err(format!("no certificates to trust: name a file of them in {option}"));
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let builder = builder.map_err(|error| error.to_string())?;
    Ok(Arc::new(builder.with_root_certificates(roots).with_no_client_auth()))
}

//! Connects to a server that is asked over HTTP/1.1, plain or in TLS.

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;

use hyper::Uri;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// A server, and how it is reached.
pub(super) struct Peer {
    host: String,
    port: u16,
    tls: Option<(TlsConnector, ServerName<'static>)>,
}

/// A connection, whatever it is made of.
pub(super) trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send> Stream for T {}

impl Peer {
    /// Creates the server of a URL; for `https` it reads the certificates that are trusted, those in the file or else those
    /// of the system. `option` is what names the file.
    ///
    /// # Errors
    /// The URL is neither `http` nor `https`, or names no host; or the certificates cannot be read.
    pub(super) fn new(url: &Uri, certificates: Option<&Path>, option: &str) -> Result<Self, String> {
        let host = url.host().ok_or("names no host")?;
        let host = host.trim_matches(['[', ']']).to_owned();
        let tls = match url.scheme_str() {
            Some("http") => None,
            Some("https") => {
                let name = ServerName::try_from(host.clone()).map_err(|error| error.to_string())?;
                Some((TlsConnector::from(trusting(certificates, option)?), name))
            }
            _ => return Err("begins with neither http:// nor https://".into()),
        };
        let port = url.port_u16().unwrap_or(if tls.is_some() { 443 } else { 80 });
        Ok(Self { host, port, tls })
    }

    /// Connects.
    ///
    /// # Errors
    /// Whatever the kernel says, or TLS: a certificate that is not trusted, for example.
    pub(super) async fn connect(&self) -> io::Result<Box<dyn Stream>> {
        let stream = TcpStream::connect((&*self.host, self.port)).await?;
        Ok(match &self.tls {
            None => Box::new(stream),
            Some((connector, name)) => Box::new(connector.connect(name.clone(), stream).await?),
        })
    }
}

impl fmt::Debug for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

/// Returns what trusts the certificates in the file, or those of the system.
fn trusting(certificates: Option<&Path>, option: &str) -> Result<Arc<ClientConfig>, String> {
    let mut roots = RootCertStore::empty();
    let found = match certificates {
        Some(path) => {
            let found = CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
            found.map_err(|error| format!("{}: {error}", crate::config::fault::shown_path(path)))?
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

//! The TLS settings, and the rustls configuration built from them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::crypto::{CryptoProvider, SupportedKxGroup, ring};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::{ParsedCertificate, WebPkiClientVerifier};
use rustls::{RootCertStore, ServerConfig, SupportedCipherSuite, SupportedProtocolVersion, version};

use super::yaml::{Reader, Section, switch};
use crate::config::{ConfigError, file, unknown};

/// The TLS versions, oldest first.
const VERSIONS: [&SupportedProtocolVersion; 2] = [&version::TLS12, &version::TLS13];
/// The supported curves, by their names in Go.
const CURVES: [(&str, &dyn SupportedKxGroup); 3] = [
    ("X25519", ring::kx_group::X25519),
    ("CurveP256", ring::kx_group::SECP256R1),
    ("CurveP384", ring::kx_group::SECP384R1),
];

#[derive(Clone, Debug)]
pub struct TlsSettings {
    cert: Pem,
    key: Pem,
    client_ca: Option<Pem>,
    is_client_needed: bool,
    /// A client's certificate must contain one of them; every name is allowed if there is none.
    pub(super) allowed_names: Vec<ServerName<'static>>,
    versions: Vec<&'static SupportedProtocolVersion>,
    suites: Vec<SupportedCipherSuite>,
    curves: Vec<&'static dyn SupportedKxGroup>,
    is_own_order: bool,
}

/// A text in PEM: in the config, or in a file.
#[derive(Clone)]
enum Pem {
    Text(String),
    File(PathBuf),
}

impl std::fmt::Debug for Pem {
    /// Never writes the text, which may be a private key.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Text(_) => f.write_str("Text(…)"),
            Self::File(path) => write!(f, "File({})", path.display()),
        }
    }
}

impl Pem {
    fn read(&self) -> Result<String, ConfigError> {
        match self {
            Self::Text(text) => Ok(text.clone()),
            Self::File(path) => file::read(path)?.ok_or_else(|| ConfigError::of_file(path, "no such file")),
        }
    }

    /// Returns the file that faults in the text belong to. For text in the config itself, that is `config`.
    fn place<'p>(&'p self, config: &'p Path) -> &'p Path {
        match self {
            Self::Text(_) => config,
            Self::File(path) => path,
        }
    }
}

impl TlsSettings {
    /// Reads the settings from a section; `None` if faults make them unusable. `at` is the section's offset.
    pub(super) fn take(reader: &mut Reader<'_>, section: &mut Section<'_>, at: usize, dir: &Path) -> Option<Self> {
        let mut pem = |text: &'static str, file: &'static str| {
            let inline = reader.parsed(section.take(text), |text| Ok(Pem::Text(text.to_owned())));
            let named = reader.parsed(section.take(file), |name| Ok(Pem::File(dir.join(name))));
            if inline.is_some() && named.is_some() {
                let what = format!("conflicts with {file}; set only one");
                reader.fault(at, &format!("tls_server_config.{text}"), what);
            }
            named.or(inline)
        };
        let cert = pem("cert", "cert_file");
        let key = pem("key", "key_file");
        let client_ca = pem("client_ca", "client_ca_file");
        for (missing, name) in [(cert.is_none(), "cert_file"), (key.is_none(), "key_file")] {
            if missing {
                reader.fault(at, "tls_server_config", format!("{name} is missing"));
            }
        }
        let policy = reader.parsed(section.take("client_auth_type"), |policy| match policy {
            "NoClientCert" => Ok(None),
            "VerifyClientCertIfGiven" => Ok(Some(false)),
            "RequireAndVerifyClientCert" => Ok(Some(true)),
            _ => Err(
                "expected NoClientCert, VerifyClientCertIfGiven or RequireAndVerifyClientCert: the others check no \
                      certificate"
                    .into(),
            ),
        });
        let policy = policy.flatten();
        let lack = match (&client_ca, policy) {
            (Some(_), None) => Some(("client_ca_file", "needs a client_auth_type that asks for certificates")),
            (None, Some(_)) => Some(("client_auth_type", "needs a client_ca_file to verify them with")),
            _ => None,
        };
        if let Some((key, what)) = lack {
            reader.fault(at, &format!("tls_server_config.{key}"), what);
        }
        let is_client_needed = client_ca.is_some() && policy == Some(true);
        let allowed_names = reader.list(section.take("client_allowed_sans"), |name| {
            ServerName::try_from(name.to_owned())
                .map_err(|_| "only host names and IP addresses are compared here".into())
        });
        if !allowed_names.is_empty() && !is_client_needed {
            let what = "needs client_auth_type: RequireAndVerifyClientCert";
            reader.fault(at, "tls_server_config.client_allowed_sans", what);
        }
        let suites = reader.list(section.take("cipher_suites"), suite);
        let curves = reader.list(section.take("curve_preferences"), |name| one_of(&CURVES, "curve", name));
        let places = [("TLS12", 0), ("TLS13", 1)];
        let mut version = |name| reader.parsed(section.take(name), |name| one_of(&places, "version", name));
        let (min, max) = (version("min_version").unwrap_or(0), version("max_version").unwrap_or(1));
        if min > max {
            reader.fault(at, "tls_server_config.min_version", "is above max_version");
        }
        let is_own_order = reader
            .parsed(section.take("prefer_server_cipher_suites"), switch)
            .unwrap_or(true);
        Some(Self {
            cert: cert?,
            key: key?,
            client_ca,
            is_client_needed,
            allowed_names,
            versions: VERSIONS.get(min..=max)?.to_vec(),
            suites,
            curves,
            is_own_order,
        })
    }

    /// Returns true if only clients with a certificate are served.
    pub const fn needs_client(&self) -> bool {
        self.is_client_needed
    }

    /// Returns true if clients must use the latest version.
    pub fn needs_latest(&self) -> bool {
        self.versions == VERSIONS[1..]
    }

    /// Returns the files that the settings refer to.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        let all = [Some(&self.cert), Some(&self.key), self.client_ca.as_ref()];
        all.into_iter().flatten().filter_map(|pem| match pem {
            Pem::File(path) => Some(path.as_path()),
            Pem::Text(_) => None,
        })
    }

    /// Reads the certificates and the key, and builds the configuration of the rustls server. `config` is the file with
    /// these settings.
    ///
    /// # Errors
    /// A file cannot be read, holds no certificate or key, or the key does not match the certificate.
    pub fn server(&self, config: &Path) -> Result<Arc<ServerConfig>, ConfigError> {
        let provider = Arc::new(self.provider());
        let fail = |pem: &Pem, what: String| ConfigError::of_file(pem.place(config), what);
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&self.versions)
            .map_err(|error| ConfigError::of_file(config, format!("tls_server_config: {error}")))?;
        let builder = match &self.client_ca {
            None => builder.with_no_client_auth(),
            Some(pem) => {
                let mut roots = RootCertStore::empty();
                for certificate in certificates(pem, config)? {
                    let added = roots.add(certificate);
                    added.map_err(|error| fail(pem, format!("cannot be used: {error}")))?;
                }
                let mut verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
                if !self.is_client_needed {
                    verifier = verifier.allow_unauthenticated();
                }
                let verifier = verifier.build().map_err(|error| fail(pem, error.to_string()))?;
                builder.with_client_cert_verifier(verifier)
            }
        };
        let key = PrivateKeyDer::from_pem_slice(self.key.read()?.as_bytes())
            .map_err(|_| fail(&self.key, "holds no unencrypted private key in PEM".into()))?;
        let mut server = builder
            .with_single_cert(certificates(&self.cert, config)?, key)
            .map_err(|error| match error {
                rustls::Error::InconsistentKeys(_) => fail(&self.key, "is not the key of the certificate".into()),
                error => fail(&self.cert, format!("cannot be used: {error}")),
            })?;
        server.ignore_client_order = self.is_own_order;
        server.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Arc::new(server))
    }

    /// Returns true if the client's certificate contains an allowed name.
    pub fn allows(&self, shown: Option<&[CertificateDer<'_>]>) -> bool {
        if self.allowed_names.is_empty() {
            return true;
        }
        let first = shown.and_then(<[_]>::first);
        let first = first.and_then(|certificate| ParsedCertificate::try_from(certificate).ok());
        first.is_some_and(|certificate| {
            let mut allowed = self.allowed_names.iter();
            allowed.any(|name| rustls::client::verify_server_name(&certificate, name).is_ok())
        })
    }

    fn provider(&self) -> CryptoProvider {
        let mut provider = ring::default_provider();
        if !self.suites.is_empty() {
            // As in Go, the list applies to the suites up to TLS 1.2.
            let listed = self.suites.iter().filter(|suite| suite.tls13().is_none());
            provider.cipher_suites.retain(|suite| suite.tls13().is_some());
            provider.cipher_suites.extend(listed);
        }
        if !self.curves.is_empty() {
            provider.kx_groups.clone_from(&self.curves);
        }
        provider
    }
}

/// Finds a cipher suite by its name in Go.
fn suite(name: &str) -> Result<SupportedCipherSuite, String> {
    let known = ring::ALL_CIPHER_SUITES.iter().filter_map(|suite| {
        let name = suite.suite().as_str()?;
        Some((name.replacen("TLS13_", "TLS_", 1), *suite))
    });
    one_of(&known.collect::<Vec<_>>(), "cipher suite", name)
}

fn one_of<T: Copy>(known: &[(impl AsRef<str>, T)], kind: &str, name: &str) -> Result<T, String> {
    let found = known.iter().find(|(known, _)| known.as_ref() == name);
    found
        .map(|(_, value)| *value)
        .ok_or_else(|| unknown(kind, name, known.iter().map(|(known, _)| known.as_ref())))
}

fn certificates(pem: &Pem, config: &Path) -> Result<Vec<CertificateDer<'static>>, ConfigError> {
    let text = pem.read()?;
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(text.as_bytes()).collect();
    match found {
        Ok(found) if !found.is_empty() => Ok(found),
        _ => Err(ConfigError::of_file(pem.place(config), "holds no certificate in PEM")),
    }
}

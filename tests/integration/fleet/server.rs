//! A server that answers as a Prometheus does, or as it should not.

use std::io::{BufRead as _, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::support::certificates::Pair;
use crate::support::rows::MIB;

/// The answer to a query.
#[derive(Clone)]
pub(super) enum Reply {
    /// The series that the question is about.
    Series,
    /// These, with a warning.
    Warned(&'static str),
    /// An error, with its status and body.
    Error(&'static str, &'static str),
    /// A page of something else.
    Page,
    /// So many bytes, without an end that anyone waits for.
    Flood(u64),
    /// Nothing, for as long as it is asked.
    Nothing,
}

/// The series of a fleet.
#[derive(Clone)]
pub(super) struct Series {
    /// Hosts, each with its groups and their PSS in MiB.
    pub(super) hosts: Vec<(String, Vec<(String, u64)>)>,
    /// The clock is so far ahead of this machine's, in seconds.
    pub(super) ahead: f64,
    /// Each series is there twice.
    pub(super) doubled: bool,
    /// So many questions about the past fail before one is answered: each host had half the memory then.
    pub(super) failing: usize,
    /// Questions that hold this text have no answer while it is here.
    pub(super) withheld: Option<&'static str>,
    pub(super) reply: Reply,
}

impl Series {
    pub(super) fn new(hosts: &[&str]) -> Self {
        let groups = [("api", 300), ("redis", 40)].map(|(name, mib)| (name.to_owned(), mib));
        Self {
            hosts: hosts.iter().map(|host| ((*host).to_owned(), groups.to_vec())).collect(),
            ahead: 0.0,
            doubled: false,
            failing: 0,
            withheld: None,
            reply: Reply::Series,
        }
    }

    /// The answer to a query about the times of a form: half of the present figures.
    fn past(&self, query: &str, form: &str) -> String {
        let number = |name: &str| -> u64 {
            let found = form.split('&').find_map(|pair| pair.strip_prefix(name));
            found.unwrap().parse().unwrap()
        };
        let (start, end, step) = (number("start="), number("end="), number("step="));
        let quoted = |text: &str| serde_json::to_string(text).unwrap();
        let points = |value: &dyn Fn(u64) -> u64| {
            let points = (start..=end)
                .step_by(step as usize)
                .map(|at| format!(r#"[{at},"{}"]"#, value(at)));
            points.collect::<Vec<_>>().join(",")
        };
        let mut found = Vec::new();
        for (host, groups) in &self.hosts {
            let instance = quoted(host);
            if query.contains("timestamp(") {
                let points = points(&|at| at);
                found.push(format!(r#"{{"metric":{{"instance":{instance}}},"values":[{points}]}}"#));
            }
            for (name, mib) in groups.iter().filter(|_| query == "zmtop_pss_bytes") {
                let points = points(&|_| mib * MIB / 2);
                let group = quoted(name);
                found.push(format!(
                    r#"{{"metric":{{"by":"command","group":{group},"instance":{instance},"job":"zmtop"}},"values":[{points}]}}"#
                ));
            }
        }
        format!(
            r#"{{"status":"success","data":{{"resultType":"matrix","result":[{}]}}}}"#,
            found.join(",")
        )
    }

    /// The answer to a query, at the present time.
    pub(super) fn answer(&self, query: &str) -> String {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64() + self.ahead;
        let quoted = |text: &str| serde_json::to_string(text).unwrap();
        let mut found = Vec::new();
        for (host, groups) in &self.hosts {
            let instance = quoted(host);
            if query.contains("timestamp(") {
                found.push(format!(
                    r#"{{"metric":{{"instance":{instance}}},"value":[{now},"{now}"]}}"#
                ));
            }
            for (name, mib) in groups {
                let bytes = match query {
                    "zmtop_pss_bytes" | "zmtop_uss_bytes" | "zmtop_rss_bytes" => mib * MIB,
                    "zmtop_processes" => 3,
                    _ => continue,
                };
                let group = quoted(name);
                let one = format!(
                    r#"{{"metric":{{"by":"command","group":{group},"instance":{instance},"job":"zmtop"}},"value":[{now},"{bytes}"]}}"#
                );
                found.extend(std::iter::repeat_n(one, 1 + usize::from(self.doubled)));
            }
        }
        let warnings = match self.reply {
            Reply::Warned(text) => format!(r#","warnings":[{}]"#, quoted(text)),
            _ => String::new(),
        };
        format!(
            r#"{{"status":"success","data":{{"resultType":"vector","result":[{}]}}{warnings}}}"#,
            found.join(",")
        )
    }
}

/// A server on the loopback; ended when dropped.
pub(super) struct Server {
    pub(super) address: SocketAddr,
    scheme: &'static str,
    pub(super) series: Arc<Mutex<Series>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    pub(super) fn start(series: Series) -> Self {
        Self::start_at("127.0.0.1:0".parse().unwrap(), series)
    }

    pub(super) fn start_at(address: SocketAddr, series: Series) -> Self {
        Self::listen(address, series, None)
    }

    pub(super) fn start_in_tls(series: Series, own: &Pair) -> Self {
        let chain = vec![CertificateDer::from_pem_slice(own.cert.as_bytes()).unwrap()];
        let key = PrivateKeyDer::from_pem_slice(own.key.as_bytes()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap();
        let config = builder.with_no_client_auth().with_single_cert(chain, key).unwrap();
        Self::listen("127.0.0.1:0".parse().unwrap(), series, Some(Arc::new(config)))
    }

    fn listen(address: SocketAddr, series: Series, tls: Option<Arc<ServerConfig>>) -> Self {
        let scheme = if tls.is_some() { "https" } else { "http" };
        let listener = TcpListener::bind(address).unwrap();
        let address = listener.local_addr().unwrap();
        let series = Arc::new(Mutex::new(series));
        let stop = Arc::new(AtomicBool::new(false));
        let (shared, stopped) = (Arc::clone(&series), Arc::clone(&stop));
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming() {
                if stopped.load(Ordering::SeqCst) {
                    return;
                }
                let (Ok(stream), series) = (stream, Arc::clone(&shared)) else {
                    continue;
                };
                let (stopped, tls) = (Arc::clone(&stopped), tls.clone());
                std::thread::spawn(move || {
                    // The monitor may end at any time.
                    let _ = match tls {
                        None => answer(stream, &series, &stopped),
                        Some(config) => {
                            let connection = ServerConnection::new(config).unwrap();
                            answer(StreamOwned::new(connection, stream), &series, &stopped)
                        }
                    };
                });
            }
        });
        Self {
            address,
            scheme,
            series,
            stop,
            thread: Some(thread),
        }
    }

    pub(super) fn url(&self) -> String {
        format!("{}://{}", self.scheme, self.address)
    }

    pub(super) fn change(&self, change: impl FnOnce(&mut Series)) {
        change(&mut self.series.lock().unwrap());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        // Wakes the thread that takes connections.
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

/// Answers one question.
fn answer(stream: impl Read + Write, series: &Mutex<Series>, stopped: &AtomicBool) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    let (mut length, mut path) = (0, String::new());
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 || line == "\r\n" {
            break;
        }
        if path.is_empty() {
            line.split(' ').nth(1).unwrap_or_default().clone_into(&mut path);
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let form = String::from_utf8_lossy(&body).into_owned();
    let query = form
        .split('&')
        .find_map(|pair| pair.strip_prefix("query="))
        .unwrap_or_default();
    let is_withheld = || series.lock().unwrap().withheld.is_some_and(|text| query.contains(text));
    while is_withheld() && !stopped.load(Ordering::SeqCst) {
        std::thread::sleep(Duration::from_millis(10));
    }
    let is_past = path.ends_with("query_range");
    let series = {
        let mut series = series.lock().unwrap();
        let asked = series.clone();
        if is_past {
            series.failing = series.failing.saturating_sub(1);
        }
        asked
    };
    let mut out = reader.into_inner();
    let mut send = |status: &str, kind: &str, body: &str| {
        write!(
            out,
            "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        )
    };
    match &series.reply {
        Reply::Series | Reply::Warned(_) if is_past && series.failing > 0 => {
            send("500 Internal Server Error", "text/plain", "the past is busy")
        }
        Reply::Series | Reply::Warned(_) if is_past => {
            send("200 OK", "application/json", &series.past(&decoded(query), &form))
        }
        Reply::Series | Reply::Warned(_) => send("200 OK", "application/json", &series.answer(&decoded(query))),
        Reply::Error(status, body) => send(status, "application/json", body),
        Reply::Page => send("200 OK", "text/html", "<!doctype html><h1>Sign in</h1>"),
        Reply::Flood(bytes) => {
            write!(out, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")?;
            let part = vec![b' '; 1 << 20];
            let parts = bytes / part.len() as u64;
            (0..parts).try_for_each(|_| out.write_all(&part))
        }
        Reply::Nothing => {
            while !stopped.load(Ordering::SeqCst) {
                std::thread::sleep(Duration::from_millis(50));
            }
            Ok(())
        }
    }
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let digits = [rest.next().unwrap(), rest.next().unwrap()];
            bytes.push(u8::from_str_radix(std::str::from_utf8(&digits).unwrap(), 16).unwrap());
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).unwrap()
}

//! A real Prometheus, and questions to it.

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use super::server::PATIENCE;
use crate::support::Owned;

/// The folder of what is shipped for it.
pub(super) fn shipped() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/prometheus")
}

/// A running Prometheus with a folder of its own; ended when dropped.
pub(super) struct Prometheus {
    _child: Owned,
    address: SocketAddr,
    _folder: TempDir,
}

impl Prometheus {
    /// Starts it with the shipped rules, for targets that are asked so often.
    pub(super) fn start(targets: &[SocketAddr], every: Duration) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut config = format!(
            "global: {{scrape_interval: {0}s, scrape_timeout: {0}s, evaluation_interval: {0}s}}\n\
             rule_files: ['{1}/*.rules.yml']\n\
             scrape_configs: [{{job_name: zmtop, static_configs: [{{targets: [",
            every.as_secs(),
            shipped().display()
        );
        for target in targets {
            write!(config, "'{target}', ").unwrap();
        }
        config += "]}]}]\n";
        let file = folder.path().join("prometheus.yml");
        std::fs::write(&file, config).unwrap();
        let child = Command::new("prometheus")
            .arg(format!("--config.file={}", file.display()))
            .arg(format!("--storage.tsdb.path={}", folder.path().join("data").display()))
            .arg("--web.listen-address=127.0.0.1:0")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn();
        let mut child = Owned(child.unwrap());
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let mut said = String::new();
        let address = loop {
            let Some(Ok(line)) = lines.next() else {
                let _ = child.wait();
                panic!("Prometheus ended: {said}");
            };
            if line.contains("Listening on") {
                break line.rsplit("address=").next().unwrap().trim().parse().unwrap();
            }
            said = said + &line + "\n";
        };
        // Where nobody read it, its log would end it; where this ends, so does the log.
        std::thread::spawn(move || lines.by_ref().for_each(drop));
        Self {
            _child: child,
            address,
            _folder: folder,
        }
    }

    /// Returns the data of an answer of its API.
    pub(super) fn ask(&self, path: &str, parameters: &[(&str, &str)]) -> Value {
        let mut query = String::new();
        for (name, text) in parameters {
            write!(query, "&{name}=").unwrap();
            for byte in text.bytes() {
                write!(query, "%{byte:02X}").unwrap();
            }
        }
        let begun = Instant::now();
        loop {
            let mut stream = TcpStream::connect(self.address).unwrap();
            stream.set_read_timeout(Some(PATIENCE)).unwrap();
            // Of 1.0, so that the answer is in one piece.
            write!(stream, "GET /api/v1/{path}?{query} HTTP/1.0\r\nHost: x\r\n\r\n").unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).unwrap();
            let (head, body) = answer.split_once("\r\n\r\n").unwrap();
            // It answers so while it starts.
            if head.split(' ').nth(1) == Some("503") && begun.elapsed() < PATIENCE {
                std::thread::sleep(Duration::from_millis(50));
                continue;
            }
            let mut answer: Value = serde_json::from_str(body).unwrap_or_else(|e| panic!("{e}: {head}{body}"));
            assert_eq!(answer["status"], "success", "{parameters:?}: {body}");
            return answer["data"].take();
        }
    }

    /// Returns the series that an expression has now.
    pub(super) fn series(&self, expression: &str) -> Vec<Value> {
        let mut data = self.ask("query", &[("query", expression)]);
        serde_json::from_value(data["result"].take()).unwrap()
    }

    /// Waits until an expression has series.
    pub(super) fn wait_for(&self, expression: &str) {
        let begun = Instant::now();
        while self.series(expression).is_empty() {
            assert!(begun.elapsed() < PATIENCE, "nothing is {expression}");
            std::thread::sleep(Duration::from_millis(200));
        }
    }
}

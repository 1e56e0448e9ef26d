//! Exporters that run, and scrapes of them.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::interrupt::pause;

/// A running exporter; ended when dropped.
pub(crate) struct Exporter {
    child: Child,
    address: SocketAddr,
    /// Its configuration, removed with it.
    config: Option<PathBuf>,
}

impl Exporter {
    /// Starts `zmtop serve` with so much time between two looks, and so many groups.
    pub(crate) fn zmtop(interval: Duration, top: usize) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_zmtop"))
            .args([
                "serve",
                "--listen",
                "127.0.0.1:0",
                "--interval",
                &interval.as_secs().to_string(),
            ])
            .args(["--top", &top.to_string()])
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stderr.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let (_, rest) = line.split_once("http://").unwrap();
        let address = rest.trim().strip_suffix("/metrics").unwrap().parse().unwrap();
        Self {
            child,
            address,
            config: None,
        }
    }

    /// Starts Debian's `prometheus-process-exporter`, with a group for each program; `None` where it is not installed.
    pub(crate) fn peer() -> Option<Self> {
        // It does not tell which port it was given: a free one that nobody else is likely to take.
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let config = std::env::temp_dir().join(format!("zmtop-bench-peer-{}.yml", std::process::id()));
        fs::write(
            &config,
            "process_names:\n  - name: \"{{.ExeBase}}\"\n    cmdline: ['.+']\n",
        )
        .unwrap();
        let child = Command::new("prometheus-process-exporter")
            .arg(format!("-web.listen-address={address}"))
            .arg(format!("-config.path={}", config.display()))
            .args(["-gather-smaps=true", "-threads=false"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        Some(Self {
            child,
            address,
            config: Some(config),
        })
    }

    /// Waits until it answers, and then until what only happens once is over.
    pub(crate) fn warm_up(&self) {
        while self.try_scrape().is_none() {
            pause(Duration::from_millis(100));
        }
        pause(Duration::from_secs(40));
    }

    /// Returns the body of an answer.
    pub(crate) fn scrape(&self) -> String {
        self.try_scrape().unwrap()
    }

    fn try_scrape(&self) -> Option<String> {
        let mut stream = TcpStream::connect(self.address).ok()?;
        write!(stream, "GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        let (head, body) = answer.split_once("\r\n\r\n")?;
        head.starts_with("HTTP/1.1 200 ").then(|| body.to_owned())
    }

    /// User and system time of all its threads, those that have ended too.
    pub(crate) fn cpu_time(&self) -> Duration {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.child.id())).unwrap();
        let fields = stat.rsplit(") ").next().unwrap().split(' ').skip(11).take(2);
        let ticks: u64 = fields.map(|field| field.parse::<u64>().unwrap()).sum();
        Duration::from_secs_f64(ticks as f64 / rustix::param::clock_ticks_per_second() as f64)
    }

    /// Its resident memory in bytes.
    pub(crate) fn rss(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().strip_suffix(" kB").unwrap().parse::<u64>().unwrap() << 10
    }

    /// Returns how many files it holds open.
    pub(crate) fn files(&self) -> usize {
        fs::read_dir(format!("/proc/{}/fd", self.child.id())).unwrap().count()
    }
}

impl Drop for Exporter {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if let Some(config) = &self.config {
            let _ = fs::remove_file(config);
        }
    }
}

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
        // It does not print its port. This one is free now, and another program is unlikely to take it.
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

    /// Waits until it answers, and then for so long: until what only happens once is over.
    pub(crate) fn warm_up(&self, time: Duration) {
        while self.try_scrape("").is_none() {
            pause(Duration::from_millis(100));
        }
        pause(time);
    }

    /// Returns the body of an answer.
    pub(crate) fn scrape(&self) -> String {
        String::from_utf8(self.try_scrape("").unwrap()).unwrap()
    }

    /// Asks as Prometheus does; returns the size of the body, which is compressed.
    pub(crate) fn scrape_compressed(&self) -> usize {
        let headers = "Accept: application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.4,*/*;q=0.1\r\n\
                       Accept-Encoding: gzip\r\n";
        self.try_scrape(headers).unwrap().len()
    }

    fn try_scrape(&self, headers: &str) -> Option<Vec<u8>> {
        let mut stream = TcpStream::connect(self.address).ok()?;
        let request = format!("GET /metrics HTTP/1.1\r\nHost: x\r\n{headers}Connection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).ok()?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).ok()?;
        let end = answer.windows(4).position(|end| end == b"\r\n\r\n")?;
        answer.starts_with(b"HTTP/1.1 200 ").then(|| answer.split_off(end + 4))
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

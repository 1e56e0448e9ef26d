//! Times `zmtop fleet` over many hosts in a real Prometheus.
//!
//! `cargo bench --bench fleet -- [HOSTS GROUPS [ROUNDS [KEYS [SECONDS]]]]` makes the series of so many hosts (1000) with so
//! many groups each (50) over the last five minutes and the next ten, serves them by `prometheus` on the loopback, and
//! prints: the time from a start of the real program in a terminal of 200×50 to the first frame with rows (5 rounds), the
//! time of a refresh by the program's own log, and the time from a key to the frame that answers it (400 keys) while
//! refreshes go on, one each SECONDS (15, as by default). Everything is in a temporary folder, some hundreds of megabytes
//! for a while.
#![expect(clippy::print_stdout, reason = "a bench reports")]
#![expect(clippy::unwrap_used, reason = "a bench that cannot unwrap has failed")]

#[expect(dead_code, reason = "each bench uses a part")]
#[path = "support/screen.rs"]
mod screen;
#[expect(dead_code, reason = "each bench uses a part")]
#[path = "../integration/support/terminal.rs"]
mod terminal;

use std::fs;
use std::io::{BufWriter, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use screen::Screen;

/// A program; ended when dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn main() {
    let mut numbers = std::env::args().skip(1).filter_map(|arg| arg.parse().ok());
    let mut next = |default| numbers.next().unwrap_or(default);
    let (hosts, groups, rounds, keys, every) = (next(1000), next(50), next(5), next(400), next(15));
    let folder = tempfile::tempdir().unwrap();
    let begun = Instant::now();
    let data = folder.path().join("data");
    make_blocks(folder.path(), &data, hosts, groups);
    println!(
        "{hosts} hosts × {groups} groups made in {:.0} s",
        begun.elapsed().as_secs_f64()
    );
    let (_prometheus, address) = serve(folder.path(), &data);
    let url = format!("http://{address}");

    let mut firsts: Vec<f64> = (0..rounds)
        .map(|_| {
            let mut screen = Screen::start(&["fleet", "--prometheus", &url]);
            let at = screen.until("the rows", |s| s.text().contains("program"));
            (at - screen.started).as_secs_f64() * 1e3
        })
        .collect();
    report("first screen", &mut firsts);

    let log = folder.path().join("log");
    let path = log.to_str().unwrap().to_owned();
    let every = format!("{every}s");
    let mut screen = Screen::start(&["fleet", "--prometheus", &url, "--interval", &every, "--log", &path]);
    screen.until("the rows", |s| s.text().contains("program"));
    std::thread::sleep(Duration::from_secs(10));
    let mut times = Vec::new();
    for nth in 0..keys {
        std::thread::sleep(Duration::from_millis(70 + 13 * (nth as u64 % 7)));
        let before = screen.line(48);
        let sent = Instant::now();
        screen.send(if nth % 30 < 15 { "j" } else { "k" });
        let at = screen.until("the next row", |s| s.line(48) != before);
        times.push((at - sent).as_secs_f64() * 1e3);
    }
    report("keys", &mut times);
    drop(screen);
    let log = fs::read_to_string(log).unwrap();
    let took = |line: &str| line.split("took_ms=").nth(1)?.split_whitespace().next()?.parse().ok();
    let mut refreshes: Vec<f64> = log
        .lines()
        .filter(|line| line.contains("asked"))
        .filter_map(took)
        .collect();
    report("refresh", &mut refreshes);
}

/// Prints quantiles in milliseconds.
fn report(name: &str, times: &mut [f64]) {
    times.sort_by(f64::total_cmp);
    let at = |part: f64| times.get(((times.len().saturating_sub(1)) as f64 * part).ceil() as usize);
    let ms = |part| at(part).map_or_else(|| "-".into(), |ms| format!("{ms:.1}"));
    println!(
        "{name:<14} {:>4}   median {:>8}  p99 {:>8}  max {:>8}  ms",
        times.len(),
        ms(0.5),
        ms(0.99),
        ms(1.0)
    );
}

/// Writes the series as `OpenMetrics`, and has promtool make blocks of them.
fn make_blocks(folder: &Path, data: &Path, hosts: usize, groups: usize) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let moments: Vec<u64> = (0..16).map(|n| now - 300 + n * 60).collect();
    let file = folder.join("series");
    let mut out = BufWriter::with_capacity(1 << 20, fs::File::create(&file).unwrap());
    let of_groups: [(&str, u64, u64); 5] = [
        ("zmtop_pss_bytes", 9, 1),
        ("zmtop_uss_bytes", 8, 1),
        ("zmtop_rss_bytes", 12, 1),
        ("zmtop_processes", 0, 1),
        // One in fifty has some.
        ("zmtop_swap_bytes", 1, 50),
    ];
    for (name, size, each) in of_groups {
        writeln!(out, "# TYPE {name} gauge").unwrap();
        for host in 0..hosts {
            for group in (0..groups).filter(|group| ((host + group) as u64).is_multiple_of(each)) {
                for (step, at) in moments.iter().enumerate() {
                    let bytes = match size {
                        0 => 3,
                        _ => size * (1 << 20) * (1 + (host * 7 + group * 13 + step * group) as u64 % 90),
                    };
                    writeln!(
                        out,
                        "{name}{{by=\"command\",group=\"program{group}\",instance=\"host{host:04}:9464\",job=\"zmtop\"}} {bytes} {at}"
                    )
                    .unwrap();
                }
            }
        }
    }
    writeln!(out, "# TYPE zmtop_build_info gauge").unwrap();
    for host in 0..hosts {
        for at in &moments {
            writeln!(
                out,
                "zmtop_build_info{{instance=\"host{host:04}:9464\",job=\"zmtop\",version=\"1\"}} 1 {at}"
            )
            .unwrap();
        }
    }
    writeln!(out, "# EOF").unwrap();
    drop(out);
    let made = Command::new("promtool")
        .args(["tsdb", "create-blocks-from", "openmetrics"])
        .args([&file, data])
        .stdout(Stdio::null())
        .status()
        .unwrap();
    assert!(made.success(), "promtool made no blocks");
    fs::remove_file(file).unwrap();
}

/// Serves blocks on the loopback.
fn serve(folder: &Path, data: &Path) -> (Running, SocketAddr) {
    let config = folder.join("prometheus.yml");
    fs::write(&config, "global: {}\n").unwrap();
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let child = Command::new("prometheus")
        .arg(format!("--config.file={}", config.display()))
        .arg(format!("--storage.tsdb.path={}", data.display()))
        .arg(format!("--web.listen-address={address}"))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let running = Running(child);
    let begun = Instant::now();
    while TcpStream::connect(address).is_err() {
        assert!(begun.elapsed() < Duration::from_secs(60), "prometheus does not listen");
        std::thread::sleep(Duration::from_millis(50));
    }
    (running, address)
}

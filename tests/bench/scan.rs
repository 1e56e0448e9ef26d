//! What a full scan costs beside the least it could.
//!
//! `cargo bench --bench scan -- [PROCESSES AREAS PAGES [ROUNDS]]` makes a load of processes, each with
//! that many anonymous areas of that many touched pages (1000, 100 and 5 unless told otherwise), and takes
//! turns between a floor (list `/proc`, then two threads open, read and close every `smaps_rollup` by its
//! path, and nothing else) and a whole tick of zmtop's scanner. Medians and their ratios are printed, and
//! what the first tick takes, when nothing is known of any process.
#![expect(clippy::print_stdout, reason = "a bench reports")]
#![expect(clippy::unwrap_used, reason = "a bench that cannot unwrap has failed")]

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap_anonymous, mprotect};
use zmtop::proc::{files, own};
use zmtop::sampler::{Options, Scanner};

/// Tells a child what to be.
const LOAD: &str = "ZMTOP_BENCH_LOAD";
const PAGE: usize = 4096;

fn main() {
    if let Ok(load) = std::env::var(LOAD) {
        let (areas, pages) = load.split_once(' ').unwrap();
        be_load(areas.parse().unwrap(), pages.parse().unwrap());
    }
    let mut numbers = std::env::args().skip(1).filter_map(|arg| arg.parse().ok());
    let mut next = |default| numbers.next().unwrap_or(default);
    let (processes, areas, pages, rounds) = (next(1000), next(100), next(5), next(31));

    let load = Load::start(processes, areas, pages);
    let listed = files::pids(b"/proc").unwrap().len();
    println!("load: {processes} processes of {areas} areas of {pages} pages; {listed} listed");
    compare(rounds);
    drop(load);
}

fn compare(rounds: usize) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    let options = || Options {
        threads: 2,
        ..Options::new(None)
    };
    let mut scanner = Scanner::new(options());
    runtime.block_on(scanner.full());
    floor(2);

    let (mut least, mut warm, mut cold) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..rounds {
        least.push(measure(|| floor(2)));
        warm.push(measure(|| {
            let snapshot = runtime.block_on(scanner.full());
            let (readable, _) = snapshot.readable();
            assert!(snapshot.sampling.walks + 16 > readable, "not every process was walked");
        }));
    }
    drop(scanner);
    for _ in 0..rounds.min(9) {
        let mut scanner = None;
        cold.push(measure(|| {
            runtime.block_on(scanner.insert(Scanner::new(options())).tick());
        }));
    }
    println!("medians of {rounds} rounds       wall ms   CPU ms");
    for (name, costs) in [("floor", &least), ("tick", &warm), ("first tick", &cold)] {
        println!(
            "  {name:<22} {:>8.2} {:>8.2}",
            median(costs.iter().map(|c| ms(c.0))),
            median(costs.iter().map(|c| ms(c.1)))
        );
    }
    // Each round's own ratio: a machine that others use is faster in one round than in another.
    let ratio = |get: fn(&Cost) -> Duration| median(warm.iter().zip(&least).map(|(a, b)| ms(get(a)) / ms(get(b))));
    println!(
        "  tick ÷ floor           {:>8.3} {:>8.3}",
        ratio(|c| c.0),
        ratio(|c| c.1)
    );
}

/// Wall time and CPU time.
type Cost = (Duration, Duration);

fn ms(d: Duration) -> f64 {
    d.as_secs_f64() * 1e3
}

/// Wall time and CPU time of this whole process.
fn measure(work: impl FnOnce()) -> Cost {
    let cpu = own::cost().unwrap().cpu;
    let wall = own::monotonic();
    work();
    (
        own::monotonic().saturating_sub(wall),
        own::cost().unwrap().cpu.saturating_sub(cpu),
    )
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut sorted: Vec<_> = values.collect();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

/// The least that reading every `smaps_rollup` can cost.
fn floor(threads: usize) {
    let pids = files::pids(b"/proc").unwrap();
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let mut buf = vec![0; 64 << 10];
                let mut path = Vec::new();
                while let Some(pid) = pids.get(next.fetch_add(1, Ordering::Relaxed)) {
                    path.clear();
                    write!(path, "/proc/{pid}/smaps_rollup").unwrap();
                    let read = files::open(&path).and_then(|fd| files::read_once(fd, &mut buf));
                    std::hint::black_box(read.is_ok());
                }
            });
        }
    });
}

/// Processes that do nothing but have memory; ended with this value, and with this process.
struct Load(Vec<Child>);

impl Load {
    fn start(processes: usize, areas: usize, pages: usize) -> Self {
        let (mut ready, writer) = std::io::pipe().unwrap();
        let program = std::env::current_exe().unwrap();
        let spawn = |_| {
            Command::new(Path::new(&program))
                .env_clear()
                .env(LOAD, format!("{areas} {pages}"))
                .stdin(Stdio::null())
                .stdout(writer.try_clone().unwrap())
                .spawn()
                .unwrap()
        };
        let load = Self((0..processes).map(spawn).collect());
        ready.read_exact(&mut vec![0; processes]).unwrap();
        load
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
        }
        for child in &mut self.0 {
            let _ = child.wait();
        }
    }
}

fn be_load(areas: usize, pages: usize) -> ! {
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL)).unwrap();
    for _ in 0..areas {
        #[expect(unsafe_code, reason = "areas of its own that nothing else knows of")]
        // SAFETY: the kernel chooses a free place, and only the pages mapped there are written to.
        unsafe {
            let rw = ProtFlags::READ | ProtFlags::WRITE;
            let at = mmap_anonymous(std::ptr::null_mut(), (pages + 1) * PAGE, rw, MapFlags::PRIVATE).unwrap();
            // A page that nobody may touch keeps the kernel from joining it to the next.
            mprotect(at.add(pages * PAGE), PAGE, MprotectFlags::empty()).unwrap();
            for page in 0..pages {
                at.cast::<u8>().add(page * PAGE).write_volatile(1);
            }
        }
    }
    std::io::stdout().write_all(b"r").unwrap();
    std::io::stdout().flush().unwrap();
    loop {
        std::thread::park();
    }
}

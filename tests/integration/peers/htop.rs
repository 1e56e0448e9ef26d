//! htop has no output but its screen: the columns PSS, SWAP, PSSWP and RES are read from there.

use std::time::Duration;

use super::{Agreed, KB, Pair, hold, line, number};
use crate::kernel::child;
use crate::support::pty::{Pty, have};

/// Which columns it shows.
const CONFIG: &str = "config_reader_min_version=3
fields=0 48
delay=2
screen:Main=PID M_PSS M_PSSWP M_SWAP M_RESIDENT Command
.sort_key=PID
";

/// RES is counted by the kernel as pages come and go, on each processor for itself, up to a batch of 64 pages for
/// each of the three kinds: it is no exact figure.
const BATCHES: u64 = 3 * 64 * 4 * KB;

/// zmtop has a share in the pages of the libraries that it uses too, while it looks, and takes as much off the PSS of
/// who uses them when htop looks alone.
const LOOKER: u64 = 128 * KB;

/// Every row as htop shows it.
pub(super) fn agrees(pair: &Pair) {
    if !have("htop") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let config = dir.path().join("htoprc");
    std::fs::write(&config, CONFIG).unwrap();
    let env = [("HTOPRC", config.to_str().unwrap())];
    let htop = Pty::run((100, 30), "htop", &["-C", "-p", &pair.list()], &env);
    htop.wait_for("PSSWP");
    let looks = || {
        // It reads every process's figures at each second look.
        std::thread::sleep(Duration::from_millis(100));
        Some(htop.text())
    };
    pair.agree(&["--columns", "pid,pss,swap_pss,swap,rss"], looks, |ours, theirs| {
        hold(ours.len() == 2, "two rows")?;
        ours.iter().try_for_each(|row| same(row, &line(theirs, &row[0])?))
    });
}

fn same(ours: &[String], theirs: &[&str]) -> Agreed {
    for (at, what) in [(1, "PSS"), (2, "SwapPss"), (3, "swap"), (4, "RSS")] {
        let (figure, digit) = shown(theirs[at]).ok_or("not a figure")?;
        let slack = match what {
            "PSS" => digit + LOOKER,
            "RSS" => digit + BATCHES,
            _ => digit,
        };
        let ours = number(&ours[at]);
        hold(
            ours.abs_diff(figure) <= slack,
            &format!("{what}: {ours} here, {figure} in htop"),
        )?;
    }
    Ok(())
}

/// A figure in bytes, and what its last digit may hide: KiB as they are up to 99999, then `97.7M`.
fn shown(text: &str) -> Option<(u64, u64)> {
    let Some(mega) = text.strip_suffix('M') else {
        return Some((text.parse::<u64>().ok()? * KB, 0));
    };
    let digit = if mega.contains('.') { KB * KB / 10 } else { KB * KB };
    Some(((mega.parse::<f64>().ok()? * (KB * KB) as f64) as u64, digit))
}

#[test]
fn it_shows_the_same() {
    const NAME: &str = "peers::htop::it_shows_the_same";
    child::be(NAME);
    agrees(&Pair::start(NAME));
}

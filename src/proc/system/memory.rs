//! `/proc/meminfo`, `/proc/vmstat` and the `arcstats` of ZFS: the figures that [`SystemSample::FIGURES`] lists.

use super::{MachineUpdate, PageEvents};
use crate::model::system::FigureSource;
use crate::model::{Missing, Reading, SystemSample};
use crate::proc::parse::{kib, number, words};

/// The lines of `vmstat` that [`PageEvents::taken`] sums up, as far as the kernel has them.
const TAKEN: [&str; 4] = ["pgsteal_anon", "pswpin", "pswpout", "thp_collapse_alloc"];

/// The lines of a file, each a name and a value.
struct Lines<'a>(Vec<(&'a [u8], &'a [u8])>);

impl<'a> Lines<'a> {
    /// Splits each line at its first `separator`; skips lines without one.
    fn split(bytes: &'a [u8], separator: u8) -> Self {
        let lines = bytes.split(|b| *b == b'\n').filter_map(|line| {
            let at = line.iter().position(|b| *b == separator)?;
            Some((&line[..at], &line[at + 1..]))
        });
        Self(lines.collect())
    }

    /// Returns the value of the first line of that name, as `parse` reads it. A malformed line costs its own
    /// figure only.
    fn get(&self, name: &str, parse: fn(&[u8]) -> Option<u64>) -> Reading<u64> {
        let line = self.0.iter().find(|(found, _)| *found == name.as_bytes());
        let (_, value) = line.ok_or(Missing::Unsupported)?;
        parse(value.trim_ascii()).ok_or(Missing::Malformed)
    }
}

/// Reads the figures of `meminfo`.
pub(super) fn meminfo(bytes: Reading<&[u8]>) -> MachineUpdate {
    let lines = bytes.map(|bytes| Lines::split(bytes, b':'));
    let get = |name: &str, parse| lines.as_ref().map_err(|why| *why)?.get(name, parse);
    update(|source| match source {
        FigureSource::Meminfo(names) => {
            let add = |sum: u64, name: &&str| Ok(sum.saturating_add(get(name, kib)?));
            Some(names.iter().try_fold(0, add))
        }
        FigureSource::HugePages(name) => Some(get(name, number).and_then(|count| {
            let size = get("Hugepagesize", kib)?;
            Ok(count.saturating_mul(size))
        })),
        // A kernel that also gives the largest free chunk counts address space, not pages.
        FigureSource::Vmalloc => Some(match (get("VmallocUsed", kib), get("VmallocChunk", kib)) {
            (Ok(0), _) | (Ok(_), Ok(1..)) => Err(Missing::Unsupported),
            (used, _) => used,
        }),
        FigureSource::VmstatPages(_) | FigureSource::VmstatCount(_) | FigureSource::Arcstats(_) => None,
    })
}

/// Reads the figures of ZFS's `arcstats`: lines of a name, a number for its type, and a value. A line that is cut off is
/// none, as a part of its number would look like a whole one.
pub(super) fn arcstats(bytes: Reading<&[u8]>) -> MachineUpdate {
    let value = |name: &str| {
        let bytes = bytes?;
        let end = bytes.iter().rposition(|b| *b == b'\n').unwrap_or(0);
        let mut lines = bytes[..end].split(|b| *b == b'\n').map(words);
        let mut line = lines
            .find_map(|mut line| (line.next()? == name.as_bytes()).then_some(line))
            .ok_or(Missing::Malformed)?;
        line.nth(1).and_then(number).ok_or(Missing::Malformed)
    };
    update(|source| match source {
        FigureSource::Arcstats(names) => {
            let add = |sum: u64, name: &&str| Ok(sum.saturating_add(value(name)?));
            Some(names.iter().try_fold(0, add))
        }
        _ => None,
    })
}

/// Reads the figures of `vmstat`.
pub(super) fn vmstat(bytes: Reading<&[u8]>) -> MachineUpdate {
    let page = rustix::param::page_size() as u64;
    let lines = bytes.map(|bytes| Lines::split(bytes, b' '));
    let get = |name: &str| lines.as_ref().map_err(|why| *why)?.get(name, number);
    let page_events = PageEvents {
        faults: get("pgfault").ok(),
        taken: TAKEN
            .iter()
            .filter_map(|name| get(name).ok())
            .fold(0, u64::wrapping_add),
    };
    let figures = update(|source| match source {
        FigureSource::VmstatCount(name) => Some(get(name)),
        FigureSource::VmstatPages(name) => {
            Some(get(name).and_then(|pages| pages.checked_mul(page).ok_or(Missing::Malformed)))
        }
        FigureSource::Meminfo(_) | FigureSource::HugePages(_) | FigureSource::Vmalloc | FigureSource::Arcstats(_) => {
            None
        }
    });
    Box::new(move |machine| {
        figures(machine);
        machine.page_events = page_events;
    })
}

/// Sets every figure whose source `read` knows.
fn update(read: impl Fn(FigureSource) -> Option<Reading<u64>>) -> MachineUpdate {
    let figures = SystemSample::FIGURES.iter();
    let values: Vec<_> = figures
        .filter_map(|figure| Some((figure.field, read(figure.source)?)))
        .collect();
    Box::new(move |machine| {
        for (field, value) in values {
            *field(&mut machine.sample) = value;
        }
    })
}

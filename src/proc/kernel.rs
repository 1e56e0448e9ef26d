//! The kernel's own memory and its log: `slabinfo`, `allocinfo`, and the OOM kills in `/dev/kmsg`.

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Errno;

use super::files::{self, Roots};
use super::parse::{LineBuffer, number, words};
use crate::model::kernel::{AllocFigures, AllocSite, AllocSites, SlabCache, SlabCaches, SlabFigures};
use crate::model::snapshot::OomVictim;
use crate::model::{Missing, Reading};

/// Parses a `slabinfo` of version 2, which only root may read; `page` is the page size in bytes.
///
/// A name may hold blanks, since modules choose it. A line is therefore parsed from both ends: up to ` : `, then after
/// the last one. Malformed lines are counted and not treated as empty caches. A file without the heading is
/// [`Missing::Malformed`].
pub fn slabinfo(bytes: &[u8], page: u64) -> Reading<SlabCaches> {
    let (caches, malformed) = table(bytes, b"slabinfo - version: 2.", |line| cache(line, page))?;
    Ok(SlabCaches { caches, malformed })
}

/// Parses the lines below a heading that begins with `heading`. Also returns the number of malformed ones. The last line
/// of a truncated file has no newline: its last word may be cut.
fn table<T>(bytes: &[u8], heading: &[u8], parse: impl Fn(&[u8]) -> Option<T>) -> Reading<(Vec<T>, usize)> {
    let mut lines = bytes.split_inclusive(|b| *b == b'\n');
    if !lines.next().unwrap_or_default().starts_with(heading) {
        return Err(Missing::Malformed);
    }
    let (mut found, mut malformed) = (Vec::new(), 0);
    for line in lines.filter(|line| !line.starts_with(b"#") && !line.trim_ascii().is_empty()) {
        match line.strip_suffix(b"\n").and_then(&parse) {
            Some(row) => found.push(row),
            None => malformed += 1,
        }
    }
    Ok((found, malformed))
}

/// Parses `name active objects size per_slab pages : tunables … : slabdata active_slabs slabs shared`.
fn cache(line: &[u8], page: u64) -> Option<SlabCache> {
    let slabdata = find_last(line, b" : slabdata ")?;
    let head = &line[..find_last(&line[..slabdata], b" : tunables ")?];
    let slabs = number(words(&line[slabdata..]).nth(3)?)?;
    let mut fields: Vec<_> = words(head).collect();
    let figures: Vec<_> = fields
        .split_off(fields.len().checked_sub(5)?)
        .into_iter()
        .map(number)
        .collect::<Option<_>>()?;
    let &[active, objects, object_size, objects_per_slab, pages] = &figures[..] else {
        return None;
    };
    let name = fields.join(&b' ');
    (!name.is_empty()).then_some(())?;
    Some(SlabCache {
        name: name.into(),
        object_size,
        objects_per_slab,
        reclaimable: None,
        figures: SlabFigures {
            active,
            objects,
            slabs,
            size: slabs.checked_mul(pages)?.checked_mul(page)?,
            used: active.checked_mul(object_size)?,
        },
    })
}

fn find_last(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).rposition(|window| window == wanted)
}

/// Parses an `allocinfo` (Linux 6.10): how much memory each line of the kernel's source has allocated. Its heading states the version. Extra fields of later versions are ignored; malformed
/// lines are counted.
pub fn allocinfo(bytes: &[u8]) -> Reading<AllocSites> {
    let (sites, malformed) = table(bytes, b"allocinfo - version: ", site)?;
    Ok(AllocSites {
        sites,
        malformed,
        running: true,
    })
}

/// Parses `size calls file:line [module] func:function`, which `accurate:no` may follow.
fn site(line: &[u8]) -> Option<AllocSite> {
    let mut words = words(line).peekable();
    let (size, calls) = (number(words.next()?)?, number(words.next()?)?);
    let place = words.next()?;
    let colon = place.iter().rposition(|b| *b == b':')?;
    number(&place[colon + 1..])?;
    let module = words.next_if(|word| word.starts_with(b"["));
    let function = words.next()?.strip_prefix(b"func:")?;
    Some(AllocSite {
        place: place.into(),
        module: module
            .map(|word| word.strip_prefix(b"[").unwrap_or(word))
            .map(|word| word.strip_suffix(b"]").unwrap_or(word).into()),
        function: function.into(),
        inaccurate: words.any(|word| word == b"accurate:no"),
        figures: AllocFigures { size, calls },
    })
}

/// Maximum number of records of the log that are read: more than the largest log holds.
const MAX_RECORDS: usize = 200_000;
/// Maximum number of bytes kept of a line. The kernel's own lines are shorter.
const MAX_LINE: usize = 2048;
/// The text that begins a kill's line, and whether a cgroup's limit was reached.
const KILLS: [(&[u8], bool); 2] = [
    (b"Memory cgroup out of memory: Killed process ", true),
    (b"Out of memory: Killed process ", false),
];

/// Reads the OOM kills in `/dev/kmsg`, in the order of the log, each with the number of its record.
pub fn kills(roots: &Roots, buf: &mut [u8]) -> Reading<Vec<(u64, OomVictim)>> {
    let path = if roots.is_own() {
        "/dev/kmsg".into()
    } else {
        roots.proc.join("../dev/kmsg")
    };
    // Without NONBLOCK, the last read would wait for a new record.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    let fd = openat(CWD, &path, flags, Mode::empty()).map_err(files::optional_reason)?;
    let mut found = Vec::new();
    let mut lines = LineBuffer::<MAX_LINE>::default();
    for _ in 0..MAX_RECORDS {
        match files::read_once(&fd, buf) {
            Ok(0) | Err(Errno::AGAIN) => break,
            Ok(len) => lines.feed(&buf[..len], |line| found.extend(kill(line))),
            // Newer records have overwritten this one.
            Err(Errno::PIPE) => {}
            Err(errno) => return Err(files::reason(errno)),
        }
    }
    Ok(found)
}

/// Parses a record, `priority,number,microseconds,flags;text`. Returns `None` if it is not a kill.
///
/// The text is `Out of memory: Killed process 7 (name) total-vm:8kB, anon-rss:4kB, file-rss:0kB, shmem-rss:0kB, …`
/// since Linux 4.20. The name may hold anything. Programs may write to the log, but not as the kernel (facility 0).
pub fn kill(line: &[u8]) -> Option<(u64, OomVictim)> {
    let semicolon = line.iter().position(|b| *b == b';')?;
    let (mut fields, text) = (line[..semicolon].split(|b| *b == b','), &line[semicolon + 1..]);
    let priority = number(fields.next()?)?;
    let record = number(fields.next()?)?;
    if priority >= 8 {
        return None;
    }
    let (rest, by_cgroup) = KILLS
        .iter()
        .find_map(|(words, by_cgroup)| Some((text.strip_prefix(*words)?, *by_cgroup)))?;
    let blank = rest.iter().position(|b| *b == b' ')?;
    let pid = u32::try_from(number(&rest[..blank])?).ok()?;
    let rest = rest[blank..].strip_prefix(b" (")?;
    let end = b") total-vm:";
    let close = rest.windows(end.len()).rposition(|window| window == end)?;
    let figures = &rest[close + end.len()..];
    let kib = |name: &[u8]| {
        let at = figures.windows(name.len()).position(|window| window == name)?;
        let digits = figures[at + name.len()..].split(|b| *b == b'k').next()?;
        number(digits)?.checked_mul(1024)
    };
    let parts = [&b"anon-rss:"[..], b"file-rss:", b"shmem-rss:"].map(|name| kib(name).unwrap_or(0));
    let victim = OomVictim {
        pid,
        comm: unescape(&rest[..close]).into(),
        rss: parts.into_iter().fold(0, u64::saturating_add),
        by_cgroup,
    };
    Some((record, victim))
}

/// Decodes text in which the kernel wrote unprintable bytes and backslashes as `\x` and two digits.
fn unescape(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let [first, after @ ..] = rest {
        let digit = |b: u8| (b as char).to_digit(16);
        let decoded = match after {
            [b'x', a, b, after @ ..] if *first == b'\\' => digit(*a).zip(digit(*b)).map(|pair| (pair, after)),
            _ => None,
        };
        let byte = |((a, b), after): ((u32, u32), _)| ((a << 4 | b) as u8, after);
        let (next, after) = decoded.map_or((*first, after), byte);
        out.push(next);
        rest = after;
    }
    out
}

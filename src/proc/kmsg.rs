//! The kernel's log, for the processes that it killed for lack of memory.

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Errno;

use crate::model::Reading;
use crate::model::oom::OomVictim;
use crate::proc::files::{self, Roots};
use crate::proc::parse::{LineBuffer, number};

/// Records that are read at most: more than the largest log holds.
const MAX_RECORDS: usize = 200_000;
/// Bytes of a line that are kept: the kernel's own are shorter.
const MAX_LINE: usize = 2048;
/// Words that begin the line of a kill, and whether a cgroup's limit was reached.
const KILLS: [(&[u8], bool); 2] = [
    (b"Memory cgroup out of memory: Killed process ", true),
    (b"Out of memory: Killed process ", false),
];

/// Reads who was killed, with the number of each record, in the order of the log.
pub fn kills(roots: &Roots, buf: &mut [u8]) -> Reading<Vec<(u64, OomVictim)>> {
    let path = if roots.is_own() {
        "/dev/kmsg".into()
    } else {
        roots.proc.join("../dev/kmsg")
    };
    // It would wait for the next record.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    let fd = openat(CWD, &path, flags, Mode::empty()).map_err(files::optional_reason)?;
    let mut found = Vec::new();
    let mut lines = LineBuffer::<MAX_LINE>::default();
    for _ in 0..MAX_RECORDS {
        match files::read_once(&fd, buf) {
            Ok(0) | Err(Errno::AGAIN) => break,
            Ok(len) => lines.feed(&buf[..len], |line| found.extend(kill(line))),
            // Newer records have overwritten that one.
            Err(Errno::PIPE) => {}
            Err(errno) => return Err(files::reason(errno)),
        }
    }
    Ok(found)
}

/// Parses a record, `priority,number,microseconds,flags;text`, if it tells of a kill.
///
/// The text is `Out of memory: Killed process 7 (name) total-vm:8kB, anon-rss:4kB, file-rss:0kB, shmem-rss:0kB, …`, in which
/// the name may hold anything; since Linux 4.20. Programs may write into the log, but not as the kernel (facility 0).
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

/// Decodes a text in which the kernel writes unprintable bytes and backslashes as `\x` and two digits.
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

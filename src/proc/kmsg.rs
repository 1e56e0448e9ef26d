//! The OOM kills in the kernel's log, `/dev/kmsg`.
//!
//! The kernel (`mm/oom_kill.c`, `mm/memcontrol.c`) logs a kill as a report and, at its end, two lines:
//!
//! ```text
//! python3 invoked oom-killer: gfp_mask=…
//! memory: usage 61440kB, limit 61440kB, failcnt 38
//! oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=shop,mems_allowed=0,oom_memcg=/shop,task_memcg=/shop/importer,task=python3,pid=91,uid=0
//! Memory cgroup out of memory: Killed process 91 (python3) total-vm:63932kB, anon-rss:61204kB, file-rss:4kB, shmem-rss:1184kB, UID:0 pgtables:176kB …
//! ```
//!
//! If it kills a whole cgroup, these follow. The first victim then has a second line, in any place:
//!
//! ```text
//! Tasks in /shop are going to be killed due to memory.oom.group set
//! Memory cgroup out of memory: Killed process 93 (sleep) …
//! ```
//!
//! The report is rate-limited (ten in five seconds), the last line is not. Linux before 4.20 has other texts, which are
//! not read.

use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Errno;

use super::files::{self, Roots};
use super::parse::{LineBuffer, number};
use crate::model::Reading;
use crate::model::kill::{Constraint, KillOrigin, OomLimit, OomVictim, RssParts, forget_kills};

/// Maximum number of records that are read at once: more than the largest log holds.
const MAX_RECORDS: usize = 200_000;
/// Maximum number of bytes kept of a line. The kernel's own lines are shorter.
const MAX_LINE: usize = 4096;
/// Maximum number of bytes kept of a line that continues in further records.
const MAX_SUMMARY: usize = 16 << 10;
/// Maximum number of kills returned by one read; those that [matter most](forget_kills) are kept, and the others are counted.
const MAX_KILLS: usize = 64;
/// The beginnings of a kill's line, and whether a cgroup's limit was reached.
const KILLS: [(&[u8], bool); 3] = [
    (b"Memory cgroup out of memory: Killed process ", true),
    (b"Out of memory: Killed process ", false),
    (b"Out of memory (oom_kill_allocating_task): Killed process ", false),
];
/// The beginning of a report's last line.
const SUMMARY: &[u8] = b"oom-kill:constraint=";
/// The beginning of the line before the statistics of the cgroup whose limit was reached.
const STATISTICS: &[u8] = b"Memory cgroup stats for ";
/// A new line in a record.
const NEW_LINE: &[u8] = b"\\x0a";
/// Maximum time between two lines of one group kill: a slow serial console delays each.
const GROUP_GAP: Duration = Duration::from_secs(1);
/// A limit from here on, in KiB, is none: `PAGE_COUNTER_MAX`.
const NO_LIMIT: u64 = 1 << 52;

/// A kill, as logged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoggedKill {
    /// The number of its record, which is unique in a boot.
    pub record: u64,
    /// The time since boot, by the clock of the log.
    pub at: Duration,
    pub victim: OomVictim,
}

impl LoggedKill {
    /// Returns true if the machine's memory was full.
    pub const fn is_of_machine(&self) -> bool {
        !self.victim.is_limited()
    }

    /// Returns its origin, as far as it is known: see [`forget_kills`].
    pub fn origin(&self) -> Option<KillOrigin<'_>> {
        (!self.is_of_machine()).then(|| self.victim.origin())
    }
}

/// The kills of one read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoggedKills {
    /// The kills that [matter most](forget_kills), in the order of the log.
    pub kills: Vec<LoggedKill>,
    /// The number of the others, which are not in `kills`.
    pub more: usize,
    /// Number of lines that repeat a kill of a group. The kernel's counter counts them.
    pub repeats: usize,
    /// The last kill of the read before was the first of this group.
    pub group_of_last: Option<Box<[u8]>>,
}

/// The page cache in the statistics of a cgroup, in bytes.
#[derive(Clone, Copy, Debug, Default)]
struct PageCache {
    all: Option<u64>,
    /// The part of it that is shared memory and tmpfs.
    shmem: Option<u64>,
}

impl PageCache {
    /// Parses a record of statistics. It has one line or all, as `file 4096` or (v1) `total_cache 4096`. Returns `None` if it is another one.
    fn feed(&mut self, text: &[u8]) -> Option<()> {
        let mut rest = text;
        while !rest.is_empty() {
            let end = find(rest, NEW_LINE);
            let line = &rest[..end.unwrap_or(rest.len())];
            rest = end.map_or(&[][..], |end| &rest[end + NEW_LINE.len()..]);
            let Some((name, bytes)) = split(line, b' ').and_then(|(name, bytes)| Some((name, number(bytes)?))) else {
                // A record may be cut.
                return (line.len() < text.len()).then_some(());
            };
            match name {
                b"file" | b"total_cache" => self.all = Some(bytes),
                b"shmem" | b"total_shmem" => self.shmem = Some(bytes),
                _ => {}
            }
        }
        Some(())
    }

    fn files(self) -> Option<u64> {
        Some(self.all?.saturating_sub(self.shmem?))
    }
}

/// Parses the log record by record.
#[derive(Debug, Default)]
pub struct LogParser {
    found: LoggedKills,
    /// The `oom-kill:` line of the next kill.
    summary: Vec<u8>,
    /// The record before was a part of that line.
    is_in_summary: bool,
    /// The usage and the limit of the memory, and with swap (v1), of the cgroup whose limit was reached.
    usages: [Option<(u64, u64)>; 2],
    /// The records are the statistics of that cgroup.
    is_in_statistics: bool,
    cache: PageCache,
    last: Option<LoggedKill>,
    /// The group that is being killed.
    group: Option<GroupKill>,
}

#[derive(Debug)]
struct GroupKill {
    first: OomVictim,
    /// The time of its last kill.
    at: Duration,
}

impl LogParser {
    /// Adds a record, `priority,number,microseconds,flags;text`. Programs may write to the log, but not as the kernel
    /// (facility 0).
    pub fn feed(&mut self, line: &[u8]) {
        // Lines of properties of the record before begin with a blank.
        if let Some((head, text)) = split(line, b';')
            && !line.starts_with(b" ")
        {
            self.record(head, text);
        }
    }

    /// Takes the kills so far.
    pub fn take(&mut self) -> LoggedKills {
        std::mem::take(&mut self.found)
    }

    fn record(&mut self, head: &[u8], text: &[u8]) -> Option<()> {
        let mut fields = head.split(|b| *b == b',');
        let priority = number(fields.next()?)?;
        let record = number(fields.next()?)?;
        let at = Duration::from_micros(number(fields.next()?)?);
        if priority >= 8 {
            return None;
        }
        let is_part = fields.next().is_some_and(|flags| flags.contains(&b'c'));
        if is_part && self.is_in_summary {
            let room = MAX_SUMMARY - self.summary.len();
            self.summary.extend_from_slice(&text[..text.len().min(room)]);
            return None;
        }
        self.is_in_summary = false;
        if self.is_in_statistics {
            self.is_in_statistics = self.cache.feed(text).is_some();
        }
        // The name of a program, at most 15 bytes, may begin a line, too.
        if text.starts_with(SUMMARY) {
            self.summary.clear();
            self.summary.extend_from_slice(&text[..text.len().min(MAX_SUMMARY)]);
            self.is_in_summary = true;
        } else if let Some(usage) = text.strip_prefix(b"memory: usage ").filter(is_usage) {
            self.usages = [self::usage(usage), None];
        } else if let Some(usage) = text.strip_prefix(b"memory+swap: usage ") {
            self.usages[1] = self::usage(usage);
        } else if text.starts_with(STATISTICS) {
            (self.is_in_statistics, self.cache) = (true, PageCache::default());
        } else if let Some(path) = group(text) {
            self.start_group(path);
        } else if find(text, b" invoked oom-killer: ").is_some() {
            (self.summary, self.usages, self.cache) = (Vec::new(), [None; 2], PageCache::default());
        } else {
            let victim = kill(text)?;
            self.push(LoggedKill { record, at, victim });
        }
        None
    }

    /// The last kill was the first of this group.
    fn start_group(&mut self, path: Box<[u8]>) {
        let Some(mut first) = self.last.take() else { return };
        first.victim.group = Some(path.clone());
        self.group = Some(GroupKill {
            first: first.victim,
            at: first.at,
        });
        match self.found.kills.last_mut() {
            Some(kill) => kill.victim.group = Some(path),
            None => self.found.group_of_last = Some(path),
        }
    }

    fn push(&mut self, mut kill: LoggedKill) {
        let summary = std::mem::take(&mut self.summary);
        let usages = std::mem::take(&mut self.usages);
        let cache = std::mem::take(&mut self.cache);
        let victim = &mut kill.victim;
        if let Some(reason) = reason(&summary, victim) {
            self.group = None;
            add_reason(victim, reason, usages, cache);
        } else if let Some(group) = &mut self.group
            && victim.by_cgroup
            && kill.at.saturating_sub(group.at) <= GROUP_GAP
        {
            group.at = kill.at;
            let first = &group.first;
            if (first.pid, &first.comm) == (victim.pid, &victim.comm) {
                self.found.repeats += 1;
                return;
            }
            victim.constraint = first.constraint;
            (victim.limit, victim.group) = (first.limit.clone(), first.group.clone());
        } else {
            self.group = None;
        }
        self.found.kills.push(kill.clone());
        self.found.more += forget_kills(&mut self.found.kills, MAX_KILLS, LoggedKill::origin);
        self.last = Some(kill);
    }
}

/// Adds the data of the report to the victim.
fn add_reason(victim: &mut OomVictim, reason: Reason, usages: [Option<(u64, u64)>; 2], cache: PageCache) {
    victim.constraint = Some(reason.constraint);
    victim.cgroup = reason.cgroup;
    let share = |(usage, limit): &(u64, u64)| *usage as f64 / (*limit).max(1) as f64;
    // If several are equally full, the last one counts: memory alone.
    let fullest = usages.into_iter().rev().flatten();
    let fullest = fullest.max_by(|one, other| share(one).total_cmp(&share(other)));
    victim.limit = reason.limit.filter(|_| victim.by_cgroup).map(|cgroup| OomLimit {
        cgroup,
        usage: fullest.map(|(usage, _)| usage),
        size: fullest.map(|(_, limit)| limit),
        files: cache.files(),
    });
}

/// Reads the log from its beginning, and later what was added.
#[derive(Debug, Default)]
pub struct KillLog {
    /// Kept open, unless it is a file of a captured tree.
    fd: Option<OwnedFd>,
    /// The number of the last record.
    last: Option<u64>,
    parser: LogParser,
}

impl KillLog {
    /// Returns the kills since the last read.
    pub fn read(&mut self, roots: &Roots, buf: &mut [u8]) -> Reading<LoggedKills> {
        let fd = match self.fd.take() {
            Some(fd) => fd,
            None => open(roots)?,
        };
        let mut lines = LineBuffer::<MAX_LINE>::default();
        for _ in 0..MAX_RECORDS {
            match files::read_once(&fd, buf) {
                Ok(0) | Err(Errno::AGAIN) => break,
                Ok(len) => lines.feed(&buf[..len], |line| self.feed(line)),
                // Newer records have overwritten this one.
                Err(Errno::PIPE) => {}
                Err(errno) => return Err(files::reason(errno)),
            }
        }
        self.fd = Some(fd).filter(|_| roots.is_own());
        Ok(self.parser.take())
    }

    /// Adds a record that was not read before.
    fn feed(&mut self, line: &[u8]) {
        let number = line.split(|b| *b == b',').nth(1).and_then(number);
        if number.is_some() && number > self.last {
            self.last = number;
            self.parser.feed(line);
        }
    }
}

fn open(roots: &Roots) -> Reading<OwnedFd> {
    let path = if roots.is_own() {
        "/dev/kmsg".into()
    } else {
        roots.proc.join("../dev/kmsg")
    };
    // Without NONBLOCK, the last read would wait for a new record.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    openat(CWD, &path, flags, Mode::empty()).map_err(files::optional_reason)
}

fn find(text: &[u8], wanted: &[u8]) -> Option<usize> {
    text.windows(wanted.len()).position(|window| window == wanted)
}

fn find_last(text: &[u8], wanted: &[u8]) -> Option<usize> {
    text.windows(wanted.len()).rposition(|window| window == wanted)
}

fn split(text: &[u8], at: u8) -> Option<(&[u8], &[u8])> {
    let at = text.iter().position(|b| *b == at)?;
    Some((&text[..at], &text[at + 1..]))
}

/// Returns true for the kernel's own line, and false if `memory: usage` is the name of a program.
fn is_usage(text: &&[u8]) -> bool {
    find(text, b"kB, limit ").is_some()
}

/// Parses `61440kB, limit 61440kB, failcnt 38`: the usage and the limit in bytes, unless there is none.
fn usage(text: &[u8]) -> Option<(u64, u64)> {
    let (usage, rest) = split(text, b'k')?;
    let (limit, _) = split(rest.strip_prefix(b"B, limit ")?, b'k')?;
    let limit = number(limit).filter(|limit| *limit < NO_LIMIT)?;
    Some((number(usage)?.checked_mul(1024)?, limit.checked_mul(1024)?))
}

/// Returns the path of the cgroup whose processes are all killed.
fn group(text: &[u8]) -> Option<Box<[u8]>> {
    let rest = text.strip_prefix(b"Tasks in ")?;
    let path = rest.strip_suffix(b" are going to be killed due to memory.oom.group set")?;
    Some(unescape(path).into())
}

struct Reason {
    constraint: Constraint,
    /// The cgroup whose limit was reached.
    limit: Option<Box<[u8]>>,
    /// The victim's.
    cgroup: Option<Box<[u8]>>,
}

/// Parses the line `oom-kill:…` of this victim. Names in it may hold anything, commas too. It is therefore parsed from
/// its ends: the victim's name and pid are known, and only the paths of cgroups have slashes.
fn reason(summary: &[u8], victim: &OomVictim) -> Option<Reason> {
    let text = unescape(summary);
    let rest = text.strip_prefix(SUMMARY)?;
    let (constraint, _) = split(rest, b',')?;
    let constraint = match constraint {
        b"CONSTRAINT_NONE" => Constraint::None,
        b"CONSTRAINT_CPUSET" => Constraint::Cpuset,
        b"CONSTRAINT_MEMORY_POLICY" => Constraint::MemoryPolicy,
        b"CONSTRAINT_MEMCG" => Constraint::Cgroup,
        _ => return None,
    };
    let end = [b",task=", &*victim.comm, format!(",pid={},uid=", victim.pid).as_bytes()].concat();
    let head = &rest[..find_last(rest, &end)?];
    let task = b",task_memcg=";
    // The name of the cpuset may imitate what follows it, but without a slash.
    let by_limit = find(head, b",oom_memcg=/").map(|at| (at, true));
    let by_machine = find(head, b",global_oom,task_memcg=/").map(|at| (at, false));
    let (at, is_limited) = by_limit.into_iter().chain(by_machine).min()?;
    let rest = &head[at + 1..];
    let Some(limit) = is_limited.then(|| &rest[b"oom_memcg=".len()..]) else {
        return Some(Reason {
            constraint,
            limit: None,
            cgroup: Some(rest[b"global_oom,task_memcg=".len()..].into()),
        });
    };
    // The victim's cgroup is that cgroup, or below it.
    let mut ends = (0..limit.len()).filter(|at| limit[*at..].starts_with(task));
    let is_below = |at: &usize| limit[at + task.len()..].starts_with(&limit[..*at]);
    let at = ends.clone().find(is_below).or_else(|| ends.next());
    Some(Reason {
        constraint,
        limit: at.map(|at| limit[..at].into()),
        cgroup: at.map(|at| limit[at + task.len()..].into()),
    })
}

/// Parses `Out of memory: Killed process 7 (name) total-vm:8kB, anon-rss:4kB, file-rss:0kB, shmem-rss:0kB, …`. The name
/// may hold anything.
fn kill(text: &[u8]) -> Option<OomVictim> {
    let (rest, by_cgroup) = KILLS
        .iter()
        .find_map(|(words, by_cgroup)| Some((text.strip_prefix(*words)?, *by_cgroup)))?;
    let (pid, rest) = split(rest, b' ')?;
    let pid = u32::try_from(number(pid)?).ok()?;
    let rest = rest.strip_prefix(b"(")?;
    let end = b") total-vm:";
    let close = find_last(rest, end)?;
    let figures = &rest[close + end.len()..];
    let kib = |name: &[u8]| {
        let digits = &figures[find(figures, name)? + name.len()..];
        number(split(digits, b'k')?.0)?.checked_mul(1024)
    };
    let uid = || {
        let digits = &figures[find(figures, b" UID:")? + b" UID:".len()..];
        u32::try_from(number(digits.split(|b| *b == b' ').next()?)?).ok()
    };
    let parts = RssParts {
        anon: kib(b"anon-rss:").unwrap_or(0),
        file: kib(b"file-rss:").unwrap_or(0),
        shmem: kib(b"shmem-rss:").unwrap_or(0),
    };
    Some(OomVictim {
        pid,
        uid: uid(),
        comm: unescape(&rest[..close]).into(),
        rss: parts.anon.saturating_add(parts.file).saturating_add(parts.shmem),
        by_cgroup,
        parts: Some(parts),
        page_tables: kib(b" pgtables:"),
        constraint: None,
        limit: None,
        cgroup: None,
        group: None,
    })
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

//! The small files of one process: `stat`, `statm`, `status`, `cmdline`, `exe`, `limits`; and `kcmp(2)`.
//!
//! All parsers are pure, except [`compare_memory`] and [`compare_descriptors`].

use std::cmp::Ordering;
use std::num::NonZero;

use rustix::io::Errno;

use super::parse::{kib, number, words};
use crate::model::{Missing, Reading, Replaced, Stat};

/// The parsed fields of a `stat`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Glance<'a> {
    /// Field 1.
    pub pid: u32,
    /// Field 2 without its parentheses: any bytes, including parentheses and newlines.
    pub comm: &'a [u8],
    /// Field 22: clock ticks after boot.
    pub starttime: u64,
    /// Minor and major faults of the process and of the children it has waited for: fields 10 to 13.
    pub faults: u64,
    pub stat: Stat,
}

/// Parses `/proc/<pid>/stat`: the glance, which shows whether a walk could find anything new; `page` is the page size
/// in bytes.
///
/// Fields are counted from the last `)`, since a comm may contain others. The fields up to 24 must exist, and more must
/// follow, since the last number of a truncated file may be wrong. Otherwise the file is [`Missing::Malformed`].
pub fn stat(bytes: &[u8], page: u64) -> Reading<Glance<'_>> {
    try_stat(bytes, page).ok_or(Missing::Malformed)
}

fn try_stat(bytes: &[u8], page: u64) -> Option<Glance<'_>> {
    let close = bytes.iter().rposition(|b| *b == b')')?;
    let open = bytes[..close].iter().position(|b| *b == b'(')?;
    let pid = u32::try_from(number(bytes[..open].trim_ascii())?).ok()?;

    let mut fields = Fields(&bytes[close + 1..]);
    let mut stat = Stat {
        state: *fields.nth(0)?.first()?,
        ppid: u32::try_from(number(fields.nth(0)?)?).ok()?,
        ..Stat::default()
    };
    // The argument of `nth` is the number of fields skipped.
    stat.session = number(fields.nth(1)?)
        .and_then(|id| u32::try_from(id).ok())
        .unwrap_or(0); // 6
    stat.flags = number(fields.nth(2)?)?; // 9
    stat.minflt = number(fields.nth(0)?)?; // 10
    let minor_of_children = number(fields.nth(0)?)?; // 11
    stat.majflt = number(fields.nth(0)?)?; // 12
    let major_of_children = number(fields.nth(0)?)?; // 13
    let user = number(fields.nth(0)?)?; // 14
    let system = number(fields.nth(0)?)?; // 15
    stat.cpu_ticks = user.saturating_add(system);
    stat.threads = number(fields.nth(4)?)?; // 20
    let starttime = number(fields.nth(1)?)?; // 22
    stat.vsize = number(fields.nth(0)?)?; // 23
    stat.rss = number(fields.nth(0)?)?.checked_mul(page)?; // 24
    fields.nth(0)?; // 25: a file truncated before it may end in half a number
    let mut image = [0; 3]; // 26–28
    let mut argv = [0; 2]; // 48 and 49
    for field in &mut image {
        *field = fields.nth(0).map_or(Some(0), number)?;
    }
    for (field, skip) in argv.iter_mut().zip([19, 0]) {
        *field = fields.nth(skip).map_or(Some(0), number)?;
    }
    // Without permission to see them, the fields are 1, 1 and 0. For a kernel thread they are all 0.
    if image.iter().any(|n| *n > 1) {
        stat.image = digest(0, image);
    }
    if argv.iter().any(|n| *n > 1) {
        stat.argv = digest(0, argv);
    }
    Some(Glance {
        pid,
        comm: &bytes[open + 1..close],
        starttime,
        faults: [stat.minflt, stat.majflt, minor_of_children, major_of_children]
            .into_iter()
            .fold(0, u64::wrapping_add),
        stat,
    })
}

/// The remaining fields, separated by single blanks and ended by a newline. They are parsed for every process in every
/// tick, so skipped fields are only counted.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    /// Skips `skip` fields and returns the next one.
    fn nth(&mut self, skip: usize) -> Option<&'a [u8]> {
        let is_blank = |b: &u8| *b <= b' ';
        let (mut from, mut len) = (usize::from(self.0.first().is_some_and(is_blank)), 0);
        let mut left = skip;
        // The fields are short, so one loop over the bytes serves both skipping and reading.
        for b in self.0.get(from..)? {
            if !is_blank(b) {
                len += 1;
            } else if left > 0 {
                (from, len, left) = (from + len + 1, 0, left - 1);
            } else {
                break;
            }
        }
        let field = &self.0[from..from + len];
        self.0 = &self.0[from + len..];
        (left == 0 && len > 0).then_some(field)
    }
}

/// Hashes `words`; never returns 0. Different words almost certainly have different hashes.
fn digest(seed: u64, words: impl IntoIterator<Item = u64>) -> u64 {
    let mix = |h: u64, w: u64| (h.rotate_left(23) ^ w).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    words.into_iter().fold(seed, mix).max(1)
}

/// Hashes a name; never returns 0.
pub fn name_digest(name: &[u8]) -> u64 {
    let (words, rest) = name.as_chunks::<8>();
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    let words = words.iter().chain([&last]).map(|w| u64::from_ne_bytes(*w));
    digest(name.len() as u64, words)
}

/// The resident pages of a process by kind, from the kernel's running counters, and its private writable address space,
/// in bytes. The counters ignore sharing, and reading them walks no page tables. Before Linux 6.17 they lag behind by a
/// batch of pages for each CPU: see [`inexact`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statm {
    /// Anonymous pages: `resident − shared`.
    pub anon: u64,
    /// Pages of files, shmem and tmpfs, not divided by sharers. The kernel calls them `shared`.
    pub shared: u64,
    /// The private writable part of the address space, touched or not: the field `data`. `None` if it is not reported.
    pub data: Option<NonZero<u64>>,
}

/// Parses `/proc/<pid>/statm`; `page` is the page size in bytes.
///
/// The fields up to the third must exist, and more must follow, since the last number of a truncated file may be wrong.
/// Otherwise it is [`Missing::Malformed`].
pub fn statm(bytes: &[u8], page: u64) -> Reading<Statm> {
    try_statm(bytes, page).ok_or(Missing::Malformed)
}

fn try_statm(bytes: &[u8], page: u64) -> Option<Statm> {
    let mut fields = words(bytes);
    let resident = number(fields.nth(1)?)?.checked_mul(page)?;
    let shared = number(fields.next()?)?.checked_mul(page)?;
    fields.next()?;
    // One unused field precedes it, and another follows.
    let data = fields.nth(1).and_then(number).filter(|_| fields.next().is_some());
    let data = data.and_then(|pages| pages.checked_mul(page));
    Some(Statm {
        // The counters are read one after another, and those that lag may read too low.
        anon: resident.saturating_sub(shared),
        shared,
        data: data.and_then(NonZero::new),
    })
}

/// Returns the maximum error of each count of a [`Statm`], in pages, on a kernel of that `release` (as `uname` reports it) for a
/// process with that many threads. An unparsable release is treated as an old one.
///
/// Since Linux 6.17 counts are exact. From 6.2 each CPU holds back up to a batch of pages of each kind
/// (`percpu_counter_batch`); before, each thread held back up to 64 pages of all kinds (`TASK_RSS_EVENTS_THRESH`).
pub fn inexact(release: &[u8], cpus: u64, threads: u64) -> u64 {
    let mut parts = release.split(|b| !b.is_ascii_digit());
    let mut part = || parts.next().and_then(number).unwrap_or(0);
    match (part(), part()) {
        version if version >= (6, 17) => 0,
        version if version >= (6, 2) => cpus.saturating_mul(cpus.saturating_mul(2).max(32)),
        _ => threads.max(1).saturating_mul(64),
    }
}

/// Parses the effective user id in `/proc/<pid>/status`, the second number of `Uid:`. It decides the permissions of a process and the owner of
/// `/proc/<pid>`. The kernel writes a newline in the name of the process as `\n`, so the line cannot be forged.
pub fn uid(bytes: &[u8]) -> Reading<u32> {
    nth_uid(bytes, 1)
}

/// Parses the real user id, the first number. A program with the set-user-ID bit has the one of the user who started it.
pub fn real_uid(bytes: &[u8]) -> Reading<u32> {
    nth_uid(bytes, 0)
}

fn nth_uid(bytes: &[u8], place: usize) -> Reading<u32> {
    line(bytes, b"Uid:")
        .and_then(|ids| words(ids).nth(place))
        .and_then(number)
        .and_then(|id| u32::try_from(id).ok())
        .ok_or(Missing::Malformed)
}

/// The users and the effective capabilities of a process, from `status`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rights {
    /// The real, effective and saved user id.
    uids: [u64; 3],
    capabilities: u64,
}

/// Parses the rights of a process in `/proc/<pid>/status`.
pub fn rights(bytes: &[u8]) -> Reading<Rights> {
    let mut ids = line(bytes, b"Uid:").map(words).into_iter().flatten().map_while(number);
    let mut id = || ids.next().ok_or(Missing::Malformed);
    let uids = [id()?, id()?, id()?];
    let capabilities = line(bytes, b"CapEff:").and_then(|mask| std::str::from_utf8(mask.trim_ascii()).ok());
    let capabilities = capabilities.and_then(|mask| u64::from_str_radix(mask, 16).ok());
    Ok(Rights {
        uids,
        capabilities: capabilities.ok_or(Missing::Malformed)?,
    })
}

impl Rights {
    /// `CAP_KILL` of `include/uapi/linux/capability.h`.
    const CAP_KILL: u64 = 1 << 5;

    pub const fn effective(&self) -> u32 {
        self.uids[1] as u32
    }

    /// Returns true if root started it. A program with the set-user-ID bit has the real id of its user.
    pub const fn is_root(&self) -> bool {
        matches!(self.uids, [0, 0, 0])
    }

    /// Returns true if it may send signals to the processes of all users of its user namespace, and got that right with its
    /// user, not by the set-user-ID bit.
    pub const fn may_kill(&self) -> bool {
        let [real, effective, saved] = self.uids;
        real == effective && saved == effective && self.capabilities & Self::CAP_KILL != 0
    }
}

/// Returns true if a `/proc/<pid>/uid_map` maps all ids to themselves, as in the initial user namespace. A process without
/// rights there cannot make another one like it.
pub fn has_all_users(map: &[u8]) -> bool {
    words(map).map(number).eq([Some(0), Some(0), Some(u32::MAX.into())])
}

/// Parses `VmSwap` of a `status`: anonymous memory swapped out, in bytes. Kernel threads have no such line.
pub fn swap(bytes: &[u8]) -> Reading<u64> {
    figure(bytes, b"VmSwap:").ok_or(Missing::Malformed)
}

/// Parses `VmRSS` of a `status`, in bytes. Kernel threads have no such line.
pub fn vm_rss(bytes: &[u8]) -> Reading<u64> {
    figure(bytes, b"VmRSS:").ok_or(Missing::Malformed)
}

/// Parses `VmHWM` of a `status`: the highest RSS so far, in bytes. Kernel threads have no such line.
pub fn peak(bytes: &[u8]) -> Reading<u64> {
    figure(bytes, b"VmHWM:").ok_or(Missing::Malformed)
}

/// Parses `VmPTE` of a `status`: the page tables, in bytes. Kernel threads have no such line.
pub fn page_tables(bytes: &[u8]) -> Reading<u64> {
    figure(bytes, b"VmPTE:").ok_or(Missing::Malformed)
}

/// Parses `RssAnon`, `RssFile` and `RssShmem`, `VmData` and `VmStk` of a `status`: the figures of `statm`, consistent with [`swap`].
/// Needs Linux 4.5.
pub fn resident(bytes: &[u8]) -> Reading<Statm> {
    let shared = figure(bytes, b"RssFile:").zip(figure(bytes, b"RssShmem:"));
    let both = figure(bytes, b"RssAnon:").zip(shared);
    let data = figure(bytes, b"VmData:").zip(figure(bytes, b"VmStk:"));
    both.map(|(anon, (file, shmem))| Statm {
        anon,
        shared: file.saturating_add(shmem),
        data: data.and_then(|(data, stack)| NonZero::new(data.saturating_add(stack))),
    })
    .ok_or(Missing::Malformed)
}

fn figure(bytes: &[u8], name: &[u8]) -> Option<u64> {
    line(bytes, name).and_then(kib)
}

/// Returns the rest of the first line that begins with `name`.
fn line<'a>(bytes: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    bytes.split(|b| *b == b'\n').find_map(|line| line.strip_prefix(name))
}

/// Maximum number of bytes kept of a command line. Linux allows megabytes: no screen could show them, and any user
/// could fill zmtop's memory with them.
pub const MAX_CMDLINE: usize = 4 << 10;
/// The number of these bytes that come from the end. A Java program's class follows its class path, which may be long.
const MAX_END: usize = 1 << 10;
const ELLIPSIS: &[u8] = "…".as_bytes();

/// Returns true if [`cmdline`] has cut this command line.
pub fn is_cut(kept: &[u8]) -> bool {
    let most = MAX_CMDLINE - MAX_END - ELLIPSIS.len();
    let cut = kept.get(most - 3..).filter(|_| kept.len() > MAX_CMDLINE - 8);
    cut.is_some_and(|rest| rest.windows(ELLIPSIS.len()).take(4).any(|part| part == ELLIPSIS))
}

/// Returns the part that is kept of `/proc/<pid>/cmdline`: the arguments, or the title that a process wrote over them.
/// If it has more than [`MAX_CMDLINE`] bytes, that is its beginning, `…` and its end. The NULs that pad a short title do
/// not count.
pub fn cmdline(bytes: &[u8]) -> Box<[u8]> {
    if bytes.len() <= MAX_CMDLINE {
        return bytes.into();
    }
    let end = bytes.iter().rposition(|b| *b != 0).map_or(0, |at| at + 1);
    if end <= MAX_CMDLINE {
        return bytes[..end].into();
    }
    // Do not cut within a UTF-8 character, which has at most 4 bytes.
    let is_boundary = |at: &usize| bytes[*at] & 0xc0 != 0x80;
    let most = MAX_CMDLINE - MAX_END - ELLIPSIS.len();
    let head = (most - 3..=most).rev().find(is_boundary).unwrap_or(most);
    let least = end - MAX_END;
    let tail = (least..least + 3).find(is_boundary).unwrap_or(least);
    [&bytes[..head], ELLIPSIS, &bytes[tail..end]].concat().into()
}

/// The suffix that the kernel appends to the path of a file whose name was removed (`d_path` of `fs/d_path.c`).
const DELETED: &[u8] = b" (deleted)";
/// The prefix of the path of a file that never had a name (`memfd_create(2)`).
const MEMFD: &[u8] = b"/memfd:";

/// The parts of the link `/proc/<pid>/exe`. They borrow raw bytes, since paths may hold anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExeLink<'a> {
    /// The path without the kernel's suffix.
    pub path: &'a [u8],
    pub whole: &'a [u8],
    /// True if the link ends with the suffix. A file may really have such a name: only the file system can decide.
    pub marked: bool,
}

/// Parses the text of the link. A memfd never had a path to lose: its path is the name it was given, and `marked` is
/// false.
pub fn exe_link(text: &[u8]) -> ExeLink<'_> {
    let (path, marked) = text
        .strip_suffix(DELETED)
        .map_or((text, false), |path| (path, !path.starts_with(MEMFD)));
    ExeLink {
        path,
        whole: text,
        marked,
    }
}

/// The identity of a file: device and inode.
pub type FileId = (u64, u64);

impl<'a> ExeLink<'a> {
    /// Returns the path of the file and whether it was replaced. `runs` is the identity of the file that the process
    /// runs; `there` returns the identity of the file at a path, or `None` if unknown.
    pub fn judge(&self, runs: Option<FileId>, there: impl Fn(&[u8]) -> Option<FileId>) -> (&'a [u8], Option<Replaced>) {
        if !self.marked {
            return (self.path, None);
        }
        if runs.is_some() && there(self.whole) == runs {
            return (self.whole, None);
        }
        let replaced = match there(self.path) {
            // The name was removed and then given back to the same file.
            Some(file) if Some(file) == runs => None,
            Some(_) => Some(Replaced::Updated),
            None => Some(Replaced::Deleted),
        };
        (self.path, replaced)
    }
}

/// Parses the limit of the address space (`RLIMIT_AS`) in `/proc/<pid>/limits`, in bytes. Returns `None` if it is
/// unlimited.
pub fn address_space_limit(limits: &[u8]) -> Reading<Option<u64>> {
    let soft = line(limits, b"Max address space").and_then(|rest| words(rest).next());
    match soft.ok_or(Missing::Unsupported)? {
        b"unlimited" => Ok(None),
        digits => number(digits).map(Some).ok_or(Missing::Malformed),
    }
}

/// `KCMP_VM` and `KCMP_FILES` of `include/uapi/linux/kcmp.h`.
const KCMP_VM: libc::c_int = 1;
const KCMP_FILES: libc::c_int = 2;

/// Compares the address spaces of the processes `a` and `b` by `kcmp(2)`, in an order of the kernel's own that stays the same
/// until the machine restarts. They are equal if both processes share one. The pids are in zmtop's own pid namespace. Must not
/// be called for kernel threads and zombies: they have no address space, and the kernel reports them as sharing one.
///
/// # Errors
/// EPERM if either may not be examined, ENOSYS if the kernel was built without it, ESRCH if one is gone. May block
/// while one of them executes another program.
pub fn compare_memory(a: u32, b: u32) -> Result<Ordering, Errno> {
    kcmp(a, b, KCMP_VM)
}

/// Compares the descriptor tables of the threads `a` and `b` as [`compare_memory`] does address spaces.
///
/// # Errors
/// The same.
pub fn compare_descriptors(a: u32, b: u32) -> Result<Ordering, Errno> {
    kcmp(a, b, KCMP_FILES)
}

fn kcmp(a: u32, b: u32, kind: libc::c_int) -> Result<Ordering, Errno> {
    let pid = |pid: u32| i32::try_from(pid).map_err(|_| Errno::SRCH);
    #[expect(unsafe_code, reason = "no library offers kcmp(2)")]
    // SAFETY: kcmp takes five numbers and writes to no memory. For these kinds it ignores the last two.
    let order = unsafe { libc::syscall(libc::SYS_kcmp, pid(a)?, pid(b)?, kind, 0_u64, 0_u64) };
    match order {
        0 => Ok(Ordering::Equal),
        1 => Ok(Ordering::Less),
        2.. => Ok(Ordering::Greater),
        _ => Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::INVAL)),
    }
}

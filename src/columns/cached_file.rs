//! The columns of files whose pages are in memory.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::{Column, Label, Priority, SortKey, TableKind, Unit, Value};
use crate::filter::{Filterable, TextField};
use crate::model::page_cache::{CacheFigures, CachedFile, FileKind, PageCache, total};
use crate::model::{Missing, Reading};
use crate::units::{Units, bytes, counted};

/// A file, or the sums of files.
#[derive(Clone, Copy, Debug)]
pub struct CachedRow<'a> {
    /// `None` for a sum.
    pub file: Option<&'a CachedFile>,
    pub figures: Reading<CacheFigures>,
    /// For a sum: some figures other than CACHED are unknown, so the sums are lower bounds.
    pub is_partial: bool,
    /// The size of a page.
    pub page: u64,
}

impl<'a> CachedRow<'a> {
    pub const fn new(file: &'a CachedFile, page: u64) -> Self {
        Self {
            file: Some(file),
            figures: file.figures,
            is_partial: false,
            page,
        }
    }

    /// Returns the sums of the page cache in these rows, without shared memory.
    pub fn total(rows: &[Self], page: u64) -> Self {
        let files = || rows.iter().filter_map(|row| row.file);
        Self {
            file: None,
            figures: Ok(total(files(), FileKind::Cache)),
            is_partial: files().any(|file| file.figures.is_ok_and(|figures| figures.dirty.is_err())),
            page,
        }
    }

    fn of_file(&self, value: impl FnOnce(&'a CachedFile) -> Value<'a>) -> Value<'a> {
        self.file.map_or(Value::Blank, value)
    }

    fn figure(&self, get: fn(&CacheFigures) -> Reading<u64>) -> Value<'a> {
        Value::bytes(self.figures.as_ref().map_err(|why| *why).and_then(get))
    }

    /// Returns a figure that `mincore` does not report.
    fn counted(&self, get: fn(&CacheFigures) -> Reading<u64>) -> Value<'a> {
        match self.figure(get) {
            Value::Bytes(known) if self.is_partial => Value::AtLeast(known),
            value => value,
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub enum CachedFiles {}

impl TableKind for CachedFiles {
    type Row<'a> = CachedRow<'a>;

    const COLUMNS: &'static [Column<Self>] = COLUMNS;

    fn tie<'a>(row: &'a CachedRow<'a>) -> SortKey {
        row.figure(|figures| Ok(figures.cached)).sort_key()
    }
}

impl Filterable for CachedRow<'_> {
    fn text(&self, field: TextField) -> Option<Cow<'_, [u8]>> {
        let file = self.file?;
        match field {
            TextField::CommandLine | TextField::Group => Some(Cow::Borrowed(&file.path)),
            TextField::Comm => file.first.as_ref().map(|(_, comm)| Cow::Borrowed(&**comm)),
            _ => None,
        }
    }

    fn pid(&self) -> Option<u32> {
        self.file?.first.as_ref().map(|(pid, _)| *pid)
    }

    fn number(&self, column: usize) -> Option<f64> {
        (COLUMNS.get(column)?.value)(self).number()
    }
}

type Entry = Column<CachedFiles>;

pub static COLUMNS: &[Entry] = &[
    Entry::bytes("cached", "CACHED", |r| r.figure(|figures| Ok(figures.cached)))
        .help(
            "The cached pages of the file. The sum excludes files of tmpfs, which are shared memory. Kernel: nr_cache \
             of cachestat, or the pages that mincore reports.",
        )
        .priority(Priority::Highest),
    Entry::bytes("dirty", "DIRTY", |r| r.counted(|figures| figures.dirty))
        .help("Pages that were changed and not written back yet. Kernel: nr_dirty of cachestat (Linux 6.5).")
        .priority(Priority::High),
    Entry::bytes("writeback", "WRITEB", |r| r.counted(|figures| figures.writeback))
        .help("Pages that are being written back. Kernel: nr_writeback of cachestat (Linux 6.5)."),
    Entry::bytes("evicted", "EVICTED", |r| r.counted(|figures| figures.evicted))
        .help("Pages that were cached once and were reclaimed. Kernel: nr_evicted of cachestat (Linux 6.5)."),
    Entry::bytes("recently_evicted", "RECENT", |r| {
        r.counted(|figures| figures.recently_evicted)
    })
    .help(
        "The part of EVICTED that was reclaimed recently. If a process reads it again, memory is short. Kernel: \
         nr_recently_evicted of cachestat (Linux 6.5).",
    )
    .priority(Priority::Low),
    Entry::bytes("size", "SIZE", |r| r.of_file(|file| Value::bytes(file.size)))
        .help("The size of the file. Kernel: stx_size of statx.")
        .additive(false),
    Entry::figure("share", "FILE%", Unit::Share, 5, |r| {
        r.of_file(|file| file.share(r.page).map_or(Value::Blank, Value::Share))
    })
    .help("The part of the file that is cached. Formula: CACHED ÷ SIZE, both in whole pages.")
    .priority(Priority::High),
    Entry::figure("processes", "BY", Unit::Count, 3, |r| {
        r.of_file(|file| file.processes.map_or_else(Value::Missing, |n| Value::Count(n.into())))
    })
    .help("Number of examined processes that have the file open or mapped."),
    Entry::figure("pid", "PID", Unit::Count, 7, |r| {
        r.of_file(|file| {
            let first = file.first.as_ref();
            first.map_or(Value::Blank, |(pid, _)| Value::Id((*pid).into()))
        })
    })
    .help("The first of these processes: the one with the lowest pid.")
    .ascending(),
    Entry::text("comm", "NAME", 15, |r| {
        r.of_file(|file| {
            let first = file.first.as_ref();
            first.map_or(Value::Blank, |(_, comm)| Value::text(Ok(comm)))
        })
    })
    .help("The short name of this process. Kernel: comm."),
    Entry::text("kind", "KIND", 5, |r| {
        r.of_file(|file| Value::text(Ok(file.kind.id().as_bytes())))
    })
    .help("cache, or shmem for a file of tmpfs, which is shared memory and is in no total here.")
    .priority(Priority::Low),
    Entry::text("deleted", "GONE", 7, |r| {
        r.of_file(|file| {
            let mark = file.is_deleted.then(|| Value::text(Ok(b"deleted")));
            mark.unwrap_or(Value::Blank)
        })
    })
    .help("`deleted` if the file was removed or replaced. Its pages stay while a process uses it."),
    Entry::text("unread", "UNREAD", 10, |r| {
        r.of_file(|file| match file.figures {
            Ok(_) => Value::Blank,
            Err(why) => Value::Text(Cow::Owned(why.to_string().into_bytes())),
        })
    })
    .help(
        "Why the cached part is unknown. The kernel reports it only to the owner of the file and to users who may \
         write to it.",
    ),
    Entry::text("file", "FILE", 12, |r| r.of_file(|file| Value::text(Ok(&file.path))))
        .help("The path of the file, as the process sees it.")
        .label(Label::Group)
        .grows()
        .priority(Priority::Highest),
];

/// Returns why nothing could be read.
pub fn unread(why: Missing) -> String {
    match why {
        Missing::Unsupported => "the files of processes can only be read from the kernel's own /proc".into(),
        why => format!("the processes cannot be listed: {why}"),
    }
}

/// Returns how much of the machine's page cache is in these files, and which data the figures lack: one sentence each.
pub fn notes(found: &PageCache, units: Units) -> Vec<String> {
    let bytes = |n| bytes(n, units);
    let cached = bytes(found.total(FileKind::Cache).cached);
    let is_unread = !found.unread_processes.is_empty() || found.files.iter().any(|file| file.figures.is_err());
    let reasons = [
        ("are closed", true),
        ("were left out", found.left_out.0 > 0),
        ("could not be read", is_unread),
    ];
    let reasons = reasons
        .into_iter()
        .filter(|(_, applies)| *applies)
        .map(|(reason, _)| reason);
    let (files, rest) = if found.is_of_all {
        let rest = format!("files that {}", reasons.collect::<Vec<_>>().join(" or "));
        ("files that are open or mapped", rest)
    } else {
        ("these files", "others".into())
    };
    let machine = found.machine.map(bytes);
    let machine = machine.map_or_else(
        |why| format!("{cached} of page cache is in {files}; the size of the whole page cache is unknown: {why}"),
        |machine| format!("{cached} of {machine} of page cache is in {files}; the rest belongs to {rest}"),
    );
    let mut notes = vec![machine];
    let mut processes: BTreeMap<Missing, u64> = BTreeMap::new();
    for (_, why) in &found.unread_processes {
        *processes.entry(*why).or_default() += 1;
    }
    notes.extend(processes.into_iter().map(|(why, count)| {
        let processes = counted(count, "process");
        format!("the files of {processes} could not be listed: {why}")
    }));
    let shmem = found.total(FileKind::Shmem).cached;
    if shmem > 0 {
        let shmem = bytes(shmem);
        notes.push(format!(
            "{shmem} in files of tmpfs is shared memory, and in no total here"
        ));
    }
    if let (left_out @ 1.., size) = found.left_out {
        let looked = found.files.len() as u64;
        let (all, size) = (counted(looked + left_out, "file"), bytes(size));
        notes.push(format!(
            "examined {looked} of {all}, the largest first; at most {size} of the others is cached (their total size)"
        ));
    }
    let refused = found.unread(Missing::Denied);
    if refused > 0 {
        let refused = counted(refused as u64, "file");
        notes.push(format!(
            "{refused} unknown: the kernel reports the cached part of a file only to its owner and to users who may write to it"
        ));
    }
    let late = found.unread(Missing::TimedOut);
    if late > 0 {
        notes.push(format!("{} timed out", counted(late as u64, "file")));
    }
    notes
}

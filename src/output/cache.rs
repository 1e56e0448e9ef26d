//! The report of the files that fill the page cache.
//!
//! ```text
//! CACHED  DIRTY  EVICTED   SIZE  FILE%   BY      PID  NAME      FILE
//!   2.1G      0        0   2.1G  100.0    4     1301  postgres  /var/lib/postgresql/16/main/base/16384/24601
//!  812M    12M      96M   4.0G   19.8    1      977  mysqld    /var/lib/mysql/ibdata1
//!   4.1G    12M      96M                                       412 files, 2 shown
//! 4.1G of 5.0G of page cache is in files that are open or mapped; the rest belongs to files that are closed
//! ```

use super::data::{Object, described_object};
use super::report_layout::ReportLayout;
use super::table_report::{TableReport, table_fields};
use crate::columns::cached_file::{COLUMNS, CachedFiles, CachedRow, notes};
use crate::model::page_cache::{FileKind, PageCache};
use crate::schema::Schema;

/// Fields are never removed or renamed, only added.
const SCHEMA: &str = "zmtop-cache/1";

/// Reports files: those that pass the filter, and their sums.
pub fn cache_report<'r>(
    found: &'r PageCache,
    rows: (&'r [CachedRow<'r>], &'r CachedRow<'r>),
    layout: ReportLayout<CachedFiles>,
) -> TableReport<'r, CachedFiles> {
    let unread = rows.0.iter().filter(|row| row.figures.is_err()).count();
    let notes = notes(found, layout.style.units);
    let parts = (before(found), "files", after(found));
    let mut report = TableReport::new(layout, rows, ("file", Some((unread, "not read"))), parts);
    report.notes = notes;
    report
}

described_object! {
    fn before, before_fields<'f>(found: &'f PageCache) -> Object<'f> {
        /// The name of this schema.
        "schema": text() => SCHEMA,
        /// The page cache of the whole machine. Formula: Cached − Shmem of meminfo.
        "page_cache": bytes().null("unknown") => found.machine,
        /// The part of it that is in the examined files.
        "in_files": bytes() => found.total(FileKind::Cache).cached,
        /// Shared memory in files of tmpfs, which is no page cache.
        "shmem": bytes() => found.total(FileKind::Shmem).cached,
    }

    fn after, after_fields<'f>(found: &'f PageCache) -> Object<'f> {
        /// Number of examined files.
        "looked_at": count() => found.files.len(),
        /// Number of smaller files that were not examined, because there are too many.
        "left_out": count() => found.left_out.0,
        /// The sum of the sizes of those: they have no more than that in the cache.
        "left_out_size": bytes() => found.left_out.1,
        /// Number of processes whose files could not be listed.
        "unread_processes": count() => found.unread_processes.len(),
        /// Number of files and directories that were named, or are in a named one, and could not be listed.
        "unread_paths": count() => found.unread_paths.len(),
    }
}

pub fn schema() -> Schema {
    let rows = ("files", "The files, in the requested order.");
    let sums = "Sums over all files that pass the filter, except files on tmpfs.";
    Schema {
        name: SCHEMA,
        help: "The files that fill the page cache. Written by `zmtop cache`.",
        fields: [
            before_fields(),
            table_fields(COLUMNS, rows, sums, |sums| sums),
            after_fields(),
        ]
        .concat(),
    }
}

//! The names of the groups that a process is in.

use crate::group::key::GroupBy;
use crate::model::process::{Facts, ProcessSample};

/// Maximum length of a title in brackets that is a name, in bytes: a longer one says what the process does.
const MAX_TITLE: usize = 255;

/// Returns the name of a program:
/// - its title, if it set one in brackets (`[celeryd@stats:MainProcess]`);
/// - the last part of its file's path, if comm is the start of that, as the kernel cuts it at 15 bytes, or if the
///   parent runs a file of the same name, as for browser workers, which rename themselves;
/// - else comm, as for a script or a busybox applet, or where the file is hidden.
pub fn command_name<'a, 'b>(facts: &'a Facts, parent: impl FnOnce() -> Option<&'b Facts>) -> &'a [u8] {
    let comm = &*facts.comm;
    if let Some(title) = bracketed_title(facts) {
        return title;
    }
    match file_name(facts) {
        Some(name) if name.starts_with(comm) || parent().and_then(|facts| file_name(facts)) == Some(name) => name,
        _ => comm,
    }
}

/// Returns the last part of the path of the program's file.
fn file_name(facts: &Facts) -> Option<&[u8]> {
    let path = facts.exe.as_deref().ok()?;
    path.rsplit(|b| *b == b'/').next().filter(|name| !name.is_empty())
}

/// Returns the bracketed start of a title that a process gave itself; the rest of it is what it does at the moment.
fn bracketed_title(facts: &Facts) -> Option<&[u8]> {
    let line = facts.cmdline.as_deref().ok()?;
    if line.first() != Some(&b'[') {
        return None;
    }
    let first = line.split(|b| *b == 0).next()?;
    let end = first.iter().take(MAX_TITLE).position(|b| *b == b']')? + 1;
    // Neither the empty `[]` nor the start of a word; `/usr/bin/[` has its bracket in another argument.
    (end > 2 && matches!(first.get(end), None | Some(b' '))).then(|| &first[..end])
}

/// The group names of one snapshot's processes.
#[derive(Clone, Copy, Debug)]
pub struct GroupNames<'a> {
    rows: &'a [ProcessSample],
}

impl<'a> GroupNames<'a> {
    /// Takes the rows of a snapshot, which are in order of pid.
    pub const fn new(rows: &'a [ProcessSample]) -> Self {
        Self { rows }
    }

    /// Returns the name of the group that a process is in; `None` where it is in none, the name is unknown, or areas
    /// are grouped.
    pub fn name_of(&self, sample: &'a ProcessSample, by: GroupBy) -> Option<&'a [u8]> {
        let facts = &*sample.facts;
        match by {
            GroupBy::Command => Some(command_name(facts, || self.find(sample.stat.ppid).map(|p| &*p.facts))),
            GroupBy::User => facts.user.as_deref().ok(),
            GroupBy::Unit => facts.unit.as_deref(),
            GroupBy::Container => facts.container.as_deref(),
            GroupBy::Cgroup => facts.cgroup.as_deref().ok(),
            GroupBy::Mapping => None,
        }
    }

    /// Returns true if the name of its program depends on its parent.
    pub fn depends_on_parent(&self, sample: &ProcessSample) -> bool {
        let mut is_asked = false;
        command_name(&sample.facts, || {
            is_asked = true;
            None
        });
        is_asked
    }

    /// Returns the process of that pid.
    pub fn find(&self, pid: u32) -> Option<&'a ProcessSample> {
        let at = self.rows.binary_search_by_key(&pid, |p| p.id.pid).ok()?;
        Some(&self.rows[at])
    }
}

//! Which group a process belongs to.

use crate::group::GroupBy;
use crate::model::process::{Facts, ProcessSample};

/// The longest title in brackets that is a name, in bytes: what is longer says more than what it is.
const MAX_TITLE: usize = 255;

/// What a program is called: its title, if it set one in brackets (`[celeryd@stats:MainProcess]`); the
/// last part of its file's path where comm is the beginning of that, as the kernel cuts it at 15 bytes, or
/// where the parent runs a file of the same name, as the workers of a browser do that rename themselves;
/// else comm, as of a script and of a busybox applet. Where the file is hidden, comm.
pub fn command_name<'a, 'b>(facts: &'a Facts, parent: impl FnOnce() -> Option<&'b Facts>) -> &'a [u8] {
    let comm = &*facts.comm;
    if let Some(title) = title(facts) {
        return title;
    }
    match program(facts) {
        Some(program)
            if program.starts_with(comm) || parent().and_then(crate::group::name::program) == Some(program) =>
        {
            program
        }
        _ => comm,
    }
}

/// The last part of the path of the program's file.
fn program(facts: &Facts) -> Option<&[u8]> {
    let path = facts.exe.as_deref().ok()?;
    path.rsplit(|b| *b == b'/').next().filter(|name| !name.is_empty())
}

/// The bracketed beginning of a title that a process gave itself; what follows it is what it does just now.
fn title(facts: &Facts) -> Option<&[u8]> {
    let line = facts.cmdline.as_deref().ok()?;
    if line.first() != Some(&b'[') {
        return None;
    }
    let first = line.split(|b| *b == 0).next()?;
    let end = first.iter().take(MAX_TITLE).position(|b| *b == b']')? + 1;
    // Neither the empty `[]` nor the beginning of a word; `/usr/bin/[` has its bracket in another argument.
    (end > 2 && matches!(first.get(end), None | Some(b' '))).then(|| &first[..end])
}

/// The names of one snapshot's processes.
#[derive(Clone, Copy, Debug)]
pub struct GroupNames<'a> {
    rows: &'a [ProcessSample],
}

impl<'a> GroupNames<'a> {
    /// Those of these rows, which are in order of pid, as those of a snapshot are.
    pub const fn new(rows: &'a [ProcessSample]) -> Self {
        Self { rows }
    }

    /// The name of the group that a process is in; `None` where it is in none, it is unknown, or areas are
    /// grouped and not processes.
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

    /// Whether what its program is called hangs on its parent.
    pub fn depends_on_parent(&self, sample: &ProcessSample) -> bool {
        let mut asked = false;
        command_name(&sample.facts, || {
            asked = true;
            None
        });
        asked
    }

    /// The process of that pid.
    pub fn find(&self, pid: u32) -> Option<&'a ProcessSample> {
        let at = self.rows.binary_search_by_key(&pid, |p| p.id.pid).ok()?;
        Some(&self.rows[at])
    }
}

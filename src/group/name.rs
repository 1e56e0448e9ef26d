//! The names of programs.

use std::borrow::Cow;

use crate::group::interpreter::{base, interpreted_name};
use crate::model::process::{Facts, ProcessSample};

/// Maximum length of a title in brackets that is a name, in bytes: a longer one says what the process does.
const MAX_TITLE: usize = 255;

/// Returns the name of a program:
/// - its title, if it set one in brackets (`[celeryd@stats:MainProcess]`);
/// - what it runs, if its file is an interpreter (`python3 ingest.py`, `java -jar x.jar`), however it was started;
/// - the last part of its file's path, if comm is the start of that, as the kernel cuts it at 15 bytes, or if the
///   parent runs a file of the same name, as for browser workers, which rename themselves;
/// - comm, if the row is a group on another host: that has named it;
/// - else comm, as for a busybox applet, or where the file is hidden.
pub fn command_name<'a, 'b>(facts: &'a Facts, parent: impl FnOnce() -> Option<&'b Facts>) -> Cow<'a, [u8]> {
    let comm = &*facts.comm;
    if facts.host.is_some() {
        return comm.into();
    }
    if let Some(title) = bracketed_title(facts) {
        return title.into();
    }
    if let Some(name) = interpreted_name(facts) {
        return name.into();
    }
    match file_name(facts) {
        Some(name) if name.starts_with(comm) || parent().and_then(|facts| file_name(facts)) == Some(name) => {
            name.into()
        }
        _ => comm.into(),
    }
}

/// Returns the last part of the path of the program's file.
pub(super) fn file_name(facts: &Facts) -> Option<&[u8]> {
    facts.exe.as_deref().ok().map(base).filter(|name| !name.is_empty())
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

/// The programs of one snapshot's processes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Programs<'a>(pub(super) &'a [ProcessSample]);

impl<'a> Programs<'a> {
    /// Returns the name of a process's program.
    pub(super) fn name_of(self, sample: &'a ProcessSample) -> Cow<'a, [u8]> {
        command_name(&sample.facts, || self.find(sample.stat.ppid).map(|p| &*p.facts))
    }

    /// Returns the process of that pid.
    pub(super) fn find(self, pid: u32) -> Option<&'a ProcessSample> {
        let at = self.0.binary_search_by_key(&pid, |p| p.id.pid).ok()?;
        Some(&self.0[at])
    }
}

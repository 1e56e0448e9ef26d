//! The names of the groups that a process is in.

use std::borrow::Cow;

use crate::group::family;
use crate::group::key::GroupBy;
use crate::group::name::{Programs, command_name};
use crate::model::process::ProcessSample;

/// The group names of one snapshot's processes.
#[derive(Clone, Copy, Debug)]
pub struct GroupNames<'a> {
    programs: Programs<'a>,
}

impl<'a> GroupNames<'a> {
    /// Takes the rows of a snapshot, which are in order of pid.
    pub const fn new(rows: &'a [ProcessSample]) -> Self {
        Self {
            programs: Programs(rows),
        }
    }

    /// Returns the name of the group that a process is in; `None` where it is in none, the name is unknown, or areas
    /// are grouped.
    pub fn name_of(&self, sample: &'a ProcessSample, by: GroupBy) -> Option<Cow<'a, [u8]>> {
        let facts = &*sample.facts;
        match by {
            GroupBy::Command => Some(self.programs.name_of(sample)),
            GroupBy::User => facts.user.as_deref().ok().map(Cow::Borrowed),
            GroupBy::Unit => facts.unit.as_deref().map(Cow::Borrowed),
            GroupBy::Container => facts.container.as_deref().map(Cow::Borrowed),
            GroupBy::Cgroup => facts.cgroup.as_deref().ok().map(Cow::Borrowed),
            GroupBy::Family => {
                let head = self.head_of(sample)?;
                let pid = head.id.pid.to_string();
                Some(
                    [&self.programs.name_of(head), &b" "[..], pid.as_bytes()]
                        .concat()
                        .into(),
                )
            }
            GroupBy::Host => facts.host.as_deref().map(Cow::Borrowed),
            GroupBy::Mapping => None,
        }
    }

    /// Returns the first process of the family that a process is in; `None` where it is in none, as kernel threads.
    pub fn head_of(&self, sample: &'a ProcessSample) -> Option<&'a ProcessSample> {
        family::head(self.programs, sample)
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
        self.programs.find(pid)
    }
}

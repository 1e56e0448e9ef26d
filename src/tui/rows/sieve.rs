//! Which processes are let through.

use crate::columns::RowSubject;
use crate::group::{GroupKey, GroupNames};
use crate::model::{ProcessSample, Snapshot};
use crate::tui::app::App;

/// The filter, the user, the group that is opened, and the kernel-thread switch.
pub(in crate::tui) struct Sieve<'a> {
    app: &'a App,
    snapshot: &'a Snapshot,
    names: GroupNames<'a>,
    opened: Option<&'a GroupKey>,
}

impl<'a> Sieve<'a> {
    /// That of the state, for a snapshot.
    pub(in crate::tui) fn new(app: &'a App, snapshot: &'a Snapshot) -> Self {
        Self {
            app,
            snapshot,
            names: GroupNames::new(snapshot.rows()),
            opened: app.query.scope.opened(),
        }
    }

    /// Whether the process is listed.
    pub(super) fn lists(&self, sample: &'a ProcessSample) -> bool {
        let filter = &self.app.query.filter.filter;
        let kernel_threads = self.app.query.kernel_threads && self.opened.is_none();
        (kernel_threads || !sample.stat.is_kernel_thread())
            && self.is_of_those(sample)
            && (filter.is_empty() || filter.matches(&self.subject(sample)))
    }

    /// Whether it is summed with others: figures are to judge the sums. Kernel threads have no memory, and
    /// nobody looks for them among the programs.
    pub(in crate::tui) fn sums(&self, sample: &'a ProcessSample) -> bool {
        let filter = &self.app.query.process_filter().filter;
        !sample.stat.is_kernel_thread()
            && self.is_of_those(sample)
            && (filter.is_empty() || filter.may_match(&self.subject(sample)))
    }

    /// Whether it is the user's that was picked, and in the group that is opened.
    fn is_of_those(&self, sample: &'a ProcessSample) -> bool {
        let user = self.app.query.user.as_ref();
        user.is_none_or(|user| sample.facts.user.as_ref().is_ok_and(|u| u == user))
            && self
                .opened
                .is_none_or(|key| self.names.name_of(sample, key.by) == key.name.as_deref())
    }

    fn subject(&self, sample: &'a ProcessSample) -> RowSubject<'a> {
        RowSubject(self.app.process_row(sample, self.snapshot))
    }
}

//! The inputs of the account of the system, which are read seldom.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use super::job::{Job, JobKey};
use crate::model::system::AccountingInputs;
use crate::model::system::accounting::MemoryMount;
use crate::model::{Missing, Reading};
use crate::proc::system::accounting::{AccountingFile, InputUpdate};
use crate::proc::system::memory_mounts::{Held, MemoryFs};

/// Time between two reads while nobody looks at the account: it changes slowly, and all of it takes a millisecond or two,
/// for which processes are not to be read later.
const SELDOM: Duration = Duration::from_secs(10);
/// Time between two reads while somebody does.
const OFTEN: Duration = Duration::from_secs(2);

/// The inputs, and when they were read.
pub(super) struct Accounting {
    inputs: Arc<AccountingInputs>,
    is_wanted: bool,
    asked_at: Option<Duration>,
    /// The files that are being read.
    reading: Vec<AccountingFile>,
    is_listing: bool,
    /// The devices of the file systems in memory that are being asked.
    asking: HashSet<u64>,
}

impl Default for Accounting {
    fn default() -> Self {
        Self {
            inputs: Arc::new(AccountingInputs::missing(Missing::Pending)),
            is_wanted: false,
            asked_at: None,
            reading: Vec::new(),
            is_listing: false,
            asking: HashSet::new(),
        }
    }
}

impl Accounting {
    /// Sets whether somebody looks at the account; the next tick then reads it.
    pub(super) fn set(&mut self, is_wanted: bool) {
        if is_wanted && !self.is_wanted {
            self.asked_at = None;
        }
        self.is_wanted = is_wanted;
    }

    /// Returns the jobs to read it where that is due; at the `first` tick, which may be that of a single table, only
    /// where it is wanted.
    pub(super) fn jobs(&mut self, now: Duration, is_first: bool) -> Vec<Job> {
        let holds = if self.is_wanted { OFTEN } else { SELDOM };
        let is_due = self.asked_at.is_none_or(|at| now.saturating_sub(at) >= holds);
        if !is_due || (is_first && !self.is_wanted) {
            return Vec::new();
        }
        self.asked_at = Some(now);
        let due = AccountingFile::ALL.iter().filter(|file| !self.reading.contains(file));
        let due: Vec<_> = due.copied().collect();
        self.reading.extend(&due);
        let mut jobs: Vec<_> = due.into_iter().map(Job::Accounting).collect();
        if !std::mem::replace(&mut self.is_listing, true) {
            jobs.push(Job::MemoryMounts);
        }
        jobs
    }

    /// Takes in a file that was read.
    pub(super) fn take_in(&mut self, file: AccountingFile, update: InputUpdate) {
        self.reading.retain(|other| *other != file);
        update(Arc::make_mut(&mut self.inputs));
    }

    /// Takes in which file systems in memory there are; adds jobs to ask each, by itself, as one may keep its reader
    /// waiting.
    pub(super) fn take_in_mounts(&mut self, found: Reading<Vec<MemoryFs>>, jobs: &mut Vec<Job>) {
        self.is_listing = false;
        let inputs = Arc::make_mut(&mut self.inputs);
        let found = match found {
            Ok(found) => found,
            Err(why) => {
                inputs.mounts = Err(why);
                return;
            }
        };
        let known = inputs.mounts.as_mut().map_or_else(|_| Vec::new(), std::mem::take);
        let mut known: HashMap<u64, MemoryMount> = known.into_iter().map(|mount| (mount.device, mount)).collect();
        let mount = |fs: &MemoryFs| {
            known.remove(&fs.device).unwrap_or_else(|| MemoryMount {
                device: fs.device,
                path: fs.points[0].clone(),
                kind: fs.kind.clone(),
                used: Err(Missing::Pending),
                size: Err(Missing::Pending),
            })
        };
        inputs.mounts = Ok(found.iter().map(mount).collect());
        for fs in found {
            if self.asking.insert(fs.device) {
                jobs.push(Job::MemoryMount(fs));
            }
        }
    }

    /// Takes in what a file system holds.
    pub(super) fn take_in_held(&mut self, device: u64, held: Held) {
        self.asking.remove(&device);
        let inputs = Arc::make_mut(&mut self.inputs);
        let mounts = inputs.mounts.iter_mut().flatten();
        if let Some(mount) = mounts.into_iter().find(|mount| mount.device == device) {
            (mount.path, mount.used, mount.size) = (held.path, held.used, held.size);
        }
    }

    /// Returns the inputs as of now; those whose read `is_late` say so.
    pub(super) fn publish(&mut self, is_late: impl Fn(JobKey) -> bool) -> Arc<AccountingInputs> {
        let late: Vec<_> = self
            .reading
            .iter()
            .filter(|file| is_late(JobKey::Accounting(**file)))
            .collect();
        for file in late {
            file.missing(Missing::TimedOut)(Arc::make_mut(&mut self.inputs));
        }
        if self.is_listing && is_late(JobKey::MemoryMounts) {
            Arc::make_mut(&mut self.inputs).mounts = Err(Missing::TimedOut);
        }
        for device in self
            .asking
            .iter()
            .filter(|device| is_late(JobKey::MemoryMount(**device)))
        {
            let inputs = Arc::make_mut(&mut self.inputs);
            let mut mounts = inputs.mounts.iter_mut().flatten();
            if let Some(mount) = mounts.find(|mount| mount.device == *device) {
                (mount.used, mount.size) = (Err(Missing::TimedOut), Err(Missing::TimedOut));
            }
        }
        Arc::clone(&self.inputs)
    }
}

//! The processes that ended between two snapshots, in `zmtop/1`.

use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use crate::model::{Exit, Exits};
use crate::record::accounting::Field;
use crate::record::seconds;
use crate::record::unread::{MissingFields, Reasons, Unread};
use crate::schema::described;

/// The meaning of null in fields that only an earlier snapshot has.
const UNSEEN: &str = "no snapshot has it";

described! {
    /// [`Exits`].
    #[derive(Debug, Deserialize, Serialize)]
    pub(super) struct ExitsRecord {
        /// Number of ended processes.
        ended: Option<u64> = count().unread(),
        /// Number of started processes and threads: pids that the kernel allocated.
        started: Option<u64> = count().unread(),
        /// Ended processes and threads whose records were lost, because the kernel's buffer was full.
        #[serde(default, skip_serializing_if = "is_zero")]
        lost: u64 = count().absent("if it is 0"),
        /// The ended processes whose peak was at least 16 MiB: the 64 highest.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        list: Vec<ExitRecord> = list(object(ExitRecord::fields())).absent("if there are none"),
        /// The reasons of nulls.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unread: Option<Unread> = unread().absent("if nothing is unknown"),
    }
}

described! {
    /// [`Exit`].
    #[derive(Debug, Deserialize, Serialize)]
    pub(super) struct ExitRecord {
        /// Its pid.
        pid: u32 = id(),
        /// Start time in clock ticks since boot.
        starttime: Option<u64> = id().null(UNSEEN),
        /// The pid of its parent.
        ppid: u32 = id(),
        /// The short name of its parent.
        parent: Option<String> = foreign().null(UNSEEN),
        /// Its real user.
        uid: u32 = id(),
        /// Its short name.
        comm: String = foreign(),
        /// The path of its cgroup; of its parent's if no snapshot has the process.
        cgroup: Option<String> = foreign().null(UNSEEN),
        /// The time of its end, to 0.1 s.
        time: String = time(),
        /// Time from its start to its end.
        lifetime_s: Option<f64> = seconds(),
        /// The highest RSS that it ever had.
        peak: u64 = bytes(),
        /// It ran no program of its own, so that `peak` has pages that it shared with its parent.
        #[serde(default)]
        fork: bool = switch(),
        /// The RSS of its parent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent_rss: Option<u64> = bytes().absent("if it is no fork, or if no snapshot has its parent"),
        /// Its exit code.
        code: Option<u32> = id().null("a signal ended it, or unknown"),
        /// The number of the signal that ended it.
        signal: Option<u32> = id().null("none did, or unknown"),
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it")]
const fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl From<&Exits> for ExitsRecord {
    fn from(exits: &Exits) -> Self {
        let mut missing = MissingFields::default();
        Self {
            ended: missing.value("ended", exits.ended),
            started: missing.value("started", exits.started),
            lost: exits.lost,
            list: exits.list.iter().map(ExitRecord::from).collect(),
            unread: missing.into_unread("ended"),
        }
    }
}

impl From<ExitsRecord> for Exits {
    fn from(record: ExitsRecord) -> Self {
        let reasons = Reasons(record.unread.as_ref());
        Self {
            ended: reasons.reading("ended", record.ended),
            started: reasons.reading("started", record.started),
            lost: record.lost,
            list: record.list.into_iter().take(Exit::MOST).map(Exit::from).collect(),
        }
    }
}

impl From<&Exit> for ExitRecord {
    fn from(exit: &Exit) -> Self {
        Self {
            pid: exit.pid,
            starttime: exit.starttime,
            ppid: exit.ppid,
            parent: exit.parent.to_json(),
            uid: exit.uid,
            comm: exit.comm.to_json(),
            cgroup: exit.cgroup.to_json(),
            time: exit.time.to_json(),
            lifetime_s: Some(exit.lifetime.as_secs_f64()),
            peak: exit.peak,
            fork: exit.is_fork,
            parent_rss: exit.parent_rss,
            code: exit.code,
            signal: exit.signal,
        }
    }
}

impl From<ExitRecord> for Exit {
    fn from(record: ExitRecord) -> Self {
        Self {
            pid: record.pid,
            starttime: record.starttime,
            ppid: record.ppid,
            parent: Field::from_json(record.parent),
            uid: record.uid,
            comm: Field::from_json(record.comm),
            cgroup: Field::from_json(record.cgroup),
            time: SystemTime::from_json(record.time),
            lifetime: seconds(record.lifetime_s).unwrap_or(Duration::ZERO),
            peak: record.peak,
            is_fork: record.fork,
            parent_rss: record.parent_rss,
            code: record.code,
            signal: record.signal,
        }
    }
}

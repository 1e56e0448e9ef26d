//! The programs, and what is known of them beforehand.

/// The pace of a leaking program, in bytes a second of its own time, as in `programs.py`.
const PACE: f64 = 24.0 * 1024.0;

/// A program.
#[derive(Clone, Copy, Debug)]
pub(super) struct Role {
    /// The role that it plays.
    pub(super) name: &'static str,
    /// True if it forks: then its group is judged, not the workers that come and go.
    pub(super) forks: bool,
    pub(super) leak: Option<Leak>,
    /// The number of verdicts that may call it leaking though it does not; `None` for any.
    pub(super) moments: Option<usize>,
}

/// The memory it never frees.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leak {
    /// Bytes a second.
    pub(super) pace: f64,
    /// From which second of its life on.
    pub(super) since: f64,
}

/// Two minutes of verdicts: a cache that fills, and the first of long teeth, are now and then called a leak for so
/// long. It is the weakest point of the judge, as its documentation says.
const A_MOMENT: usize = 12;

/// All of them. The last two are in the table only: one tooth that takes longer than all that was seen before it
/// cannot be told from a leak until it ends.
pub(super) const CAST: [Role; 15] = [
    leaks("leak", 0.0),
    leaks("leak-late", 600.0),
    leaks("leak-teeth", 0.0),
    leaks("leak-jobs", 0.0),
    forks(leaks("leak-workers", 0.0)),
    quiet("steady", Some(0)),
    quiet("teeth", Some(0)),
    quiet("heap", Some(0)),
    quiet("warmup", Some(0)),
    quiet("fragments", Some(0)),
    forks(quiet("recycled", Some(0))),
    quiet("cache", Some(A_MOMENT)),
    quiet("old-teeth", Some(A_MOMENT)),
    quiet("slow-teeth", None),
    quiet("slow-heap", None),
];

/// The first tooth of a heap that only the collector cleans, two minutes long, seen in real time from its beginning. It
/// was recorded, and does not run.
pub(super) const YOUNG_HEAP: Role = quiet("young-heap", Some(A_MOMENT));

const fn leaks(name: &'static str, since: f64) -> Role {
    Role {
        name,
        forks: false,
        leak: Some(Leak { pace: PACE, since }),
        moments: Some(0),
    }
}

const fn quiet(name: &'static str, moments: Option<usize>) -> Role {
    Role {
        name,
        forks: false,
        leak: None,
        moments,
    }
}

const fn forks(role: Role) -> Role {
    Role { forks: true, ..role }
}

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
    /// It is in the table only: what it does cannot be told from a leak.
    pub(super) is_exempt: bool,
}

/// The memory it never frees.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leak {
    /// Bytes a second.
    pub(super) pace: f64,
    /// From which second of its life on.
    pub(super) since: f64,
}

/// All of them. The last two are in the table only: one tooth that takes longer than all that was seen before it
/// cannot be told from a leak until it ends.
pub(super) const CAST: [Role; 15] = [
    leaks("leak", 0.0),
    leaks("leak-late", 600.0),
    leaks("leak-teeth", 0.0),
    leaks("leak-jobs", 0.0),
    forks(leaks("leak-workers", 0.0)),
    quiet("steady"),
    quiet("teeth"),
    quiet("heap"),
    quiet("warmup"),
    quiet("fragments"),
    forks(quiet("recycled")),
    quiet("cache"),
    quiet("old-teeth"),
    exempt("slow-teeth"),
    exempt("slow-heap"),
];

/// The first tooth of a heap that only the collector cleans, two minutes long, seen in real time from its beginning. It
/// was recorded, and does not run.
pub(super) const YOUNG_HEAP: Role = quiet("young-heap");

const fn leaks(name: &'static str, since: f64) -> Role {
    Role {
        leak: Some(Leak { pace: PACE, since }),
        ..quiet(name)
    }
}

const fn quiet(name: &'static str) -> Role {
    Role {
        name,
        forks: false,
        leak: None,
        is_exempt: false,
    }
}

const fn exempt(name: &'static str) -> Role {
    Role {
        is_exempt: true,
        ..quiet(name)
    }
}

const fn forks(role: Role) -> Role {
    Role { forks: true, ..role }
}

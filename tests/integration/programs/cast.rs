//! The programs, and what is known of them beforehand.

/// What a leaking program keeps, in bytes a second of its own time: as it is in `programs.py`.
const PACE: f64 = 24.0 * 1024.0;

/// One program.
#[derive(Clone, Copy, Debug)]
pub(super) struct Role {
    /// What it is asked to be.
    pub(super) name: &'static str,
    /// Whether it forks: then only all of it together is judged, not who comes and goes within it.
    pub(super) forks: bool,
    pub(super) leak: Option<Leak>,
    /// Whether a verdict can be held against it; else it is in the table only.
    pub(super) held: bool,
}

/// What it keeps for good.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leak {
    /// Bytes a second.
    pub(super) pace: f64,
    /// From which second of its life on.
    pub(super) since: f64,
}

/// All of them.
///
/// Two are not held to anything: one tooth that takes longer than all that was seen before it cannot be told from a
/// leak until it ends.
pub(super) const CAST: [Role; 14] = [
    leaks("leak", 0.0),
    leaks("leak-late", 600.0),
    leaks("leak-teeth", 0.0),
    leaks("leak-jobs", 0.0),
    forks(leaks("leak-workers", 0.0)),
    quiet("steady"),
    quiet("teeth"),
    open(quiet("slow-teeth")),
    quiet("heap"),
    open(quiet("slow-heap")),
    quiet("cache"),
    quiet("warmup"),
    quiet("fragments"),
    forks(quiet("recycled")),
];

const fn leaks(name: &'static str, since: f64) -> Role {
    Role {
        name,
        forks: false,
        held: true,
        leak: Some(Leak { pace: PACE, since }),
    }
}

const fn quiet(name: &'static str) -> Role {
    Role {
        name,
        forks: false,
        held: true,
        leak: None,
    }
}

const fn open(role: Role) -> Role {
    Role { held: false, ..role }
}

const fn forks(role: Role) -> Role {
    Role { forks: true, ..role }
}

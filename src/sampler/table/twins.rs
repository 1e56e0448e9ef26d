//! Judges if a process shares its parent's address space where the kernel does not tell: `kcmp` and the addresses
//! in `stat` take `CAP_SYS_PTRACE`, while `CAP_PERFMON` is enough to read figures.
//!
//! The address spaces of both end at the same place and have the same size: it is one, or a copy that a fork made.
//! Only what cannot be true of a copy is taken for proof, since a sum that lacks a process is worse than one
//! that has it twice and says so.

use crate::model::Stat;

/// Growth that proves something: the kernel may count a few pages late.
const GROWTH: u64 = 64 << 10;
/// Looks in a row at which sizes differ until what was proven is dropped. A process that maps memory between the
/// two glances of one look makes them differ once.
const MAX_UNEQUAL: u8 = 5;

/// The glances at a process and its parent.
#[derive(Default)]
pub(super) struct TwinWatch {
    /// Both of them, when they had the same size; nearly none has any.
    base: Option<Box<[Stat; 2]>>,
    /// Looks in a row at which they had not.
    unequal: u8,
}

/// The verdict on a process and its parent.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Twin {
    /// The address spaces are two.
    Apart,
    /// Their sizes differed at this look.
    Unequal,
    /// Nothing tells one from two.
    Doubtful,
    /// The address space is one.
    Same,
}

impl TwinWatch {
    /// Looks at a process and its parent.
    pub(super) fn look(&mut self, now: [&Stat; 2]) -> Twin {
        let [own, parent] = now;
        if own.vsize != parent.vsize || own.rss != parent.rss {
            self.base = None;
            self.unequal = self.unequal.saturating_add(1);
            return if self.unequal < MAX_UNEQUAL {
                Twin::Unequal
            } else {
                Twin::Apart
            };
        }
        self.unequal = 0;
        if parent.state == b'D' {
            // It waits for the child of a `vfork`. A child of a fork lacks the parent's file pages until it uses them,
            // so that their sizes differ.
            return Twin::Same;
        }
        let base = self.base.get_or_insert_with(|| Box::new([*own, *parent]));
        if own.rss < base[0].rss + GROWTH {
            return Twin::Doubtful;
        }
        let faulted = [(own, &base[0]), (parent, &base[1])].map(|(now, then)| faults(now) != faults(then));
        if faulted[0] != faulted[1] {
            // One has grown by what the other alone has touched.
            return Twin::Same;
        }
        **base = [*own, *parent];
        Twin::Doubtful
    }
}

const fn faults(stat: &Stat) -> u64 {
    stat.minflt.wrapping_add(stat.majflt)
}

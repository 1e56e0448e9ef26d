//! Allocation sites of the kernel: lines of its source that take memory, by its own account.

use std::iter::Sum;

/// A line of the kernel's source, as `/proc/allocinfo` tells of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllocSite {
    /// The file and the line, raw: `mm/slub.c:2345`.
    pub place: Box<[u8]>,
    /// The module that it is in, raw.
    pub module: Option<Box<[u8]>>,
    /// The function, raw.
    pub function: Box<[u8]>,
    /// The kernel itself marks its figures as inaccurate.
    pub inaccurate: bool,
    /// Its figures.
    pub figures: AllocFigures,
}

/// The figures of one site, or their sums over some.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AllocFigures {
    /// Bytes that are allocated.
    pub size: u64,
    /// Allocations that are not freed.
    pub calls: u64,
}

impl Sum for AllocFigures {
    fn sum<I: Iterator<Item = Self>>(figures: I) -> Self {
        figures.fold(Self::default(), |sum, of| Self {
            size: sum.size.saturating_add(of.size),
            calls: sum.calls.saturating_add(of.calls),
        })
    }
}

/// Every site at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllocSites {
    /// The sites, in the kernel's order.
    pub sites: Vec<AllocSite>,
    /// The number of lines that could not be understood.
    pub malformed: usize,
    /// The account goes on: what is allocated while it does not is missing.
    pub running: bool,
}

//! Adds to a walk's figures what has come since, and subtracts what has gone.

use crate::model::{Memory, Reading};

/// The part of the pages from which they count as unshared.
const UNSHARED: f64 = 0.99;

/// A ratio of PSS to pages.
#[derive(Clone, Copy)]
pub(super) struct Ratio {
    part: f64,
    /// It is that of each page, not of their sum alone.
    is_exact: bool,
}

impl Ratio {
    /// Creates the ratio of `pss` to `pages`; of no pages, that of private ones.
    pub(super) fn new(pss: u64, pages: u64) -> Self {
        let part = if pages == 0 { 1.0 } else { pss as f64 / pages as f64 };
        Self {
            part: part.min(1.0),
            is_exact: false,
        }
    }

    /// Takes nearly unshared pages for unshared, each of them.
    pub(super) fn unless_unshared(self) -> Self {
        if self.part < UNSHARED {
            return self;
        }
        Self {
            part: 1.0,
            is_exact: true,
        }
    }

    /// Returns the same ratio, as one that need not be that of each page.
    pub(super) const fn inexact(self) -> Self {
        Self {
            is_exact: false,
            ..self
        }
    }

    /// Returns the PSS of so many bytes.
    pub(super) fn of(self, bytes: u64) -> u64 {
        ((bytes as f64 * self.part) as u64).min(bytes)
    }

    /// Returns so many bytes with their PSS.
    pub(super) fn part_of(self, whole: u64) -> Part {
        Part {
            pss: self.of(whole),
            whole,
        }
    }

    /// Returns the largest error of that PSS: each page may have had no sharers, or very many.
    pub(super) fn error_of(self, bytes: u64) -> u64 {
        if self.is_exact {
            return 0;
        }
        (bytes as f64 * self.part.max(1.0 - self.part)) as u64
    }
}

/// Bytes that come to a figure or leave it, as PSS and whole.
#[derive(Clone, Copy)]
pub(super) struct Part {
    pub(super) pss: u64,
    pub(super) whole: u64,
}

/// Adds and subtracts anonymous pages, which are dirty.
pub(super) fn move_anon(memory: &mut Memory, more: Part, less: Part) {
    change(&mut memory.rss, more.whole, less.whole);
    change(&mut memory.pss, more.pss, less.pss);
    change_known(&mut memory.pss_anon, more.pss, less.pss);
    change_known(&mut memory.pss_dirty, more.pss, less.pss);
    change(&mut memory.private_dirty, more.pss, 0);
    change(&mut memory.shared_dirty, more.whole - more.pss, 0);
    take(memory, true, less.pss, less.whole - less.pss);
}

/// Adds and subtracts pages of files and shmem in the proportions of the `walk`, which saw so many of them. Those of
/// shmem are dirty.
pub(super) fn move_shared(memory: &mut Memory, walk: &Memory, pages: u64, more: Part, less: Part) {
    let (file, shmem) = (walk.pss_file.unwrap_or(0), walk.pss_shmem.unwrap_or(0));
    let dirty = |bytes| {
        if shmem == 0 {
            0
        } else {
            Ratio::new(shmem, file.saturating_add(shmem)).of(bytes)
        }
    };
    let (dirty_more, dirty_less) = (dirty(more.pss), dirty(less.pss));
    change(&mut memory.rss, more.whole, less.whole);
    change(&mut memory.pss, more.pss, less.pss);
    change_known(&mut memory.pss_shmem, dirty_more, dirty_less);
    change_known(&mut memory.pss_dirty, dirty_more, dirty_less);
    change_known(&mut memory.pss_file, more.pss - dirty_more, less.pss - dirty_less);

    let private = Ratio::new(walk.uss().saturating_sub(walk.pss_anon.unwrap_or(0)), pages);
    let (alone, divided) = (private.of(more.whole), more.whole - private.of(more.whole));
    change(&mut memory.private_dirty, dirty(alone), 0);
    change(&mut memory.private_clean, alone - dirty(alone), 0);
    change(&mut memory.shared_dirty, dirty(divided), 0);
    change(&mut memory.shared_clean, divided - dirty(divided), 0);
    let alone = private.of(less.whole);
    take(memory, false, alone, less.whole - alone);
}

/// Adds to the PSS of files and of shmem what others have changed. Where they map more, as large a part of the private
/// pages is shared by now as is gone from the PSS.
pub fn shift(memory: &mut Memory, [file, shmem]: [i64; 2]) {
    let anon = memory.pss_anon.unwrap_or(0);
    let (private, divided) = (memory.uss().saturating_sub(anon), memory.pss.saturating_sub(anon));
    let lost = |by: i64| by.min(0).unsigned_abs();
    let mut add = |figure: &mut Reading<u64>, by: i64| {
        let whole = figure.unwrap_or(memory.pss);
        let by = by.max(-i64::try_from(whole).unwrap_or(i64::MAX));
        if let Ok(figure) = figure {
            *figure = figure.saturating_add_signed(by);
        }
        memory.pss = memory.pss.saturating_add_signed(by).min(memory.rss);
    };
    let (mut of_file, mut of_shmem) = (memory.pss_file, memory.pss_shmem);
    add(&mut of_file, file);
    add(&mut of_shmem, shmem);
    (memory.pss_file, memory.pss_shmem) = (of_file, of_shmem);
    change_known(&mut memory.pss_dirty, shmem.max(0).unsigned_abs(), lost(shmem));
    for (by, alone, shared) in [
        (file, &mut memory.private_clean, &mut memory.shared_clean),
        (shmem, &mut memory.private_dirty, &mut memory.shared_dirty),
    ] {
        let moved = Ratio::new(lost(by), divided.max(1)).of(private).min(*alone);
        *alone -= moved;
        *shared = shared.saturating_add(moved);
    }
}

fn change(figure: &mut u64, more: u64, less: u64) {
    *figure = figure.saturating_add(more).saturating_sub(less);
}

fn change_known(figure: &mut Reading<u64>, more: u64, less: u64) {
    if let Ok(figure) = figure {
        change(figure, more, less);
    }
}

/// Takes private and shared pages, dirty or clean ones first, and what there is too little of from the others.
fn take(memory: &mut Memory, are_dirty: bool, private: u64, shared: u64) {
    let Memory {
        private_dirty,
        private_clean,
        shared_dirty,
        shared_clean,
        ..
    } = memory;
    let mut alone = [private_clean, private_dirty];
    let mut divided = [shared_clean, shared_dirty];
    if are_dirty {
        alone.reverse();
        divided.reverse();
    }
    let rest = take_from(&mut alone, private).saturating_add(take_from(&mut divided, shared));
    let rest = take_from(&mut alone, rest);
    take_from(&mut divided, rest);
}

/// Takes bytes from the first, and what it lacks from the next; returns what they all lack.
fn take_from(figures: &mut [&mut u64], bytes: u64) -> u64 {
    figures.iter_mut().fold(bytes, |rest, figure| {
        let less = rest.min(**figure);
        **figure -= less;
        rest - less
    })
}

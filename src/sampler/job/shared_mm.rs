//! Verifies which processes have one address space.

use std::path::Path;

use rustix::fs::{CWD, readlinkat_raw};

use super::ProcessRef;
use crate::proc::kcmp;

/// A process, and others whose address space may be its own. Their version counts the programs they ran: one
/// that a process starts later has memory of its own.
pub(in crate::sampler) struct MmCandidate {
    pub(in crate::sampler) process: ProcessRef,
    /// The likeliest first.
    pub(in crate::sampler) others: [Option<ProcessRef>; 2],
}

/// Returns the candidates that do share, each with whom; none where the tree at `proc` numbers processes
/// otherwise than this one's system calls do.
pub(super) fn verify(candidates: Vec<MmCandidate>, proc: &Path, buf: &mut [u8]) -> Vec<(ProcessRef, ProcessRef)> {
    let own = proc.join("self");
    let numbered = readlinkat_raw(CWD, own.as_os_str().as_encoded_bytes(), &mut *buf);
    if !numbered.is_ok_and(|len| buf[..len] == *std::process::id().to_string().as_bytes()) {
        return Vec::new();
    }
    candidates
        .into_iter()
        .filter_map(|MmCandidate { process, others }| {
            let shares = |other: &ProcessRef| kcmp::same_memory(process.target.task(), other.target.task()) == Ok(true);
            let other = others.into_iter().flatten().find(shares)?;
            let mut is_same = |peer: &ProcessRef| peer.target.is_same(peer.starttime, proc, buf);
            // Their pids may have been given away in between.
            (is_same(&process) && is_same(&other)).then_some((process, other))
        })
        .collect()
}

//! Which processes have one address space.

use std::path::Path;

use rustix::fs::{CWD, readlinkat_raw};

use crate::proc::{kcmp, stat};
use crate::sampler::target::Target;

/// A process, and others whose address space may be its own.
#[derive(Debug)]
pub(in crate::sampler) struct Suspect {
    pub(in crate::sampler) one: Party,
    /// The likeliest first.
    pub(in crate::sampler) others: [Option<Party>; 2],
}

/// One of them.
#[derive(Clone, Copy, Debug)]
pub(in crate::sampler) struct Party {
    pub(in crate::sampler) pid: u32,
    pub(in crate::sampler) serial: u64,
    pub(in crate::sampler) starttime: u64,
    /// The program it runs: one that it starts later has memory of its own.
    pub(in crate::sampler) exec: u32,
}

/// The suspects that do share, and with whom; none where the tree at `proc` numbers processes otherwise than
/// this one's calls do.
pub(super) fn proven(suspects: Vec<Suspect>, proc: &Path, buf: &mut [u8]) -> Vec<(Party, Party)> {
    let own = proc.join("self");
    let numbered = readlinkat_raw(CWD, own.as_os_str().as_encoded_bytes(), &mut *buf);
    if numbered.is_ok_and(|len| buf[..len] != *std::process::id().to_string().as_bytes()) || numbered.is_err() {
        return Vec::new();
    }
    suspects
        .into_iter()
        .filter_map(|Suspect { one, others }| {
            let shares = |other: &Party| kcmp::same_memory(one.pid, other.pid) == Ok(true);
            let other = others.into_iter().flatten().find(shares)?;
            // Their pids may have been given away in between.
            (is_same(&one, proc, buf) && is_same(&other, proc, buf)).then_some((one, other))
        })
        .collect()
}

fn is_same(party: &Party, proc: &Path, buf: &mut [u8]) -> bool {
    Target::bare(party.pid)
        .stat(proc, buf)
        .is_ok_and(|len| stat::parse(&buf[..len], 1).is_ok_and(|g| g.starttime == party.starttime))
}

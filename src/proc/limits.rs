//! `/proc/<pid>/limits`: what a process may take.

use crate::model::{Missing, Reading};

/// Parses the limit of the address space (`RLIMIT_AS`), in bytes; `None` where there is none.
pub fn address_space(limits: &[u8]) -> Reading<Option<u64>> {
    let mut lines = limits.split(|b| *b == b'\n');
    let found = lines.find_map(|line| line.strip_prefix(b"Max address space"));
    let soft = found.and_then(|rest| rest.split(u8::is_ascii_whitespace).find(|word| !word.is_empty()));
    match soft.ok_or(Missing::Unsupported)? {
        b"unlimited" => Ok(None),
        digits => super::parse::number(digits).map(Some).ok_or(Missing::Malformed),
    }
}

//! The limits of a process, as `ulimit` of a shell names them.
//!
//! Kernel: `/proc/PID/limits`.

use crate::units::{self, Units};

/// The limits that concern memory, and the open files: the option of `ulimit`, the kernel's name, and what it limits.
const SHOWN: [(&str, &str, &str); 6] = [
    ("ulimit -v", "Max address space", "address space"),
    ("ulimit -d", "Max data size", "private writable memory"),
    ("ulimit -l", "Max locked memory", "locked memory"),
    ("ulimit -s", "Max stack size", "stack of the first thread"),
    ("ulimit -n", "Max open files", "open files"),
    ("ulimit -u", "Max processes", "processes and threads of its user"),
];

/// Parses the text of `limits`. Returns the option of each limit, and its soft and hard value as text that is safe to print.
pub fn parse(text: &str) -> Vec<(&'static str, String)> {
    let limit = |(option, name, what): &(&'static str, &str, &str)| {
        let line = text.lines().find(|line| line.starts_with(name))?;
        let mut words = line.strip_prefix(name)?.split_whitespace();
        let (soft, hard, unit) = (words.next()?, words.next()?, words.next()?);
        let value = |word: &str| match word.parse::<u64>() {
            Ok(bytes) if unit == "bytes" => Some(units::bytes(bytes, Units::Auto)),
            Ok(count) => Some(units::count(count)),
            Err(_) => (word == "unlimited").then(|| word.to_owned()),
        };
        let (soft, hard) = (value(soft)?, value(hard)?);
        let hard = if soft == hard {
            String::new()
        } else {
            format!("; {hard} at most, if the process raises it")
        };
        Some((*option, format!("{soft} ({what}){hard}")))
    };
    SHOWN.iter().filter_map(limit).collect()
}

//! `/proc/meminfo` and `/proc/vmstat`.

use procfs::prelude::FromBufRead;

use super::Portion;
use crate::model::{Missing, Reading};
use crate::proc::words::{kib, number, words};

/// The fields used, in this order: total, free, available, buffers, cached, shmem, anonymous, mapped,
/// slab, reclaimable slab, swap total, free and cached, zswap and what it holds.
type Figures = [Reading<u64>; 15];

/// The figures of `meminfo`.
///
/// The crate reads it whole or not at all; a file that it refuses, such as that of a cut-down kernel, is
/// read a field at a time, so that only what is not there is missing.
pub(super) fn meminfo(bytes: Reading<&[u8]>) -> Portion {
    let figures = match bytes {
        Ok(bytes) => whole(bytes).unwrap_or_else(|| fields(bytes)),
        Err(why) => [Err(why); 15],
    };
    Box::new(move |machine| {
        let s = &mut machine.sample;
        [
            s.mem_total,
            s.mem_free,
            s.mem_available,
            s.buffers,
            s.cached,
            s.shmem,
            s.anon_pages,
            s.mapped,
            s.slab,
            s.sreclaimable,
            s.swap_total,
            s.swap_free,
            s.swap_cached,
            s.zswap,
            s.zswapped,
        ] = figures;
    })
}

fn whole(bytes: &[u8]) -> Option<Figures> {
    // The crate cuts the last byte of a name and multiplies by 1024 without looking.
    let tame = |line: &[u8]| {
        let mut words = words(line).skip(1);
        let value = words.next().and_then(number);
        value.is_some_and(|n| n < 1 << 44) && words.next().is_none_or(|unit| unit == b"kB")
    };
    let mut lines = bytes.split(|b| *b == b'\n').filter(|line| !line.is_empty());
    if !bytes.is_ascii() || !lines.all(tame) {
        return None;
    }
    let m = procfs::Meminfo::from_buf_read(bytes).ok()?;
    let optional = |field: Option<u64>| field.ok_or(Missing::Unsupported);
    Some([
        Ok(m.mem_total),
        Ok(m.mem_free),
        optional(m.mem_available),
        Ok(m.buffers),
        Ok(m.cached),
        optional(m.shmem),
        optional(m.anon_pages),
        Ok(m.mapped),
        Ok(m.slab),
        optional(m.s_reclaimable),
        Ok(m.swap_total),
        Ok(m.swap_free),
        Ok(m.swap_cached),
        optional(m.z_swap),
        optional(m.z_swapped),
    ])
}

fn fields(bytes: &[u8]) -> Figures {
    const NAMES: [&[u8]; 15] = [
        b"MemTotal:",
        b"MemFree:",
        b"MemAvailable:",
        b"Buffers:",
        b"Cached:",
        b"Shmem:",
        b"AnonPages:",
        b"Mapped:",
        b"Slab:",
        b"SReclaimable:",
        b"SwapTotal:",
        b"SwapFree:",
        b"SwapCached:",
        b"Zswap:",
        b"Zswapped:",
    ];
    NAMES.map(|name| field(bytes, name).map_or(Err(Missing::Unsupported), |v| kib(v).ok_or(Missing::Malformed)))
}

/// What follows `name` on its line.
fn field<'a>(bytes: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    bytes.split(|b| *b == b'\n').find_map(|line| line.strip_prefix(name))
}

/// Pages swapped in and out since boot, as bytes, and major faults since boot.
pub(super) fn vmstat(bytes: Reading<&[u8]>) -> Portion {
    let page = rustix::param::page_size() as u64;
    let counters: [Reading<u64>; 3] = match bytes {
        Ok(bytes) => {
            let all = procfs::VmStat::from_buf_read(bytes).ok();
            [("pswpin", page), ("pswpout", page), ("pgmajfault", 1)].map(|(name, scale)| {
                // What the crate refuses whole is read a line at a time.
                let value = match &all {
                    Some(all) => all.0.get(name).map(|n| u64::try_from(*n).ok()),
                    None => bytes.split(|b| *b == b'\n').find_map(|line| {
                        let mut words = words(line);
                        (words.next()? == name.as_bytes()).then(|| words.next().and_then(number))
                    }),
                };
                value
                    .ok_or(Missing::Unsupported)?
                    .and_then(|n| n.checked_mul(scale))
                    .ok_or(Missing::Malformed)
            })
        }
        Err(why) => [Err(why); 3],
    };
    Box::new(move |machine| {
        let s = &mut machine.sample;
        [s.pswpin, s.pswpout, s.pgmajfault] = counters;
    })
}

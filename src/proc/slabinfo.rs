//! `/proc/slabinfo`: the slab caches of the kernel, which only root may read.

use super::parse::{number, words};
use crate::model::slab::{SlabCache, SlabCaches, SlabFigures};
use crate::model::{Missing, Reading};

/// Parses a `slabinfo` of version 2; `page` is the page size in bytes.
///
/// A name may hold blanks: modules choose it. So a line is read from both its ends: up to ` : `, then after the last one.
/// Lines that do not fit are counted, not taken for empty caches; a file without the heading is [`Missing::Malformed`].
pub fn parse(bytes: &[u8], page: u64) -> Reading<SlabCaches> {
    let mut lines = bytes.split_inclusive(|b| *b == b'\n');
    let heading = lines.next().unwrap_or_default();
    if !heading.starts_with(b"slabinfo - version: 2.") {
        return Err(Missing::Malformed);
    }
    let mut found = SlabCaches::default();
    for line in lines.filter(|line| !line.starts_with(b"#") && !line.trim_ascii().is_empty()) {
        // The last number of a truncated file may be wrong.
        let whole = line.strip_suffix(b"\n");
        match whole.and_then(|line| cache(line, page)) {
            Some(cache) => found.caches.push(cache),
            None => found.malformed += 1,
        }
    }
    Ok(found)
}

/// Parses `name active objects size per_slab pages : tunables … : slabdata active_slabs slabs shared`.
fn cache(line: &[u8], page: u64) -> Option<SlabCache> {
    let slabdata = find_last(line, b" : slabdata ")?;
    let head = &line[..find_last(&line[..slabdata], b" : tunables ")?];
    let slabs = number(words(&line[slabdata..]).nth(3)?)?;
    let mut fields: Vec<_> = words(head).collect();
    let figures: Vec<_> = fields
        .split_off(fields.len().checked_sub(5)?)
        .into_iter()
        .map(number)
        .collect::<Option<_>>()?;
    let &[active, objects, object_size, objects_per_slab, pages] = &figures[..] else {
        return None;
    };
    let name = fields.join(&b' ');
    (!name.is_empty()).then_some(())?;
    Some(SlabCache {
        name: name.into(),
        object_size,
        objects_per_slab,
        reclaimable: None,
        figures: SlabFigures {
            active,
            objects,
            slabs,
            size: slabs.checked_mul(pages)?.checked_mul(page)?,
            used: active.checked_mul(object_size)?,
        },
    })
}

/// Returns where `wanted` begins last.
fn find_last(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).rposition(|window| window == wanted)
}

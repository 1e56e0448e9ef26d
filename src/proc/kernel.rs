//! The kernel's own memory: `slabinfo` and `allocinfo`.

use super::parse::{number, words};
use crate::model::kernel::{AllocFigures, AllocSite, AllocSites, SlabCache, SlabCaches, SlabFigures};
use crate::model::{Missing, Reading};

/// Parses a `slabinfo` of version 2, which only root may read; `page` is the page size in bytes.
///
/// A name may hold blanks, since modules choose it. A line is therefore parsed from both ends: up to ` : `, then after
/// the last one. Malformed lines are counted and not treated as empty caches. A file without the heading is
/// [`Missing::Malformed`].
pub fn slabinfo(bytes: &[u8], page: u64) -> Reading<SlabCaches> {
    let (caches, malformed) = table(bytes, b"slabinfo - version: 2.", |line| cache(line, page))?;
    Ok(SlabCaches { caches, malformed })
}

/// Parses the lines below a heading that begins with `heading`. Also returns the number of malformed ones. The last line
/// of a truncated file has no newline: its last word may be cut.
fn table<T>(bytes: &[u8], heading: &[u8], parse: impl Fn(&[u8]) -> Option<T>) -> Reading<(Vec<T>, usize)> {
    let mut lines = bytes.split_inclusive(|b| *b == b'\n');
    if !lines.next().unwrap_or_default().starts_with(heading) {
        return Err(Missing::Malformed);
    }
    let (mut found, mut malformed) = (Vec::new(), 0);
    for line in lines.filter(|line| !line.starts_with(b"#") && !line.trim_ascii().is_empty()) {
        match line.strip_suffix(b"\n").and_then(&parse) {
            Some(row) => found.push(row),
            None => malformed += 1,
        }
    }
    Ok((found, malformed))
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

fn find_last(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).rposition(|window| window == wanted)
}

/// Parses an `allocinfo` (Linux 6.10): how much memory each line of the kernel's source has allocated. Its heading states the version. Extra fields of later versions are ignored; malformed
/// lines are counted.
pub fn allocinfo(bytes: &[u8]) -> Reading<AllocSites> {
    let (sites, malformed) = table(bytes, b"allocinfo - version: ", site)?;
    Ok(AllocSites {
        sites,
        malformed,
        running: true,
    })
}

/// Parses `size calls file:line [module] func:function`, which `accurate:no` may follow.
fn site(line: &[u8]) -> Option<AllocSite> {
    let mut words = words(line).peekable();
    let (size, calls) = (number(words.next()?)?, number(words.next()?)?);
    let place = words.next()?;
    let colon = place.iter().rposition(|b| *b == b':')?;
    number(&place[colon + 1..])?;
    let module = words.next_if(|word| word.starts_with(b"["));
    let function = words.next()?.strip_prefix(b"func:")?;
    Some(AllocSite {
        place: place.into(),
        module: module
            .map(|word| word.strip_prefix(b"[").unwrap_or(word))
            .map(|word| word.strip_suffix(b"]").unwrap_or(word).into()),
        function: function.into(),
        inaccurate: words.any(|word| word == b"accurate:no"),
        figures: AllocFigures { size, calls },
    })
}

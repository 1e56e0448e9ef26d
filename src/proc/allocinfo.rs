//! `/proc/allocinfo`: the kernel's account of which line of its source has allocated what, from Linux 6.10 on.

use super::parse::{number, words};
use crate::model::allocinfo::{AllocFigures, AllocSite, AllocSites};
use crate::model::{Missing, Reading};

/// Parses an `allocinfo`, whose heading says its version. What a later version adds to a line is passed over, and lines that
/// do not fit are counted.
pub fn parse(bytes: &[u8]) -> Reading<AllocSites> {
    let mut lines = bytes.split_inclusive(|b| *b == b'\n');
    if !lines.next().unwrap_or_default().starts_with(b"allocinfo - version: ") {
        return Err(Missing::Malformed);
    }
    let mut found = AllocSites {
        running: true,
        ..AllocSites::default()
    };
    for line in lines.filter(|line| !line.starts_with(b"#") && !line.trim_ascii().is_empty()) {
        // The name at the end of a truncated file may be cut.
        match line.strip_suffix(b"\n").and_then(site) {
            Some(site) => found.sites.push(site),
            None => found.malformed += 1,
        }
    }
    Ok(found)
}

/// Parses `size calls file:line [module] func:function`, and perhaps `accurate:no` behind it.
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

//! The parts of arguments that become parts of a name.

/// Maximum length of each part of a name, in bytes: anyone can choose any.
const MAX_PART: usize = 64;

/// Returns the last part of a path.
pub(in crate::group) fn base(path: &[u8]) -> &[u8] {
    path.rsplit(|b| *b == b'/').next().unwrap_or_default()
}

/// Returns the last part of a script's path; of a name that says nothing, such as `index.js`, with the directory.
pub(super) fn file_name(path: &[u8]) -> Option<&[u8]> {
    let mut path = path;
    // What an address asks for may be a secret.
    if path.windows(3).any(|part| part == b"://") {
        path = path.split(|b| matches!(b, b'?' | b'#')).next()?;
    }
    while let Some(shorter) = path.strip_suffix(b"/") {
        path = shorter;
    }
    last_part(path, b'/')
}

/// Returns the last part of a class's name, as jps shows it.
pub(super) fn class_name(class: &[u8]) -> Option<&[u8]> {
    let is_class = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'$' | b'/') || !b.is_ascii();
    if class.ends_with(b".java") {
        return file_name(class);
    }
    let name = class.iter().all(is_class).then_some(class)?;
    last_part(name, if name.contains(&b'/') { b'/' } else { b'.' })
}

/// Returns a module's whole name, or the last part of an archive's path.
pub(super) fn module_or_file(target: &[u8]) -> Option<&[u8]> {
    if target.ends_with(b".jar") {
        return file_name(target);
    }
    // Of java a class may come after the module.
    target.split(|b| *b == b'/').next().filter(|module| !module.is_empty())
}

/// Returns the last part of a name; of one that is a mere convention, with the part before.
fn last_part(name: &[u8], separator: u8) -> Option<&[u8]> {
    const CONVENTIONS: [&[u8]; 3] = [b"__main__", b"index", b"main"];
    let at = name.iter().rposition(|b| *b == separator).map_or(0, |at| at + 1);
    let last = &name[at..];
    let stem = last.split(|b| *b == b'.').next()?;
    let is_convention = CONVENTIONS.iter().any(|usual| usual.eq_ignore_ascii_case(stem));
    let before = at.checked_sub(1).filter(|_| is_convention);
    let begin = before.map_or(at, |end| {
        let from = name[..end].iter().rposition(|b| *b == separator).map_or(0, |at| at + 1);
        let says_nothing = matches!(&name[from..end], b"" | b"." | b"..");
        if says_nothing || name.len() - from > MAX_PART {
            at
        } else {
            from
        }
    });
    Some(&name[begin..]).filter(|part| !part.is_empty())
}

/// Cuts a long part of a name between characters.
pub(super) fn cut(part: &[u8]) -> &[u8] {
    let Some(next) = part.get(MAX_PART) else { return part };
    let mut end = MAX_PART;
    if next & 0xc0 == 0x80 {
        // At most three bytes of a character come before its last.
        let begin = (MAX_PART - 3..MAX_PART).rev().find(|at| part[*at] & 0xc0 != 0x80);
        end = begin.unwrap_or(MAX_PART);
    }
    &part[..end]
}

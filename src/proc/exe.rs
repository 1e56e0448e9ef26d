//! `/proc/<pid>/exe`: the file a process runs, and whether it was replaced.

use crate::model::Replaced;

/// The mark that the kernel appends to the path of a file whose name is gone (`d_path` of `fs/d_path.c`).
const DELETED: &[u8] = b" (deleted)";
/// The prefix of the path of a file that never had a name (`memfd_create(2)`).
const MEMFD: &[u8] = b"/memfd:";

/// The parts of the link. Borrowed, raw: paths are foreign bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link<'a> {
    /// The path without the kernel's mark.
    pub path: &'a [u8],
    /// The link's whole text.
    pub whole: &'a [u8],
    /// True if it ends with the mark. A file may really be named so: only the file system can tell.
    pub marked: bool,
}

/// Parses the text of the link. A memfd never had a name to lose: its path is the name it was given, and it is
/// not marked.
pub fn parse(text: &[u8]) -> Link<'_> {
    let (path, marked) = text
        .strip_suffix(DELETED)
        .map_or((text, false), |path| (path, !path.starts_with(MEMFD)));
    Link {
        path,
        whole: text,
        marked,
    }
}

/// The identity of a file: device and inode.
pub type FileId = (u64, u64);

impl<'a> Link<'a> {
    /// Returns the path of the file and whether it was replaced, given the identity of the file that the process
    /// `runs`, and a function for that of the file at a path, `None` if unknown.
    pub fn judge(&self, runs: Option<FileId>, there: impl Fn(&[u8]) -> Option<FileId>) -> (&'a [u8], Option<Replaced>) {
        if !self.marked {
            return (self.path, None);
        }
        if runs.is_some() && there(self.whole) == runs {
            return (self.whole, None);
        }
        let replaced = match there(self.path) {
            // The name was removed and given back to the very same file.
            Some(file) if Some(file) == runs => None,
            Some(_) => Some(Replaced::Updated),
            None => Some(Replaced::Deleted),
        };
        (self.path, replaced)
    }
}

//! `/proc/<pid>/exe`: the file a process runs, and what became of it.

use crate::model::Replaced;

/// What the kernel appends to the path of a file whose name is gone (`d_path` of `fs/d_path.c`).
const DELETED: &[u8] = b" (deleted)";
/// What the path of a file that never had a name begins with (`memfd_create(2)`).
const MEMFD: &[u8] = b"/memfd:";

/// What the link tells. Borrowed, raw: paths are bytes that anyone can choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link<'a> {
    /// The path, without the kernel's mark.
    pub path: &'a [u8],
    /// The link's whole text.
    pub whole: &'a [u8],
    /// Whether it ends as that of a file does whose name is gone. A file may be really named so: only a look
    /// at the file system tells.
    pub marked: bool,
}

/// The link `text`. A file in memory alone never had a name to lose: it goes by the name it was given, and
/// is not marked.
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

/// Which file: device and inode.
pub type FileId = (u64, u64);

impl<'a> Link<'a> {
    /// The path of the file and what became of it, given which file the process `runs`, and which there is
    /// now at a path; `None` where it cannot be told or there is none.
    pub fn judge(&self, runs: Option<FileId>, there: impl Fn(&[u8]) -> Option<FileId>) -> (&'a [u8], Option<Replaced>) {
        if !self.marked {
            return (self.path, None);
        }
        if runs.is_some() && there(self.whole) == runs {
            return (self.whole, None);
        }
        let replaced = match there(self.path) {
            // The name was taken away and given back to the very same file.
            Some(file) if Some(file) == runs => None,
            Some(_) => Some(Replaced::Updated),
            None => Some(Replaced::Deleted),
        };
        (self.path, replaced)
    }
}

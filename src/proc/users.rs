//! The names of users.

use std::sync::Arc;

use super::files::{self, Roots};
use super::parse::number;

/// The number of bytes read of a captured `passwd`.
const MAX_PASSWD: usize = 1 << 20;

/// Looks up the name of `uid`, raw; its number as text if it has none.
///
/// On this machine this asks the name service, which may block for any time: only a reader thread may call it.
/// For another tree the name is looked up in the `etc/passwd` beside it.
pub fn name(uid: u32, roots: &Roots) -> Arc<[u8]> {
    let found = if roots.is_own() {
        nix::unistd::User::from_uid(nix::unistd::Uid::from_raw(uid))
            .ok()
            .flatten()
            .map(|user| user.name.into_bytes().into())
    } else {
        let path = roots.proc.join("../etc/passwd");
        let mut buf = vec![0; MAX_PASSWD];
        files::slurp(path.as_os_str().as_encoded_bytes(), &mut buf)
            .ok()
            .and_then(|bytes| find(bytes, uid))
            .map(Into::into)
    };
    found.unwrap_or_else(|| uid.to_string().into_bytes().into())
}

/// Returns the name of `uid` in a `passwd` file.
pub fn find(passwd: &[u8], uid: u32) -> Option<&[u8]> {
    passwd.split(|b| *b == b'\n').find_map(|line| {
        let mut fields = line.split(|b| *b == b':');
        let name = fields.next().filter(|n| !n.is_empty())?;
        let id = number(fields.nth(1)?)?;
        (id == u64::from(uid)).then_some(name)
    })
}

//! Names of users.

use std::sync::Arc;

use super::files::{self, Roots};
use super::parse::number;

/// The most of a captured `passwd` that is read.
const PASSWD: usize = 1 << 20;

/// The name of `uid`, raw, or its number as text where it has none.
///
/// On this machine the name service is asked, which may take as long as it likes: only ever on a reader
/// thread. For another tree it is looked up in the `etc/passwd` beside it.
pub fn name(uid: u32, roots: &Roots) -> Arc<[u8]> {
    let found = if roots.is_own() {
        nix::unistd::User::from_uid(nix::unistd::Uid::from_raw(uid))
            .ok()
            .flatten()
            .map(|user| user.name.into_bytes().into())
    } else {
        let path = roots.proc.join("../etc/passwd");
        let mut buf = vec![0; PASSWD];
        files::slurp(path.as_os_str().as_encoded_bytes(), &mut buf)
            .ok()
            .and_then(|bytes| find(bytes, uid))
            .map(Into::into)
    };
    found.unwrap_or_else(|| uid.to_string().into_bytes().into())
}

/// The name of `uid` in the bytes of a `passwd` file.
pub fn find(passwd: &[u8], uid: u32) -> Option<&[u8]> {
    passwd.split(|b| *b == b'\n').find_map(|line| {
        let mut fields = line.split(|b| *b == b':');
        let name = fields.next().filter(|n| !n.is_empty())?;
        let id = number(fields.nth(1)?)?;
        (id == u64::from(uid)).then_some(name)
    })
}

//! Names as numbers, so that none is kept.

use std::iter;

/// Returns a digest of a name that is the same in every build: FNV-1a.
pub(super) fn digest_of_name(name: Option<&[u8]>) -> u64 {
    // A name that is empty is another one than none.
    let bytes = iter::once(u8::from(name.is_some())).chain(name.unwrap_or_default().iter().copied());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

//! Files of `assets/` that are made: held equal to what makes them.

use std::fs;
use std::path::PathBuf;

/// Returns the path of a file of `assets/`.
pub(crate) fn asset(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "assets", name].iter().collect()
}

/// Asserts that a file of `assets/` holds `text`; where `INSTA_UPDATE` is `always` it is written anew. A file that holds it stays as it
/// is, as another test may read it meanwhile.
#[track_caller]
pub(crate) fn assert_kept(name: &str, text: &str) {
    let is_kept = || fs::read_to_string(asset(name)).is_ok_and(|kept| kept == text);
    if !is_kept() && std::env::var("INSTA_UPDATE").as_deref() == Ok("always") {
        fs::write(asset(name), text).unwrap();
    }
    assert!(
        is_kept(),
        "assets/{name} is out of date; INSTA_UPDATE=always cargo test writes it anew"
    );
}

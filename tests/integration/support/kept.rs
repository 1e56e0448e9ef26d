//! Files of `assets/` that are made: held equal to what makes them.

use std::fs;
use std::path::PathBuf;

/// Returns the path of a file of `assets/`.
pub(crate) fn asset(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "assets", name].iter().collect()
}

/// Asserts that a file of `assets/` holds `text`; where `INSTA_UPDATE` is `always` it is written anew.
#[track_caller]
pub(crate) fn assert_kept(name: &str, text: &str) {
    if std::env::var("INSTA_UPDATE").as_deref() == Ok("always") {
        fs::write(asset(name), text).unwrap();
    }
    assert!(
        fs::read_to_string(asset(name)).is_ok_and(|kept| kept == text),
        "assets/{name} is out of date; INSTA_UPDATE=always cargo test writes it anew"
    );
}

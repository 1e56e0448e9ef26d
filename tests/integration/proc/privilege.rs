//! What is advised where a file is denied.

use zmtop::proc::files::advice_to;

#[test]
fn root_is_not_told_to_become_root() {
    let capability = "CAP_PERFMON";
    let (root, other) = (advice_to(true, capability), advice_to(false, capability));
    assert!(!root.contains("as root") && root.contains(capability), "{root}");
    assert!(other.contains("run as root") && other.contains(capability), "{other}");
}

//! What is advised where a file is denied.

use zmtop::proc::files::advice_to;

#[test]
fn advice_says_only_what_is_true() {
    let capability = "CAP_PERFMON";
    for (is_root, held, said, unsaid) in [
        (
            true,
            None,
            &["this root has no CAP_PERFMON"][..],
            &["as root", "security module"][..],
        ),
        (
            true,
            Some("CAP_SYS_PTRACE"),
            &["has CAP_SYS_PTRACE", "security module"],
            &["as root", "has no"],
        ),
        (false, None, &["run as root", "grant CAP_PERFMON"], &["security module"]),
        (
            false,
            Some("CAP_PERFMON"),
            &["has CAP_PERFMON", "security module"],
            &["run as root", "grant"],
        ),
    ] {
        let advice = advice_to(is_root, held, capability);
        assert!(said.iter().all(|words| advice.contains(words)), "{advice}");
        assert!(!unsaid.iter().any(|words| advice.contains(words)), "{advice}");
    }
}

//! Advice if a file is denied, and the rights of a process over others.

use zmtop::model::Missing;
use zmtop::proc::files::{advice_to, trace_advice_to};
use zmtop::proc::pid::{has_all_users, rights};

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

#[test]
fn a_right_to_kill_comes_with_the_user() {
    let status = |uids: &str, capabilities: u64| {
        format!("Name:\ta\nUid:\t{uids}\nCapPrm:\tffffffffffffffff\nCapEff:\t{capabilities:016x}\n")
    };
    for (uids, capabilities, is_root, may_kill) in [
        ("0\t0\t0\t0", u64::MAX, true, true),
        ("0\t0\t0\t0", 0, true, false),
        ("62000\t62000\t62000\t62000", 1 << 5, false, true),
        ("62000\t62000\t62000\t62000", !(1 << 5), false, false),
        // The set-user-ID bit.
        ("1000\t0\t0\t0", u64::MAX, false, false),
        ("1000\t1000\t0\t1000", u64::MAX, false, false),
    ] {
        let rights = rights(status(uids, capabilities).as_bytes()).unwrap();
        assert_eq!((rights.is_root(), rights.may_kill()), (is_root, may_kill), "{uids}");
    }
    for bad in [
        "",
        "Uid:\t0\t0\nCapEff:\t0\n",
        "Uid:\t0\t0\t0\t0\n",
        "Uid:\t0\t0\t0\t0\nCapEff:\tg\n",
    ] {
        assert_eq!(rights(bad.as_bytes()), Err(Missing::Malformed), "{bad}");
    }
    assert!(has_all_users(b"         0          0 4294967295\n"));
    for own in [
        &b""[..],
        b"0 1000 1\n",
        b"0 100000 65536\n",
        b"0 4294967295 4294967295\n",
        b"0 0 4294967294\n4294967294 4294967294 1\n",
    ] {
        assert!(!has_all_users(own), "{own:?}");
    }
}

#[test]
fn advice_on_denied_memory_names_yama_only_if_yama_denies() {
    for (is_root, held, scope, said, unsaid) in [
        (false, None, None, "or as its user", "yama"),
        (false, None, Some(0), "or as its user", "yama"),
        (
            false,
            None,
            Some(1),
            "ptrace_scope is 1, so the same user is not enough",
            "or as its user",
        ),
        (
            false,
            None,
            Some(2),
            "run as root or grant CAP_SYS_PTRACE",
            "or as its user",
        ),
        (
            false,
            None,
            Some(3),
            "denied to all: kernel.yama.ptrace_scope is 3",
            "grant",
        ),
        (true, Some("CAP_SYS_PTRACE"), Some(1), "security module", "yama"),
        (true, None, Some(1), "no CAP_SYS_PTRACE", "yama"),
        (
            true,
            Some("CAP_SYS_PTRACE"),
            Some(3),
            "denied to all: kernel.yama.ptrace_scope is 3",
            "namespace",
        ),
    ] {
        let advice = trace_advice_to(is_root, held, scope);
        assert!(advice.contains(said) && !advice.contains(unsaid), "{scope:?}: {advice}");
    }
}

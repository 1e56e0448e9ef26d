//! The verdicts on the programs as a table, and the wrong ones.

use std::fmt::Write as _;

use zmtop::trend::Verdict;

use super::cast::{Leak, Role};
use super::verdicts::Said;

/// Tolerance of the reported slope, as a share of the true one.
const OFF: f64 = 0.3;

/// Returns the error in the verdicts on a program, if any.
pub(super) fn misjudged(role: &Role, said: &Said) -> Option<String> {
    if role.is_exempt {
        return None;
    }
    // A leak in stairs is flat between them, and may have had no pace whenever it was judged.
    let has_pace = said.leak.verdict == Verdict::Leaking;
    // A busy machine slows programs down.
    let pace = |leak: Leak| said.kept_pace.unwrap_or(leak.pace);
    let off = |leak: Leak| has_pace && (said.leak.slope / pace(leak) - 1.0).abs() > OFF;
    match (role.leak, said.first) {
        (None, Some(first)) => Some(format!(
            "does not leak, and was called leaking {} times, first after {first:.0} s",
            said.since.1
        )),
        (Some(leak), Some(first)) if first < leak.since => Some(format!("did not leak yet after {first:.0} s")),
        (Some(leak), Some(_)) if off(leak) => {
            let (slope, pace) = (said.leak.slope, pace(leak));
            Some(format!("leaks {pace:.0} bytes a second, not {slope:.0}"))
        }
        (Some(_), None) => Some("leaks, and was never called leaking".to_owned()),
        _ => None,
    }
}

/// The heading of the table.
pub(super) const HEAD: &str = "seen from the beginning and once they had loaded: first called leaking, how much of \
                               the time since then, and what was said last; KiB a second told, and true; MiB";

/// A line of the table.
pub(super) fn line(role: &Role, from_start: &Said, later: &Said) -> String {
    let mut out = format!(
        "{:>12} {:<8}",
        role.name,
        if role.leak.is_some() { "leaks" } else { "does not" }
    );
    for said in [from_start, later] {
        let called = said
            .first
            .map_or("never".to_owned(), |first| format!("{first:.0} s {:.0} %", said.held()));
        let _ = write!(out, " {called:>12} {:<9}", said.last.verdict.id());
    }
    let slopes = role.leak.map_or(String::new(), |leak| {
        let pace = later.kept_pace.unwrap_or(leak.pace);
        format!("{:.1} {:.1}", later.leak.slope / 1024.0, pace / 1024.0)
    });
    let mib = |value: Option<&(f64, u64)>| value.map_or(f64::NAN, |v| v.1 as f64 / f64::from(1 << 20));
    let (from, to) = (mib(later.seen.first()), mib(later.seen.last()));
    let _ = writeln!(out, " {slopes:<9} {from:.0} to {to:.0}");
    out
}

//! When memory goes back to the kernel.

use std::time::Duration;

use zmtop::run::process::GiveBack;

#[test]
fn memory_goes_back_once_most_have_ended() {
    let mut memory = GiveBack::default();
    // The second, the processes, and if memory is given back then.
    let cases = [
        (0, 300, false),
        (20, 10_000, false),
        (21, 6000, false),
        (22, 5000, false),
        // It was a moment's dip.
        (23, 5001, false),
        (24, 400, false),
        (33, 390, false),
        (34, 390, true),
        (60, 100, false),
        (90, 100, false),
    ];
    for (second, processes, expected) in cases {
        assert_eq!(
            memory.count(processes, Duration::from_secs(second)),
            expected,
            "{second}"
        );
    }
}

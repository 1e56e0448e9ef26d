//! When memory goes back to the kernel.

use std::time::Duration;

use zmtop::own::GiveBack;

#[test]
fn free_memory_goes_back_if_it_is_much_or_old() {
    let mut memory = GiveBack::default();
    // The minute, the free memory in MiB, and if it goes back then.
    let cases = [
        (1, 1, false),
        (2, 3, true),
        // The allocator counts it as free, returned or not.
        (3, 3, false),
        (4, 4, false),
        // It is in use again, and free once more.
        (5, 1, false),
        (6, 2, false),
        (7, 9, true),
        (8, 10, false),
        (66, 10, false),
        (67, 10, true),
        (68, 10, false),
    ];
    for (minute, free, expected) in cases {
        let is_due = memory.is_due(free << 20, Duration::from_secs(60 * minute));
        assert_eq!(is_due, expected, "{minute}");
    }
}

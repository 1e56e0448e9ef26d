//! When memory goes back to the kernel.

use zmtop::own::GiveBack;

#[test]
fn freed_memory_goes_back_after_the_rss_grew() {
    let mut memory = GiveBack::default();
    // The RSS in MiB, if memory goes back, and the RSS then.
    let cases = [
        (20, true, 19),
        (20, false, 0),
        // A rush of processes, whose memory is free again.
        (30, true, 21),
        (22, false, 0),
        // It is in use.
        (31, true, 30),
        (31, false, 0),
        (25, false, 0),
        (27, true, 25),
    ];
    for (rss, expected, after) in cases {
        assert_eq!(memory.is_due(rss << 20), expected, "{rss}");
        if expected {
            memory.returned(after << 20);
        }
    }
}

//! When freed memory is returned.

use std::time::Duration;

use zmtop::sampler::policy::trim::Trim;

#[test]
fn memory_is_returned_a_minute_after_most_processes_have_ended() {
    let mut trim = Trim::default();
    let mut due = Vec::new();
    for second in 0..600 {
        let processes = match second {
            // Few, whatever happens to them.
            0..50 => 400,
            50..100 => 20,
            // For too short a time.
            200..230 => 1000,
            100..300 => 3000,
            _ => 1400,
        };
        if trim.is_due(processes, Duration::from_secs(second)) {
            due.push(second);
        }
    }
    assert_eq!(due, [360]);
}

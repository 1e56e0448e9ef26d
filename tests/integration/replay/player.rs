//! When the player shows the next snapshot.

use std::time::Duration;

use zmtop::run::monitor::replay::player::{Player, SPEEDS};

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// A player that has shown a snapshot at 1 s on its clock.
fn shown(speed: u32, is_playing: bool) -> Player {
    let mut player = Player::new(speed, is_playing);
    player.show(ms(1000), ms(1000));
    player
}

#[test]
fn the_next_snapshot_is_due_after_the_recorded_time_divided_by_the_speed() {
    for (speed, gap, due) in [
        (1, 5000, Some(6000)),
        (10, 5000, Some(1500)),
        (1000, 5000, Some(1005)),
        // Speeds between two steps are those below.
        (7, 5000, Some(2000)),
        (0, 5000, Some(6000)),
        (9999, 5000, Some(1005)),
        // Two snapshots at the same time.
        (1, 0, Some(1000)),
        // A machine that was off is not waited for.
        (1, 8 * 3_600_000, Some(2000)),
        (1, 120_000, Some(121_000)),
        (1, 120_001, Some(2000)),
    ] {
        assert_eq!(shown(speed, true).due(ms(gap)), due.map(ms), "{speed}× {gap} ms");
        assert_eq!(shown(speed, false).due(ms(gap)), None, "{speed}× {gap} ms, paused");
    }
}

#[test]
fn the_first_snapshot_is_due_at_once_even_while_paused() {
    for is_playing in [true, false] {
        assert_eq!(Player::new(1, is_playing).due(ms(5000)), Some(Duration::ZERO));
    }
}

#[test]
fn a_late_snapshot_delays_the_next_ones_but_a_small_delay_does_not_add_up() {
    for (due, now, next) in [(2000, 2000, 3000), (2000, 2099, 3000), (2000, 2500, 3500)] {
        let mut player = shown(1, true);
        player.show(ms(due), ms(now));
        assert_eq!(player.due(ms(1000)), Some(ms(next)), "due {due}, shown {now}");
    }
}

#[test]
fn after_a_pause_the_wait_begins_anew() {
    let mut player = shown(1, true);
    player.toggle(ms(3000));
    assert_eq!((player.is_playing(), player.due(ms(5000))), (false, None));
    player.toggle(ms(60_000));
    assert_eq!((player.is_playing(), player.due(ms(5000))), (true, Some(ms(65_000))));
    // Playing on changes nothing.
    player.set_playing(true, ms(62_000));
    assert_eq!(player.due(ms(5000)), Some(ms(65_000)));
}

#[test]
fn another_speed_keeps_the_part_of_the_wait_that_is_over() {
    let mut player = shown(1, true);
    // 4 of 10 recorded seconds are over; 6 are left, at twice the speed.
    player.change_speed(true, ms(5000));
    assert_eq!((player.speed(), player.due(ms(10_000))), (2, Some(ms(8000))));
    player.change_speed(false, ms(5000));
    assert_eq!((player.speed(), player.due(ms(10_000))), (1, Some(ms(11_000))));
}

#[test]
fn the_speed_has_a_lowest_and_a_highest_step() {
    let mut player = shown(1, true);
    player.change_speed(false, ms(1000));
    assert_eq!(player.speed(), 1);
    let mut speeds = vec![player.speed()];
    for _ in 0..20 {
        player.change_speed(true, ms(1000));
        speeds.push(player.speed());
    }
    speeds.dedup();
    assert_eq!((speeds.as_slice(), speeds.last()), (&SPEEDS[..], Some(&1000)));
}

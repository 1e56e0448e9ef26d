//! Bars beside the rows.

use zmtop::columns::find;
use zmtop::output::text_table::bar;
use zmtop::text::width;

use super::{machine, table};
use crate::support::rows::{MIB, process, walk};

#[test]
fn a_bar_is_as_long_as_its_share_to_an_eighth() {
    for (share, wide, expected) in [
        (1.0, 4, "████"),
        (0.5, 4, "██"),
        (0.5, 3, "█▌"),
        (0.25 + 1.0 / 32.0, 4, "█▏"),
        (7.0 / 8.0, 1, "▉"),
        (1e-9, 40, "▏"),
        (0.0, 40, ""),
        (-1.0, 40, ""),
        (f64::NAN, 40, ""),
        (f64::INFINITY, 2, "██"),
        (7.0, 2, "██"),
        (1.0, 0, ""),
    ] {
        assert_eq!(bar(share, wide, false), expected, "{share} of {wide}");
    }
    assert_eq!(bar(0.5, 4, true), "##");
    assert_eq!(bar(1e-9, 4, true), "#");
    for eighths in 1..=80_u32 {
        let text = bar(f64::from(eighths) / 80.0, 10, false);
        assert_eq!(width(&text), eighths.div_ceil(8) as usize, "{text}");
    }
}

#[test]
fn the_greatest_fills_what_is_left_of_the_terminal() {
    let mut rows = machine();
    rows.push(process(5000, 1, &format!("java {}", "x".repeat(300))));
    rows[5].walk = Ok(walk(1024 * MIB, 0));
    for columns in [60, 80, 120, 200] {
        let text = table(rows.clone(), "", |q, o| {
            o.bars = Some(q.sort);
            o.style.width = Some(columns);
        });
        let bars: Vec<usize> = text.lines().map(|l| l.matches('█').count()).collect();
        assert_eq!(width(text.lines().nth(1).unwrap()), columns, "{text}");
        assert_eq!(bars[1] / 2, bars[2], "{text}");
        assert!(
            bars[1] >= if columns < 80 { 8 } else { 20 } && bars[0] == 0 && bars[3] == 0,
            "{text}"
        );
        assert!(text.lines().all(|l| width(l) <= columns), "{text}");
    }
    // A terminal too narrow for any.
    let text = table(rows, "", |q, o| {
        o.bars = Some(q.sort);
        o.style.width = Some(20);
    });
    assert!(!text.contains('█') && text.lines().all(|l| width(l) <= 20), "{text}");
}

#[test]
fn bars_in_a_pipe_in_a_plain_locale() {
    let text = table(machine(), "", |q, o| {
        q.sort = find("swap").unwrap();
        o.bars = Some(q.sort);
        o.style.ascii = true;
    });
    let expected = format!(" python3 train.py --epochs 10             {}\n", "#".repeat(40));
    assert!(text.contains(&expected), "{text}");
    assert_eq!(text.matches('#').count(), 40, "what holds nothing has no bar: {text}");
    assert!(
        text.ends_with(" 4 processes, partial: 1 permission denied, 1 timed out\n"),
        "{text}"
    );
}

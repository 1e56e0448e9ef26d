//! Screens of every size: what is on them is whole, and comes back with the room for it.

use zmtop::group::RowKey;
use zmtop::tui::Event;

use crate::support::session::{Session, assert_tame};

#[test]
fn every_panel_survives_every_size() {
    let keys = [
        "",
        "t",
        "v",
        "?",
        "s",
        "u",
        "C",
        "/",
        "F3",
        "d",
        "Space",
        "C Space",
        "t *",
        "Tab",
        "Tab Tab v",
        "Tab Tab Tab Space",
        "Tab Tab Tab Tab C",
        "BackTab",
        "Tab Enter",
        "m",
        "b",
        "b b { Tab",
        "j Enter",
        "v Enter",
        "t Enter b",
        "Tab Enter Enter",
        "F9",
        "F9 End Enter",
        "Space Space Space F9 k Enter",
        "Tab F9 Enter",
        "o 1 2 3",
        "Space Space i 9 9 Enter",
        "2",
        "2 Enter ?",
        "2 d",
    ];
    for keys in keys {
        let mut session = Session::new(80, 24);
        session.grouped_minute().keys(keys).keys("Down Up");
        let (before, row) = (session.picture(), selected(&session));
        for (width, height) in [(1, 1), (1, 50), (2, 2), (3, 7), (20, 5), (50, 3), (500, 1), (500, 200)] {
            session.feed(Event::Resize(width, height)).keys("Down Up");
            let frame = session.frame();
            assert_eq!((frame.area.width, frame.area.height), (width, height));
            assert_tame(&frame);
            // Less than that may hold no more than a margin.
            let shown =
                u32::from(width) * u32::from(height) < 100 || frame.content.iter().any(|cell| cell.symbol() != " ");
            assert!(shown, "{width}×{height} {keys:?}: blank");

            let after = session.feed(Event::Resize(80, 24)).keys("Down Up").picture();
            assert_eq!(selected(&session), row, "{width}×{height} {keys:?}");
            assert_eq!(ends(&after), ends(&before), "{width}×{height} {keys:?}");
            assert_eq!(after.lines().count(), 24);
        }
    }
}

fn selected(session: &Session) -> Option<RowKey> {
    session.app.tables.current().selected.clone()
}

/// The title line and the footer.
fn ends(picture: &str) -> [Option<&str>; 2] {
    [picture.lines().next(), picture.lines().last()]
}

#[test]
fn a_frame_for_a_terminal_that_just_shrank_is_cut() {
    let mut session = Session::new(200, 50);
    session.minute().keys("?");
    let mut small = ratatui::Terminal::new(ratatui::backend::TestBackend::new(30, 6)).unwrap();
    small.draw(|f| zmtop::tui::view(&session.app, f)).unwrap();
    let frame = small.backend().buffer();
    assert_eq!((frame.area.width, frame.area.height), (30, 6));
    assert_tame(frame);
    assert!(frame.content.iter().any(|cell| cell.symbol() != " "), "{frame:?}");
}

//! The panel of groups.

use zmtop::tui::app::Scope;

use crate::support::session::{Session, assert_tame};

fn groups(width: u16, height: u16) -> Session {
    let mut session = Session::new(width, height);
    session.grouped_minute();
    session.keys("Tab");
    session
}

#[test]
fn p_opens_and_closes_it_and_it_follows_the_selection() {
    let mut session = groups(120, 40);
    session.keys("p");
    assert!(session.app.shows_panel());
    let picture = session.picture();
    assert!(
        picture.contains("by command") && picture.contains("its processes, by growth"),
        "{picture}"
    );
    assert!(session.line(" python3 train.py  1 process").contains("by command"));
    session.keys("j");
    assert!(session.line(" postgres  3 processes").contains("by command"));
    session.keys("Esc");
    assert!(!session.app.shows_panel() && matches!(session.app.query.scope, Scope::Groups(_)));
    session.keys("p p");
    assert!(!session.app.shows_panel());
}

#[test]
fn those_that_grow_come_first_and_none_twice() {
    let mut session = groups(120, 50);
    session.keys("Tab p");
    let picture = session.picture();
    let from = picture.find("its processes, by growth").unwrap();
    let below = &picture[from..];
    let (train, worker) = (below.find("train.py").unwrap(), below.find("worker.py").unwrap());
    assert!(train < worker, "{below}");
    assert_eq!(below.matches("train.py").count(), 1);
}

#[test]
fn open_it_stays_from_groups_to_members_and_back() {
    let mut session = groups(120, 40);
    session.keys("p Enter");
    assert!(matches!(session.app.query.scope, Scope::Members(_)) && session.app.shows_panel());
    assert!(session.picture().contains("reading its mappings"));
    session.keys("Esc Esc");
    assert!(matches!(session.app.query.scope, Scope::Groups(_)) && !session.app.shows_panel());
    // Mappings have none.
    session.keys("p");
    session.app.query.scope = Scope::Mappings(Box::new(Scope::Processes));
    assert!(!session.app.shows_panel());
    session.keys("p");
    assert!(!session.app.shows_panel());
}

#[test]
fn it_is_drawn_at_every_size() {
    for (width, height) in [(1, 1), (3, 2), (20, 5), (40, 9), (80, 24), (81, 31), (500, 200)] {
        let mut session = groups(width, height);
        for keys in ["p", "Tab", "Tab", "Tab", "Tab", "x x x", "/"] {
            let frame = session.keys(keys).frame();
            assert_eq!((frame.area.width, frame.area.height), (width, height), "{keys}");
            assert_tame(&frame);
            if width >= 80 {
                let picture = session.picture();
                assert!(
                    picture.starts_with(" zmtop on db1"),
                    "{width}×{height} {keys}:\n{picture}"
                );
                assert_eq!(picture.lines().count(), usize::from(height));
            }
        }
    }
}

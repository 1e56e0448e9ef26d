//! Which processes map a file, of the real kernel.

use zmtop::columns::COLUMNS;
use zmtop::columns::Row;
use zmtop::filter::Filter;
use zmtop::query::unread_mappings;
use zmtop::sampler::{Needs, Scanner};

use crate::support::block_on;

#[test]
fn processes_are_found_by_what_they_map() {
    let mut scanner = Scanner::new(&crate::support::machine_options());
    scanner.set_needs(Needs::MAPPED);
    let snapshot = block_on(scanner.full());
    let own = std::env::current_exe().unwrap();
    let name = own.file_name().unwrap().to_str().unwrap();
    let found = |filter: &str| {
        let filter = Filter::parse(filter, &COLUMNS).unwrap();
        let rows = snapshot.rows().iter();
        let rows = rows.filter(|row| filter.matches(&Row::of_process(row, None, &snapshot)));
        rows.map(|row| row.id.pid).collect::<Vec<_>>()
    };
    assert!(found(&format!("maps:{name}")).contains(&std::process::id()));
    assert!(!found("maps:no-file-has-this-name-9137").contains(&std::process::id()));
    let filter = Filter::parse("maps:x", &COLUMNS).unwrap();
    let unread = unread_mappings(&filter, &snapshot);
    assert!(unread.is_none_or(|what| !what.is_pending()), "all were read");
    // Without the need nothing is read, and that is said.
    scanner.set_needs(Needs::NOTHING);
    let snapshot = block_on(scanner.full());
    assert!(unread_mappings(&filter, &snapshot).is_some());
}

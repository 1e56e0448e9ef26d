//! Groups as rows.

use zmtop::columns::layout::{self, ps_by};
use zmtop::columns::{ColumnId, find};
use zmtop::group::GroupBy;
use zmtop::model::ProcessSample;
use zmtop::output::table::TableOptions;
use zmtop::query::Query;

use super::{ids, table, user};
use crate::support::rows::{MIB, process, walk};

fn machine() -> Vec<ProcessSample> {
    let mut rows = vec![
        process(1, 0, "init"),
        user(process(10, 1, "worker --one"), "alice"),
        user(process(11, 1, "worker --two"), "alice"),
        user(process(12, 1, "worker --three"), "bob"),
        user(process(13, 1, "other"), "bob"),
    ];
    for (row, mib) in rows.iter_mut().zip([1, 20, 30, 40, 5]) {
        row.walk = Ok(walk(mib * MIB, mib * MIB / 10));
    }
    rows
}

fn by(by: GroupBy) -> impl Fn(&mut Query<'_>, &mut TableOptions) {
    move |q, o| {
        q.by = Some(by);
        o.columns = ps_by(by).to_vec();
        o.name = Some((*ps_by(by).last().unwrap(), by.title()));
    }
}

#[test]
fn by_program() {
    assert_eq!(
        table(machine(), "", by(GroupBy::Command)),
        "\
N SWAP SWPSS   USS PSHARE   PSS FOOTP COMMAND
3 9.0M  9.0M 90.0M      0 90.0M 99.0M worker
1 512K  512K  5.0M      0  5.0M  5.5M other
1 102K  102K  1.0M      0  1.0M  1.1M init
5 9.6M  9.6M 96.0M      0 96.0M  106M 3 groups of 5 processes
"
    );
}

#[test]
fn by_user_in_another_order() {
    let text = table(machine(), "", |q, o| {
        by(GroupBy::User)(q, o);
        q.sort = find("count").unwrap();
        q.descending = false;
        q.top = Some(2);
    });
    assert_eq!(
        text,
        "\
N SWAP   USS   PSS   RSS USER
1 102K  1.0M  1.0M  1.0M root
2 5.0M 50.0M 50.0M 50.0M alice
5 9.6M 96.0M 96.0M 96.0M 3 groups of 5 processes, 2 shown
"
    );
}

#[test]
fn words_choose_what_is_summed_and_figures_judge_the_sums() {
    let pss = |filter: &str| {
        let text = table(machine(), filter, |q, o| {
            by(GroupBy::Command)(q, o);
            o.columns = ids(&["comm", "count", "pss"]);
            o.heading = false;
            o.totals = false;
        });
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(pss("user:alice"), "worker 2 50.0M");
    // No one of them alone has so much.
    assert_eq!(pss("pss>80M"), "worker 3 90.0M");
    assert_eq!(pss("user:bob pss>30M"), "worker 1 40.0M");
    assert_eq!(pss("count>1 | other"), "worker 3 90.0M other 1 5.0M");
    assert_eq!(pss("pss>1G"), "");
}

#[test]
fn groups_of_those_that_are_in_none() {
    let text = table(machine(), "", by(GroupBy::Container));
    assert!(
        text.contains(" (none)\n") && text.ends_with(" 1 group of 5 processes\n"),
        "{text}"
    );
    assert!(
        text.starts_with("N SWAP   PSS CGMEM CGLIMIT CGSWAP CONTAINER\n"),
        "{text}"
    );
}

#[test]
fn the_printed_tables_have_one_order() {
    let ids = |columns: &[ColumnId]| columns.iter().map(|c| c.get().id).collect::<Vec<_>>();
    let mut tables = vec![ids(layout::PS), ids(layout::PS_TREE)];
    // The last of each says what the row is.
    tables.extend(GroupBy::ALL.map(|by| ids(ps_by(by).split_last().unwrap().1)));
    tables.extend([false, true].map(|areas| layout::maps(areas).iter().map(|c| c.id).collect()));
    for (one, other) in tables
        .iter()
        .flat_map(|one| tables.iter().map(move |other| (one, other)))
    {
        let in_order = |from: &[&'static str], of: &[&str]| -> Vec<_> {
            from.iter().copied().filter(|id| of.contains(id)).collect()
        };
        assert_eq!(in_order(one, other), in_order(other, one), "{one:?} and {other:?}");
    }
}

#[test]
fn the_name_of_a_mapping_is_a_column_by_its_own_name() {
    let tree = super::program::tree();
    let smaps = tree.process(7).comm("cat").pss_kb(3000).smaps();
    tree.system("7/smaps", smaps);
    let (code, out, err) = tree.zmtop("ps --by mapping --columns pss,mapping --sort mapping --no-totals");
    assert_eq!((code, err.as_str()), (Some(0), ""));
    assert!(out.lines().next().unwrap().trim_end().ends_with("MAPPING"), "{out}");
    assert!(out.lines().count() > 1, "{out}");
    // Elsewhere there is no such column.
    assert_eq!(tree.zmtop("ps --columns pss,mapping").0, Some(2));
    assert_eq!(tree.zmtop("ps --by user --columns mapping").0, Some(2));
}

//! The checks can fail: made sources with arrows of every shape.

use super::graph::{Graph, module};
use super::layers;

/// Returns the absolute paths that `source` names in the file `path` of a crate that has these files besides.
fn names(path: &str, source: &str, others: &[&str]) -> Vec<String> {
    let files = others.iter().map(|other| (*other, "")).chain([(path, source)]);
    let mut names: Vec<_> = Graph::new(files)
        .names(&module(path))
        .into_iter()
        .map(|(name, _)| name.join("::"))
        .collect();
    names.sort();
    names.dedup();
    names
}

#[track_caller]
fn named(source: &str, want: &[&str]) {
    let others = ["model.rs", "model/history.rs", "model/history/window/span.rs"];
    assert_eq!(names("model/history/window.rs", source, &others), want, "{source}");
}

#[test]
fn every_shape_of_import_is_seen() {
    named("use crate::columns::Column;", &["columns::Column"]);
    named("pub(crate) use crate :: tui\n :: App ;", &["tui::App"]);
    named(
        "use crate::{\n    columns::{Cell, self},\n    text, // a comment, with tui::x\n    tui::{app::{A as B}, view},\n};",
        &["columns", "columns::Cell", "text", "tui::app::A", "tui::view"],
    );
    named("fn f() { let x = crate::proc::read(); }", &["proc::read"]);
    named("fn f() { use crate::proc::read; }", &["proc::read"]);
    named("type T = Vec<crate::sampler::Plan>;", &["sampler::Plan"]);
    named("#[derive(crate::config::D)] struct S;", &["config::D"]);
    named("#[crate::config::attribute] struct S;", &["config::attribute"]);
    named("impl crate::text::Trait for S {}", &["text::Trait"]);
    named("fn f<T: crate::text::Trait>() {}", &["text::Trait"]);
    named("fn f() { if let crate::text::A { .. } = x {} }", &["text::A"]);
    named("use super::super::super::tui::App;", &["tui::App"]);
    named("use super::reading::Reading;", &["model::history::reading::Reading"]);
    named("use super::{*, text};", &["model::history::*", "model::history::text"]);
    named("use crate::*;", &["*"]);
    named("use self::span::Span;", &["model::history::window::span::Span"]);
    named("use span::Span;", &["model::history::window::span::Span"]);
    named("use crate::text; fn f() { text::fit() }", &["text", "text::fit"]);
    named("use crate::text as t; use t::fit;", &["text", "text::fit"]);
    named("use crate as z; fn f() { z::tui::run() }", &["", "tui::run"]);
}

#[test]
fn macros_are_looked_into() {
    named("fn f() { println!(\"{}\", crate::text::fit(x)); }", &["text::fit"]);
    named("fn f() { vec![[crate::text::fit; 3]] }", &["text::fit"]);
    named("macro_rules! m { ($x:ty) => { $crate::tui::App<$x> }; }", &["tui::App"]);
    named(
        "use crate::text; fn f() { assert!(a: text::fit) }",
        &["text", "text::fit"],
    );
}

#[test]
fn comments_literals_and_foreign_names_are_none() {
    named(
        "// use crate::tui;\n/// [`crate::tui`]\n/* crate::tui /* crate::tui */ */\nstruct S;",
        &[],
    );
    named(
        "const A: &str = \"crate::tui \\\" crate::run\"; const B: char = '\"';",
        &[],
    );
    named(
        "const A: &str = r#\"\" crate::tui \"#; type T = crate::units::U;",
        &["units::U"],
    );
    named("fn f<'a>(x: &'a str) -> crate::text::Y<'a> {}", &["text::Y"]);
    named(
        "use other::crate_::tui; use std::fmt; fn f() { Vec::<u8>::new(); fmt::format(); }",
        &[],
    );
    named("enum Own { A } fn f() { Own::A; }", &[]);
}

#[test]
fn climbing_arrows_are_faults() {
    for (path, source) in [
        ("text.rs", "use crate::columns::Row;"),
        ("model/memory.rs", "use crate::columns::Column;"),
        ("model/memory.rs", "pub use crate::columns::Column;"),
        ("model/memory.rs", "fn f() { println!(\"{}\", crate::columns::COUNT); }"),
        ("columns/cell.rs", "use crate::proc::stat;"),
        ("proc/stat.rs", "use crate::sampler::Plan;"),
        ("sampler.rs", "use crate::config::Settings;"),
        ("config/theme.rs", "use crate::tui::App;"),
        ("tui/view.rs", "use crate::output::table;"),
        ("output/table.rs", "use crate::{model, tui::App};"),
        ("output.rs", "use super::run::main;"),
        ("tui.rs", "use crate::cli::Args;"),
        ("model/memory.rs", "use crate::attic::Thing;"),
        ("attic.rs", ""),
        ("text.rs", "use crate::*;"),
        ("text.rs", "use crate as z; use z::tui;"),
    ] {
        let faults = layers::faults(&Graph::new([(path, source)]));
        // An import of the root, too, is one of something without a layer.
        assert_eq!(faults.len(), 1, "{path}: {source}: {faults:?}");
    }
    // A door does not hide where it leads.
    let files = [
        ("model.rs", "pub use crate::tui::App;"),
        ("tui.rs", "pub struct App;"),
        ("text.rs", "use crate::model::App;"),
    ];
    let faults = layers::faults(&Graph::new(files));
    assert_eq!(
        faults,
        [
            "model.rs (layer 1) imports tui::App (layer 9)",
            "text.rs (layer 0) imports model::App (layer 1)",
            "text.rs (layer 0) imports model::App (layer 9)",
        ]
    );
}

#[test]
fn arrows_downwards_and_sideways_within_a_module_are_none() {
    for (path, source) in [
        ("text.rs", "use crate::units::Units;"),
        ("model/memory.rs", "use crate::model::Memory; use crate::text;"),
        ("tui/view.rs", "use crate::{tui::App, config, sampler, columns, units};"),
        ("run.rs", "use crate::{cli, tui, output};"),
        ("lib.rs", "pub mod tui; pub use crate::columns::Row;"),
        ("main.rs", "use zmtop::{cli, run};"),
    ] {
        let faults = layers::faults(&Graph::new([(path, source)]));
        assert_eq!(faults, Vec::<String>::new(), "{path}: {source}");
    }
}

/// Holds the circles among made files to those wanted, each its files with a space between.
#[track_caller]
fn circles(files: &[(&str, &str)], want: &[&str]) {
    let graph = Graph::new(files.iter().copied());
    let found: Vec<_> = graph.circles().into_iter().map(|(files, _)| files.join(" ")).collect();
    assert_eq!(found, want, "{files:?}");
}

#[test]
fn circles_are_found() {
    // Two files, three, and two circles at once; by imports, by paths in code and in macros.
    circles(
        &[
            ("a.rs", "use crate::b::B; pub struct A;"),
            ("b.rs", "pub struct B(crate::a::A);"),
        ],
        &["a.rs b.rs"],
    );
    circles(
        &[
            ("t/a.rs", "use super::b::f; pub fn g() {}"),
            ("t/b.rs", "use super::c; pub fn f() { c::f() }"),
            ("t/c.rs", "pub fn f() { vec![crate::t::a::g()] }"),
            ("t.rs", "mod a; mod b; mod c;"),
            ("u/a.rs", "use crate::u::b::B; pub struct A;"),
            ("u/b.rs", "use crate::u::a::A; pub struct B;"),
        ],
        &["t/a.rs t/b.rs t/c.rs", "u/a.rs u/b.rs"],
    );
    // Through doors: one that names, one that renames, one that opens all, and a private one for its children.
    for door in [
        "pub use self::a::A;",
        "pub use a::Inner as A;",
        "pub use a::*;",
        "use a::A;",
    ] {
        circles(
            &[
                ("t.rs", door),
                ("t/a.rs", "use super::b::B; pub struct A; pub struct Inner;"),
                ("t/b.rs", "use super::A; pub struct B;"),
            ],
            &["t/a.rs t/b.rs"],
        );
    }
    // An uncle is no parent; nor is a child's child, for one who is not below.
    circles(
        &[
            ("t.rs", ""),
            ("t/a.rs", "pub struct A;"),
            ("t/a/x.rs", "use crate::t::b::B; pub struct X;"),
            ("t/b.rs", "use crate::t::a::x::X; pub struct B;"),
        ],
        &["t/a/x.rs t/b.rs"],
    );
    // By way of a parent: the child's use of it does not count, the parent's own does.
    circles(
        &[
            ("t.rs", "use crate::u::U; pub struct T;"),
            ("u.rs", "use crate::t::T; pub struct U;"),
            ("t/a.rs", "use super::T;"),
        ],
        &["t.rs u.rs"],
    );
}

#[test]
fn a_circle_names_what_ties_it() {
    let graph = Graph::new([
        ("a.rs", "use crate::b::{B, C}; pub struct A;"),
        ("b.rs", "use crate::a::A; pub struct B; pub struct C;"),
    ]);
    let want = vec!["a.rs -> b.rs: B, C".to_owned(), "b.rs -> a.rs: A".to_owned()];
    assert_eq!(graph.circles(), [(vec!["a.rs", "b.rs"], want)]);
}

#[test]
fn what_is_no_circle_is_none() {
    // Children use their parent, which uses them; also a grandparent, and all of them the root.
    circles(
        &[
            ("lib.rs", "pub mod t; pub use t::T; pub fn root() { t::f() }"),
            ("t.rs", "mod a; use a::A; pub struct T; pub fn f() { A::new() }"),
            ("t/a.rs", "use super::T; mod x; use x::X; pub struct A;"),
            (
                "t/a/x.rs",
                "use crate::t::T; use super::A; pub struct X; fn f() { crate::root() }",
            ),
        ],
        &[],
    );
    // A door that re-exports is no import of what it shows.
    circles(
        &[
            ("t.rs", "pub struct T;"),
            ("door.rs", "pub use crate::a::A; pub struct Own;"),
            ("a.rs", "use crate::door::Own; pub struct A;"),
        ],
        &[],
    );
    // A chain, a file that names itself, and names that only look alike.
    circles(
        &[
            ("a.rs", "use crate::b::B; pub struct A; fn f() { crate::a::A; }"),
            ("b.rs", "use crate::c::C; pub struct B; enum a { A } fn f() { a::A }"),
            ("c.rs", "pub struct C; // use crate::a::A;"),
        ],
        &[],
    );
}

#[test]
#[should_panic(expected = "a module is a file")]
fn modules_within_a_file_are_refused() {
    Graph::new([("a.rs", "mod inner { use super::X; }")]);
}

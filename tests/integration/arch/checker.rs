//! The checker can fail: made sources with arrows of every shape.

use super::{faults, imports, module_path};

#[track_caller]
fn names(path: &str, source: &str, want: &[&str]) {
    assert_eq!(imports(source, &module_path(path)), want, "{source}");
}

#[test]
fn every_shape_of_import_is_seen() {
    names("model/memory.rs", "use crate::columns::Column;", &["columns"]);
    names("model/memory.rs", "pub(crate) use crate :: tui\n :: App ;", &["tui"]);
    names(
        "model/row.rs",
        "use crate::{\n    columns::{Cell, self},\n    text, // a comment, with tui::x\n    tui::{app::{A, B}, view},\n};",
        &["columns", "text", "tui"],
    );
    names("model/memory.rs", "fn f() { let x = crate::proc::read(); }", &["proc"]);
    names("model/memory.rs", "type T = Vec<crate::sampler::Plan>;", &["sampler"]);
    names("model/memory.rs", "#[derive(crate::config::D)] struct S;", &["config"]);
    names("model/memory.rs", "use super::super::tui::App;", &["tui"]);
    names("model/memory.rs", "use crate::*;", &["*"]);
    names("model.rs", "use super::{*, text};", &["*", "text"]);
    names("model/memory.rs", "use super::reading::Reading;", &[]);
    names(
        "model/history/window.rs",
        "use super::super::super::{output, text::fit};",
        &["output", "text"],
    );
    names("model/history/window.rs", "use super::super::reading;", &[]);
    names("model.rs", "use super::tui;", &["tui"]);
    names("model.rs", "use self::row::Row; use row::Row;", &[]);
    names("main.rs", "fn main() { zmtop::run::main() }", &["run"]);
}

#[test]
fn comments_and_literals_are_none() {
    names(
        "model/row.rs",
        "// use crate::tui;\n/// [`crate::tui`]\n/* crate::tui /* crate::tui */ */",
        &[],
    );
    names(
        "model/row.rs",
        "let s = \"crate::tui \\\" crate::run\"; crate::text::fit",
        &["text"],
    );
    names(
        "model/row.rs",
        "r\"\\\" crate::text; r#\"\" crate::tui \"# crate::units",
        &["text", "units"],
    );
    names(
        "model/row.rs",
        "let c = '\"'; crate::text; let d = '\\''; crate::units; '\"'",
        &["text", "units"],
    );
    names(
        "model/row.rs",
        "fn f<'a>(x: &'a str) -> crate::text::Y<'a> {}",
        &["text"],
    );
    names("model/memory.rs", "other::crate_::tui; my_crate::tui", &[]);
}

#[test]
fn climbing_arrows_are_faults() {
    for (path, source) in [
        ("text.rs", "use zmtop::columns::Row;"),
        ("model/memory.rs", "use crate::columns::Column;"),
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
    ] {
        assert_eq!(faults(path, source).len(), 1, "{path}: {source}");
    }
}

#[test]
fn arrows_downwards_and_sideways_within_a_module_are_none() {
    for (path, source) in [
        ("text.rs", "use crate::units::Units;"),
        ("model/memory.rs", "use crate::model::Memory; use crate::text;"),
        ("tui/view.rs", "use crate::{tui::App, config, sampler, columns, units};"),
        ("run.rs", "use crate::{cli, tui, output};"),
        ("lib.rs", "pub mod tui; pub use zmtop::columns::Row;"),
        ("main.rs", "use zmtop::{cli, run};"),
    ] {
        assert_eq!(faults(path, source), Vec::<String>::new(), "{path}: {source}");
    }
}

//! The house: imports point downwards and never in a circle, files stay small, the top level stays bare.

mod checker;
mod docs;
mod graph;
mod layers;
mod source;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use graph::Graph;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn files(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut dirs = vec![dir.to_owned()];
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                dirs.push(path);
            } else {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Every Rust file below `dir` of the crate: its path below `dir`, and its text.
fn sources(dir: &str) -> Vec<(String, String)> {
    let base = root().join(dir);
    files(&base)
        .into_iter()
        .filter(|path| path.extension().is_some_and(|e| e == "rs"))
        .map(|path| {
            let name = path.strip_prefix(&base).unwrap().to_str().unwrap().to_owned();
            (name, fs::read_to_string(&path).unwrap())
        })
        .collect()
}

fn graph() -> Graph {
    let sources = sources("src");
    assert!(sources.len() > 20, "found only {} files", sources.len());
    Graph::new(sources.iter().map(|(path, text)| (path.as_str(), text.as_str())))
}

#[test]
fn no_import_climbs_the_layers() {
    let faults = layers::faults(&graph());
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn no_files_import_each_other_in_a_circle() {
    let graph = graph();
    let circles: Vec<_> = graph.circles().into_iter().map(|(_, arrows)| arrows).collect();
    assert!(circles.is_empty(), "{circles:#?}");
}

#[test]
fn files_stay_small() {
    let mut faults = Vec::new();
    for dir in ["src", "tests"] {
        for (path, text) in sources(dir) {
            let lines = text.lines().count();
            if lines > 400 {
                faults.push(format!("{dir}/{path} has {lines} lines"));
            }
            if Path::new(&path).file_name().is_some_and(|name| name == "mod.rs") {
                faults.push(format!("{dir}/{path}: foo.rs and foo/, no mod.rs"));
            }
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn no_folder_holds_a_single_file() {
    let mut lonely = BTreeSet::new();
    for dir in ["src", "tests/integration", "tests/bench"] {
        let mut dirs = vec![root().join(dir)];
        while let Some(dir) = dirs.pop() {
            let entries: Vec<_> = fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap().path()).collect();
            // Snapshots are the data of tests.
            if entries.len() == 1 && dir.file_name().is_some_and(|name| name != "snapshots") {
                lonely.insert(dir.strip_prefix(root()).unwrap().to_str().unwrap().to_owned());
            }
            dirs.extend(entries.into_iter().filter(|path| path.is_dir()));
        }
    }
    assert!(lonely.is_empty(), "a single file is no folder: {lonely:#?}");
}

#[test]
fn doc_comments_begin_with_a_verb_or_a_noun() {
    let faults: Vec<_> = sources("src")
        .iter()
        .flat_map(|(path, text)| {
            docs::misworded(text)
                .into_iter()
                .map(move |line| format!("{path}: {line}"))
        })
        .collect();
    assert!(faults.is_empty(), "{faults:#?}");
}

/// What may stand at the top of the repository beside dotfiles.
fn belongs(name: &str) -> bool {
    name.starts_with('.')
        || name.starts_with("LICENSE")
        || ["Cargo.toml", "Cargo.lock", "src", "config", "assets", "tests", "README.md", "CHANGELOG.md"].contains(&name)
        // Cargo's own, in no commit.
        || name == "target"
}

#[test]
fn the_top_level_stays_bare() {
    let strangers: Vec<_> = fs::read_dir(root())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .filter(|name| !belongs(name))
        .collect();
    assert!(strangers.is_empty(), "{strangers:?}");
    assert!(!belongs("scripts") && !belongs("build.rs") && belongs("LICENSE-MIT") && belongs(".ci"));
}

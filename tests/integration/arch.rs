//! The structure of the code: imports point downwards and never in a circle, and the top level holds nothing else.

mod checker;
mod graph;
mod layers;
mod promises;
mod source;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

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
pub(crate) fn sources(dir: &str) -> Vec<(String, String)> {
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

/// This crate: reading it takes a second.
static GRAPH: LazyLock<Graph> = LazyLock::new(|| {
    let sources = sources("src");
    assert!(sources.len() > 20, "found only {} files", sources.len());
    Graph::new(sources.iter().map(|(path, text)| (path.as_str(), text.as_str())))
});

#[test]
fn no_import_climbs_the_layers() {
    let faults = layers::faults(&GRAPH);
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn no_files_import_each_other_in_a_circle() {
    let circles: Vec<_> = GRAPH.circles().into_iter().map(|(_, arrows)| arrows).collect();
    assert!(circles.is_empty(), "{circles:#?}");
}

/// The modules that send requests to runtimes, and the one through which `zmtop heap` uses them.
const REQUESTS: [[&str; 2]; 4] = [
    ["heaps", "java"],
    ["heaps", "dotnet"],
    ["heaps", "node"],
    ["heaps", "socket"],
];
const DOORS: [&str; 2] = ["heaps", "runtimes"];

#[test]
fn only_zmtop_heap_sends_requests_to_runtimes() {
    let mut users = BTreeSet::new();
    for (module, path) in GRAPH.files() {
        for (name, _) in GRAPH.names(module) {
            let of_crate = |module: &[&str; 2]| name.starts_with(&module.map(str::to_owned));
            let is_inside = module.first().is_some_and(|top| top == "heaps");
            assert!(is_inside || !REQUESTS.iter().any(of_crate), "{path} imports {name:?}");
            if !is_inside && of_crate(&DOORS) {
                users.insert(path);
            }
        }
    }
    // The monitor uses `heaps::lines`, which opens only those doors that are free: see `runtimes::dotnet`.
    assert_eq!(Vec::from_iter(users), ["run/heap.rs"]);
}

#[test]
fn modules_stand_beside_their_folders() {
    let mods: Vec<_> = ["src", "tests"]
        .into_iter()
        .flat_map(|dir| sources(dir).into_iter().map(move |(path, _)| format!("{dir}/{path}")))
        .filter(|path| path.ends_with("/mod.rs"))
        .collect();
    assert!(mods.is_empty(), "foo.rs and foo/, no mod.rs: {mods:?}");
}

/// Returns true for a name that may stand at the top of the repository.
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

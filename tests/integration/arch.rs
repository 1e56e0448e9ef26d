//! The house: imports point downwards, files stay small, the top level stays bare.

mod checker;
mod imports;

use std::fs;
use std::path::{Path, PathBuf};

use imports::imports;

/// The floor of a top-level module; `None` for one that the design does not name.
fn floor(module: &str) -> Option<u8> {
    Some(match module {
        "units" | "text" => 0,
        "model" => 1,
        "account" | "group" | "trend" => 2,
        "filter" | "history" => 3,
        "columns" => 4,
        "alert" => 5,
        "proc" | "record" => 6,
        "act" | "sampler" | "source" => 7,
        "config" => 8,
        "tui" | "output" | "export" => 9,
        "cli" | "run" | "main" | "lib" | "manual" => 10,
        _ => return None,
    })
}

/// The floor of the faces, which do not import each other.
const FACES: u8 = 9;

/// The faults of one file's imports; `path` is below `src`, with `/` between.
fn faults(path: &str, source: &str) -> Vec<String> {
    let modules = module_path(path);
    let own = modules[0].as_str();
    let Some(from) = floor(own) else {
        return vec![format!("{path}: the design names no module {own}")];
    };
    let mut faults = Vec::new();
    for import in imports(source, &modules) {
        // The wiring may name anything, and an item of the root is no module.
        let Some(to) = floor(&import) else {
            if own != "lib" {
                faults.push(format!("{path}: {import} has no floor"));
            }
            continue;
        };
        if import != own && (to > from || (to == from && from == FACES)) {
            faults.push(format!("{path}: {own} (floor {from}) imports {import} (floor {to})"));
        }
    }
    faults
}

/// `tui/view/table.rs` is `["tui", "view", "table"]`.
fn module_path(path: &str) -> Vec<String> {
    path.trim_end_matches(".rs").split('/').map(str::to_owned).collect()
}

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

#[test]
fn no_import_climbs_the_floors() {
    let sources = sources("src");
    assert!(sources.len() > 20, "found only {} files", sources.len());
    let all: Vec<_> = sources.iter().flat_map(|(path, text)| faults(path, text)).collect();
    assert!(all.is_empty(), "{all:#?}");
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

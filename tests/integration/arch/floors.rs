//! The floors of the house: a file names only what stands on its own floor or below.

use super::graph::Graph;

/// Returns the floor of a top-level module; `None` for one that the design does not name.
fn floor(module: &str) -> Option<u8> {
    Some(match module {
        "units" | "text" => 0,
        "model" => 1,
        "account" | "group" | "trend" => 2,
        "filter" | "history" => 3,
        "columns" => 4,
        "alert" | "query" => 5,
        "proc" | "record" => 6,
        "act" | "sampler" | "source" => 7,
        "config" => 8,
        "tui" | "output" | "export" => FACES,
        "cli" | "run" | "main" | "lib" | "manual" => 10,
        _ => return None,
    })
}

/// The floor of the faces, which do not import each other.
const FACES: u8 = 9;

/// Returns the imports that climb the floors; re-exports count, both by the name used and by where it leads to.
pub(super) fn faults(graph: &Graph) -> Vec<String> {
    let mut faults = Vec::new();
    for (module, path) in graph.files() {
        let own = module.first().map_or("lib", String::as_str);
        let Some(from) = floor(own) else {
            faults.push(format!("{path}: the design names no module {own}"));
            continue;
        };
        for (name, _) in graph.names(module) {
            let definer = graph.definer(&name);
            for to in [Some(&name), definer.as_ref()]
                .into_iter()
                .flatten()
                .filter_map(|path| path.first())
            {
                let written = name.join("::");
                match floor(to) {
                    // The wiring may name anything, and an item of the root is no module.
                    None if own == "lib" || own == "main" => {}
                    None => faults.push(format!("{path}: {written} has no floor")),
                    Some(floor) if to != own && (floor > from || (floor == from && from == FACES)) => {
                        faults.push(format!("{path} (floor {from}) imports {written} (floor {floor})"));
                    }
                    Some(_) => {}
                }
            }
        }
    }
    faults.sort();
    faults.dedup();
    faults
}

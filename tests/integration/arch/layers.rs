//! The layers of the house: a file names only what stands on its own layer or below.

use super::graph::Graph;

/// Returns the layer of a top-level module; `None` for one that the design does not name.
fn layer(module: &str) -> Option<u8> {
    Some(match module {
        "units" | "text" | "order" | "schema" => 0,
        "model" => 1,
        "account" | "call_tree" | "group" | "heap" | "trend" => 2,
        "filter" | "history" | "limits" => 3,
        "columns" => 4,
        "alert" | "query" | "why" => 5,
        "engine" | "own" | "proc" | "record" | "zone" => 6,
        "act" | "fleet" | "heaps" | "http" | "sampler" | "source" | "stacks" => 7,
        "config" => 8,
        "tui" | "output" | "serve" | "recorder" => FACES,
        "cli" | "run" | "main" | "lib" | "manual" => 10,
        _ => return None,
    })
}

/// The layer of the faces, which do not import each other.
const FACES: u8 = 9;

/// Returns the imports that climb the layers; re-exports count, both by the name used and by where it leads to.
pub(super) fn faults(graph: &Graph) -> Vec<String> {
    let mut faults = Vec::new();
    for (module, path) in graph.files() {
        let own = module.first().map_or("lib", String::as_str);
        let Some(from) = layer(own) else {
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
                match layer(to) {
                    // The wiring may name anything, and an item of the root is no module.
                    None if own == "lib" || own == "main" => {}
                    None => faults.push(format!("{path}: {written} has no layer")),
                    Some(layer) if to != own && (layer > from || (layer == from && from == FACES)) => {
                        faults.push(format!("{path} (layer {from}) imports {written} (layer {layer})"));
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

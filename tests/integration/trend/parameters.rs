//! The table of tuning constants.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use zmtop::trend::parameters::TABLE;

use super::corpus::{SHAPES, WIDE};

fn sources(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let entries = fs::read_dir(folder).unwrap();
    entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_file())
        .collect()
}

#[test]
fn each_parameter_has_a_reason_and_a_test_that_exists() {
    let mut names = HashSet::new();
    for parameter in TABLE {
        assert!(names.insert(parameter.name), "{} stands twice", parameter.name);
        for text in [parameter.value, parameter.unit, parameter.guards_against] {
            assert!(!text.is_empty(), "{parameter:?}");
        }
        assert!(!parameter.shown_by.is_empty(), "{parameter:?}");
        for word in parameter.shown_by.split_whitespace().filter(|word| *word != "corpus:") {
            let exists = match word.split_once("::") {
                Some((module, test)) => {
                    let file = format!("tests/integration/trend/{module}.rs");
                    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap();
                    text.contains(&format!("fn {test}()"))
                }
                None => SHAPES.iter().chain(&WIDE).any(|shape| shape.name == word),
            };
            assert!(exists, "{}: there is no {word}", parameter.name);
        }
    }
}

#[test]
fn no_constant_that_tunes_stands_outside_the_table() {
    // Properties of the clock, and an empty value.
    let units = ["HOUR", "HOURS", "NONE"];
    for path in sources("src/trend") {
        let text = fs::read_to_string(&path).unwrap();
        let constants = text
            .lines()
            .filter_map(|line| line.trim_start().strip_prefix("const ")?.split(':').next());
        let tunes = |name: &&str| !name.starts_with("fn ") && !units.contains(name) && !name.contains('$');
        let outside: Vec<_> = constants.filter(tunes).collect();
        assert!(outside.is_empty(), "{}: {outside:?}", path.display());
    }
}

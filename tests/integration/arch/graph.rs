//! Which file uses which: an import counts as one of the file that defines the name, through any number of doors.

use std::collections::{BTreeMap, BTreeSet};

use super::source::{Import, Source};

/// The path of a module from the root of the crate; the root itself is empty.
type Module = Vec<String>;

/// The files of a crate and what each of them says.
pub(super) struct Graph {
    files: BTreeMap<Module, (String, Source)>,
}

/// The target of a path: the file that defines it, and its name, or `None` for the module of the file itself.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Place {
    file: Module,
    name: Option<String>,
}

/// For each file, the files that it uses, and the names it takes from them.
type Edges<'a> = BTreeMap<&'a Module, BTreeMap<&'a Module, BTreeSet<String>>>;

impl Graph {
    /// Reads the files of a crate, each a path below `src` and its text.
    pub(super) fn new<'a>(files: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let files = files
            .into_iter()
            .map(|(path, text)| (module(path), (path.to_owned(), Source::parse(text))));
        Self { files: files.collect() }
    }

    /// Returns the path from the root of what a path means that is written in the file of `from`; `None` where
    /// it begins with a name of another crate or of the file itself.
    fn absolute(&self, from: &Module, path: &[String], seen: &mut Vec<String>) -> Option<Module> {
        let (first, rest) = path.split_first()?;
        let base = match first.as_str() {
            // The binary names the library.
            "crate" | "zmtop" => Module::new(),
            "self" => from.clone(),
            "super" => {
                let climbs = path.iter().take_while(|s| *s == "super").count();
                let base = from[..from.len().checked_sub(climbs)?].to_vec();
                return Some([&base, &path[climbs..]].concat());
            }
            name => {
                let child = [from.as_slice(), &[name.to_owned()]].concat();
                if self.files.contains_key(&child) {
                    child
                } else {
                    // A name that the file imports; one that stands for itself is another crate's.
                    let import = self.files[from].1.imports.iter().find(|i| i.name == name)?;
                    if seen.contains(first) {
                        return None;
                    }
                    seen.push(first.clone());
                    self.absolute(from, &import.path, seen)?
                }
            }
        };
        Some([&base, rest].concat())
    }

    /// Follows an absolute path through re-exports to the file that defines what it names.
    fn resolve(&self, path: &[String], seen: &mut Vec<(Module, String)>) -> Option<Place> {
        let at = (0..=path.len())
            .rev()
            .find(|&at| self.files.contains_key(&path[..at]))?;
        let file = path[..at].to_vec();
        let Some(name) = path.get(at).filter(|name| *name != "self") else {
            return Some(Place { file, name: None });
        };
        let here = Place {
            file: file.clone(),
            name: Some(name.clone()),
        };
        let source = &self.files[&file].1;
        if name == "*" || source.defines.contains(name) || seen.contains(&(file.clone(), name.clone())) {
            return Some(here);
        }
        seen.push((file.clone(), name.clone()));
        for import in source.imports.iter().filter(|i| i.name == *name || i.name == "*") {
            let Some(mut target) = self.absolute(&file, &import.path, &mut Vec::new()) else {
                continue;
            };
            let glob = import.name == "*";
            if glob {
                target.pop();
                target.push(name.clone());
            }
            target.extend_from_slice(&path[at + 1..]);
            let found = self.resolve(&target, seen);
            if !glob || found.as_ref().is_some_and(|place| self.defines(place)) {
                return found;
            }
        }
        Some(here)
    }

    fn defines(&self, place: &Place) -> bool {
        let name = place.name.as_ref();
        name.is_none_or(|name| self.files[&place.file].1.defines.contains(name))
    }

    /// Returns every absolute path that a file names, and whether only to re-export it.
    pub(super) fn names(&self, file: &Module) -> Vec<(Module, bool)> {
        let source = &self.files[file].1;
        let imports = source.imports.iter().map(|Import { path, public, .. }| (path, *public));
        let paths = source.paths.iter().map(|path| (path, false));
        let absolute = |path| self.absolute(file, path, &mut Vec::new());
        imports
            .chain(paths)
            .filter_map(|(path, public)| Some((absolute(path)?, public)))
            .collect()
    }

    /// Returns the files with their modules.
    pub(super) fn files(&self) -> impl Iterator<Item = (&Module, &str)> {
        self.files.iter().map(|(module, (path, _))| (module, path.as_str()))
    }

    /// Returns the file that defines what an absolute path names.
    pub(super) fn definer(&self, path: &[String]) -> Option<Module> {
        Some(self.resolve(path, &mut Vec::new())?.file)
    }

    /// Returns who uses whom. A child may use its parent, a door names what it re-exports, and a module is used
    /// only by what is taken from it: none of these is an edge.
    fn edges(&self) -> Edges<'_> {
        let mut edges = Edges::new();
        for file in self.files.keys() {
            let used = edges.entry(file).or_default();
            let names = self.names(file);
            let reexported: BTreeSet<_> = names
                .iter()
                .filter(|(_, public)| *public)
                .map(|(path, _)| path)
                .collect();
            for (path, _) in names.iter().filter(|(path, _)| !reexported.contains(path)) {
                let Some(Place {
                    file: to,
                    name: Some(name),
                }) = self.resolve(path, &mut Vec::new())
                else {
                    continue;
                };
                if !file.starts_with(&to) {
                    let (to, _) = self.files.get_key_value(&to).unwrap();
                    used.entry(to).or_default().insert(name);
                }
            }
        }
        edges
    }

    /// Returns each circle: its files, and one line for each arrow between them.
    pub(super) fn circles(&self) -> Vec<(Vec<&str>, Vec<String>)> {
        let edges = self.edges();
        let name = |module: &Module| self.files[module].0.as_str();
        components(&edges)
            .into_iter()
            .map(|circle| {
                let arrows = circle.iter().flat_map(|from| {
                    let inside = edges[from].iter().filter(|(to, _)| circle.contains(**to));
                    inside.map(|(to, names)| {
                        let names: Vec<_> = names.iter().map(String::as_str).collect();
                        format!("{} -> {}: {}", name(from), name(to), names.join(", "))
                    })
                });
                let arrows = arrows.collect();
                (circle.iter().map(|module| name(module)).collect(), arrows)
            })
            .collect()
    }
}

/// Returns the sets of two or more files that all reach each other: every file is in at most one.
fn components<'a>(edges: &Edges<'a>) -> Vec<BTreeSet<&'a Module>> {
    let reached: BTreeMap<_, _> = edges.keys().map(|from| (*from, reachable(edges, from))).collect();
    let mut done = BTreeSet::new();
    let mut found = Vec::new();
    for from in edges.keys() {
        let circle: BTreeSet<_> = reached[from]
            .iter()
            .copied()
            .filter(|to| reached[to].contains(from))
            .collect();
        if circle.len() > 1 && done.insert(circle.clone()) {
            found.push(circle);
        }
    }
    found
}

/// Returns the files that one uses, and those that these use, and so on.
fn reachable<'a>(edges: &Edges<'a>, from: &'a Module) -> BTreeSet<&'a Module> {
    let mut found = BTreeSet::new();
    let mut next = vec![from];
    while let Some(file) = next.pop() {
        next.extend(edges[file].keys().filter(|to| found.insert(**to)));
    }
    found
}

/// Returns the module of a path below `src`: `tui/view.rs` is `["tui", "view"]`, `lib.rs` the root.
pub(super) fn module(path: &str) -> Module {
    let path = path.trim_end_matches(".rs");
    if path == "lib" {
        return Module::new();
    }
    path.split('/').map(str::to_owned).collect()
}

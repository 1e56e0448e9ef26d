//! Reads one source file: the names it defines, what it imports, and the paths in its code.

use std::collections::BTreeSet;

use syn::buffer::{Cursor, TokenBuffer};
use syn::visit::{self, Visit};
use syn::{Attribute, Ident, Item, ItemMod, ItemUse, Macro, Meta, UseTree, Visibility};

/// One branch of a `use` item.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Import {
    /// The path as written; a glob ends with `*`.
    pub(super) path: Vec<String>,
    /// The name that it binds: the last segment, or the one after `as`.
    pub(super) name: String,
    /// The import is a re-export: it has a visibility.
    pub(super) public: bool,
}

/// The definitions, imports and paths of a source file.
#[derive(Debug, Default)]
pub(super) struct Source {
    /// The items at its top level.
    pub(super) defines: BTreeSet<String>,
    pub(super) imports: Vec<Import>,
    /// Every other path of at least two segments, also those inside macros.
    pub(super) paths: Vec<Vec<String>>,
}

impl Source {
    /// Parses a source file, which must be correct Rust.
    pub(super) fn parse(text: &str) -> Self {
        let file = syn::parse_file(text).unwrap_or_else(|e| panic!("{e}: {text}"));
        let mut source = Self {
            defines: file.items.iter().filter_map(defined).collect(),
            ..Self::default()
        };
        source.visit_file(&file);
        source
    }

    /// Records the branches of a `use` tree that stands after `path`.
    fn import(&mut self, path: &[String], tree: &UseTree, public: bool) {
        let add = |segment: String| [path, &[segment]].concat();
        let (path, name) = match tree {
            UseTree::Path(branch) => return self.import(&add(word(&branch.ident)), &branch.tree, public),
            UseTree::Group(group) => return group.items.iter().for_each(|tree| self.import(path, tree, public)),
            UseTree::Glob(_) => (add("*".into()), "*".into()),
            UseTree::Name(leaf) => (add(word(&leaf.ident)), word(&leaf.ident)),
            UseTree::Rename(leaf) => (add(word(&leaf.ident)), word(&leaf.rename)),
        };
        // `a::{self}` is `a`.
        let (path, name) = match path.as_slice() {
            [front @ .., before, last] if last == "self" => {
                let name = if name == "self" { before.clone() } else { name };
                ([front, std::slice::from_ref(before)].concat(), name)
            }
            _ => (path, name),
        };
        self.imports.push(Import { path, name, public });
    }

    /// Records the paths among the tokens of a macro, which no parser knows.
    fn tokens(&mut self, mut cursor: Cursor<'_>) {
        let mut path: Vec<String> = Vec::new();
        // How many colons came since the last word.
        let mut colons = 0;
        while !cursor.eof() {
            if let Some((ident, next)) = cursor.ident() {
                if colons != 2 {
                    self.path(std::mem::take(&mut path));
                }
                path.push(word(&ident));
                (cursor, colons) = (next, 0);
            } else if let Some((_, next)) = cursor.punct().filter(|(sign, _)| sign.as_char() == ':') {
                (cursor, colons) = (next, colons + 1);
            } else {
                self.path(std::mem::take(&mut path));
                colons = 0;
                if let Some((inside, _, _, _)) = cursor.any_group() {
                    self.tokens(inside);
                }
                let Some((_, next)) = cursor.token_tree() else { break };
                cursor = next;
            }
        }
        self.path(path);
    }

    fn path(&mut self, path: Vec<String>) {
        if path.len() > 1 {
            self.paths.push(path);
        }
    }
}

impl<'ast> Visit<'ast> for Source {
    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        let public = !matches!(item.vis, Visibility::Inherited);
        self.import(&[], &item.tree, public);
    }

    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        // `super` and `self` would mean another module inside it. A page of documentation holds nothing.
        let bare = item.content.as_ref().is_none_or(|(_, items)| items.is_empty());
        assert!(bare, "mod {}: a module is a file", item.ident);
        visit::visit_item_mod(self, item);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        self.path(path.segments.iter().map(|s| word(&s.ident)).collect());
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, item: &'ast Macro) {
        self.tokens(TokenBuffer::new2(item.tokens.clone()).begin());
        visit::visit_macro(self, item);
    }

    fn visit_attribute(&mut self, attribute: &'ast Attribute) {
        if let Meta::List(list) = &attribute.meta {
            self.tokens(TokenBuffer::new2(list.tokens.clone()).begin());
        }
        visit::visit_attribute(self, attribute);
    }
}

fn word(ident: &Ident) -> String {
    ident.to_string().trim_start_matches("r#").to_owned()
}

/// The name that an item adds to its module.
fn defined(item: &Item) -> Option<String> {
    Some(word(match item {
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Macro(item) => item.ident.as_ref()?,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::TraitAlias(item) => &item.ident,
        Item::Type(item) => &item.ident,
        Item::Union(item) => &item.ident,
        _ => return None,
    }))
}

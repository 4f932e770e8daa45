//! The modules of a crate: what each defines, what it imports, and which paths are in its code.

use std::collections::BTreeSet;
use syn::visit::{self, Visit};
use syn::{Attribute, Item, UseTree};

/// A module with its own file, and the modules that are written inside it.
#[derive(Debug, Default)]
pub(super) struct Module {
    pub(super) file: String,
    /// From the root of the crate.
    pub(super) path: Vec<String>,
    pub(super) defines: BTreeSet<String>,
    pub(super) imports: Vec<Import>,
    /// Paths of two segments at least, as they are written.
    pub(super) paths: BTreeSet<Vec<String>>,
}

/// A name that a `use` declaration brings in.
#[derive(Debug)]
pub(super) struct Import {
    pub(super) path: Vec<String>,
    /// The name here; `None` for all names of a module.
    pub(super) name: Option<String>,
}

/// Reads the files of a crate; paths are relative to its folder of sources. What cannot be parsed has no names: the compiler
/// reports that.
pub(super) fn read<'a>(files: impl Iterator<Item = (&'a str, &'a str)>) -> Vec<Module> {
    let mut modules = Vec::new();
    for (file, text) in files {
        let Ok(parsed) = syn::parse_file(text) else { continue };
        let mut module = Module { file: file.to_owned(), path: path_of(file), ..Module::default() };
        if !parsed.items.is_empty() {
            module.add(&parsed.items);
        }
        modules.push(module);
    }
    modules
}

fn path_of(file: &str) -> Vec<String> {
    let mut path: Vec<String> = file.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    if path.last().is_some_and(|last| last == "mod") || matches!(file, "lib.rs" | "main.rs") {
        path.pop();
    }
    path
}

fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let tokens = match &attribute.meta {
            syn::Meta::List(list) if list.path.is_ident("cfg") => list.tokens.to_string(),
            meta => return meta.path().is_ident("test"),
        };
        tokens == "test" || tokens.starts_with("all (test") || tokens.starts_with("all(test")
    })
}

impl Module {
    fn add(&mut self, items: &[Item]) {
        for item in items.iter().filter(|item| !is_for_tests(attributes(item))) {
            if let Some(name) = name(item) {
                self.defines.insert(name);
            }
            match item {
                Item::Use(item) => self.import(&mut Vec::new(), &item.tree),
                // Modules within a file are part of it.
                Item::Mod(inner) => {
                    if let Some((_, items)) = &inner.content {
                        self.add(items);
                    }
                }
                other => Paths(&mut self.paths).visit_item(other),
            }
        }
    }

    fn import(&mut self, before: &mut Vec<String>, tree: &UseTree) {
        let mut add = |last: Option<&str>, name: Option<String>| {
            let path = before
                .iter()
                .cloned()
                .chain(last.filter(|last| *last != "self").map(str::to_owned))
                .collect();
            self.imports.push(Import { path, name });
        };
        match tree {
            UseTree::Path(path) => {
                before.push(path.ident.to_string());
                self.import(before, &path.tree);
                before.pop();
            }
            UseTree::Name(name) => {
                let own = name.ident.to_string();
                let known_as = if own == "self" { before.last().cloned() } else { Some(own.clone()) };
                add(Some(&own), known_as.or(Some(own.clone())));
            }
            UseTree::Rename(rename) => add(Some(&rename.ident.to_string()), Some(rename.rename.to_string())),
            UseTree::Glob(_) => add(None, None),
            UseTree::Group(group) => group.items.iter().for_each(|tree| self.import(before, tree)),
        }
    }
}

/// Collects paths of expressions, types and patterns.
struct Paths<'a>(&'a mut BTreeSet<Vec<String>>);

impl<'ast> Visit<'ast> for Paths<'_> {
    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.segments.len() > 1 && path.leading_colon.is_none() {
            self.0.insert(path.segments.iter().map(|segment| segment.ident.to_string()).collect());
        }
        visit::visit_path(self, path);
    }
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Union(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

fn name(item: &Item) -> Option<String> {
    let name = match item {
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Macro(item) => item.ident.as_ref()?,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::Type(item) => &item.ident,
        Item::Union(item) => &item.ident,
        _ => return None,
    };
    Some(name.to_string())
}

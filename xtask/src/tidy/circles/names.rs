//! Which file a name comes from.

use super::modules::Module;
use std::collections::BTreeMap;

/// From which module to which something is taken, by their places in the list, with one of the names.
pub(super) fn edges(modules: &[Module]) -> BTreeMap<(usize, usize), String> {
    let names = Names { modules };
    let mut edges = BTreeMap::new();
    for (from, module) in modules.iter().enumerate() {
        let imported = module.imports.iter().map(|import| &import.path);
        for path in imported.chain(&module.paths) {
            // Imports from the module itself or from a module around it are no edges.
            let is_within = |to: usize| module.path.starts_with(&modules[to].path);
            if let Some(to) = names.file_of(from, path, 0).filter(|&to| !is_within(to)) {
                edges.entry((from, to)).or_insert_with(|| path.last().cloned().unwrap_or_default());
            }
        }
    }
    edges
}

/// Longer chains of modules that pass a name on are a circle of `use` declarations.
const MOST_HOPS: u32 = 16;

struct Names<'a> {
    modules: &'a [Module],
}

impl Names<'_> {
    /// The module that defines what a path means in a module. `None` for what is not of this crate.
    fn file_of(&self, from: usize, path: &[String], hops: u32) -> Option<usize> {
        let here = &self.modules[from].path;
        let first = path.first()?;
        let (base, rest) = match first.as_str() {
            "crate" => (Vec::new(), &path[1..]),
            "self" => (here.clone(), &path[1..]),
            "super" => {
                let ups = path.iter().take_while(|segment| *segment == "super").count();
                (here[..here.len().checked_sub(ups)?].to_vec(), &path[ups..])
            }
            _ => {
                // A child, or a name that was imported or is defined here.
                let child: Vec<String> = here.iter().chain([first]).cloned().collect();
                if self.module(&child).is_some() {
                    (here.clone(), path)
                } else {
                    return self.imported(from, first, &path[1..], hops);
                }
            }
        };
        self.walk(base, rest, hops)
    }

    fn walk(&self, mut at: Vec<String>, rest: &[String], hops: u32) -> Option<usize> {
        for (n, segment) in rest.iter().enumerate() {
            let child: Vec<String> = at.iter().chain([segment]).cloned().collect();
            if self.module(&child).is_some() {
                at = child;
                continue;
            }
            let module = self.module(&at)?;
            if self.modules[module].defines.contains(segment) || hops > MOST_HOPS {
                return Some(module);
            }
            return self.imported(module, segment, &rest[n + 1..], hops + 1).or(Some(module));
        }
        self.module(&at)
    }

    /// What a name means that a module imports, with the rest of a path behind it.
    fn imported(&self, module: usize, name: &str, rest: &[String], hops: u32) -> Option<usize> {
        if hops > MOST_HOPS || self.modules[module].defines.contains(name) {
            return None;
        }
        let imports = &self.modules[module].imports;
        if let Some(import) = imports.iter().find(|import| import.name.as_deref() == Some(name)) {
            // `use a;` next to `mod a;` would go round.
            if import.path.len() == 1 && import.path[0] == name {
                return None;
            }
            let path: Vec<String> = import.path.iter().chain(rest).cloned().collect();
            return self.file_of(module, &path, hops + 1);
        }
        let globs = imports.iter().filter(|import| import.name.is_none());
        let mut others = globs.filter_map(|glob| self.file_of(module, &glob.path, hops + 1));
        others.find(|&other| other != module && self.modules[other].defines.contains(name))
    }

    fn module(&self, path: &[String]) -> Option<usize> {
        self.modules.iter().position(|module| module.path == path)
    }
}

//! Stacks as names: the same in two recordings whose addresses and lines have nothing in common.
//!
//! A *symbol* is a function's full name and its module, a *key* is a stack of symbols. Both recordings share one table
//! of symbols, so that keys are compared as numbers.

use super::symbol;
use crate::name::base_with_closures;
use heapwise_analysis::{Analysis, Frame};
use std::collections::{HashMap, HashSet};

/// Index of a symbol in [`Symbols`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct SymbolId(u32);

/// Frames that distinguish stacks, from their two ends: as many as reports show. Deep recursion has a site per depth,
/// and whole stacks would take the square of it.
const INNER: usize = 384;
const OUTER: usize = 128;

/// A stack as symbols, from the innermost outwards.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct StackKey {
    ends: Box<[SymbolId]>,
    /// Frames between the inner and the outer ones.
    between: usize,
}

impl StackKey {
    pub(super) fn symbols(&self) -> impl Iterator<Item = SymbolId> {
        self.ends.iter().copied()
    }

    /// The same stack with other symbols.
    pub(super) fn map(&self, symbol: impl Fn(SymbolId) -> SymbolId) -> Self {
        Self { ends: self.symbols().map(symbol).collect(), between: self.between }
    }
}

/// The symbols of both recordings.
#[derive(Debug, Default)]
pub(super) struct Symbols<'a> {
    ids: HashMap<(String, String), SymbolId>,
    bare: Vec<SymbolId>,
    /// Frames that were looked up before: names repeat in nearly every stack.
    known: HashMap<(Option<&'a str>, Option<&'a str>), SymbolId>,
    /// A program of the newer recording that the older one has under another name.
    renamed: Option<(String, String)>,
}

impl<'a> Symbols<'a> {
    /// An empty table for two recordings.
    ///
    /// One program that only one recording has and one that only the other has are taken for the same: builds to be
    /// compared often lie side by side under two names.
    pub(super) fn new(old: &'a Analysis, new: &'a Analysis) -> Self {
        let (old, new) = (programs(old), programs(new));
        let mut only = (old.difference(&new), new.difference(&old));
        let renamed = match (only.0.next(), only.0.next(), only.1.next(), only.1.next()) {
            (Some(before), None, Some(now), None) => Some((now.clone(), before.clone())),
            _ => None,
        };
        Self { renamed, ..Self::default() }
    }

    /// The key of a stack.
    pub(super) fn key(&mut self, stack: &[Frame<'a>]) -> StackKey {
        let between = stack.len().saturating_sub(INNER + OUTER);
        let inner = if between > 0 { INNER } else { stack.len() };
        let ends = stack[..inner].iter().chain(&stack[inner + between..]);
        StackKey { ends: ends.map(|frame| self.of(frame)).collect(), between }
    }

    /// The symbol of a frame.
    pub(super) fn of(&mut self, frame: &Frame<'a>) -> SymbolId {
        let path = frame.module.map(|module| module.path.as_str());
        if let Some(&id) = self.known.get(&(frame.function, path)) {
            return id;
        }
        let mut module = path.map(symbol::module).unwrap_or_default();
        if let Some((_, before)) = self.renamed.as_ref().filter(|(now, _)| *now == module) {
            module.clone_from(before);
        }
        let function = frame.function.map(symbol::full).unwrap_or_default();
        let id = self.add(module, function.into_owned());
        self.known.insert((frame.function, path), id);
        id
    }

    /// The symbol of the function's bare name, whatever the module.
    pub(super) fn bare(&self, id: SymbolId) -> SymbolId {
        self.bare[id.0 as usize]
    }

    fn add(&mut self, module: String, function: String) -> SymbolId {
        // A frame without a name has its module for one.
        let bare = (!function.is_empty()).then(|| base_with_closures(&function));
        let id = self.intern(module, function);
        if let Some(bare) = bare {
            // No module stands for any.
            self.bare[id.0 as usize] = self.intern(String::new(), bare);
        }
        id
    }

    /// The symbol of two names; a new one is its own bare symbol at first.
    fn intern(&mut self, module: String, function: String) -> SymbolId {
        let next = SymbolId(self.bare.len() as u32);
        let id = *self.ids.entry((module, function)).or_insert(next);
        if id == next {
            self.bare.push(next);
        }
        id
    }
}

fn programs(analysis: &Analysis) -> HashSet<String> {
    let modules = analysis.processes.iter().flat_map(|process| &process.modules);
    modules.filter(|m| symbol::is_program(&m.path)).map(|m| symbol::module(&m.path)).collect()
}

//! The standard library's hash table: a block for each word, and one for the table.

use super::Counter;
use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::BuildHasherDefault;

/// With fixed keys, or each run would hash differently.
#[derive(Default)]
pub(super) struct StdMap(HashMap<String, u64, BuildHasherDefault<DefaultHasher>>);

impl Counter for StdMap {
    fn count(&mut self, word: &str) {
        match self.0.get_mut(word) {
            Some(n) => *n += 1,
            None => drop(self.0.insert(word.to_owned(), 1)),
        }
    }

    fn each(&self, tell: &mut dyn FnMut(&str, u64)) {
        self.0.iter().for_each(|(word, n)| tell(word, *n));
    }
}

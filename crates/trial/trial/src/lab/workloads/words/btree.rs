//! The standard library's ordered table: a block for each word, and one for each node of up to eleven.

use super::Counter;
use std::collections::BTreeMap;

#[derive(Default)]
pub(super) struct BTree(BTreeMap<String, u64>);

impl Counter for BTree {
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

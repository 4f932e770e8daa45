//! The words of a text are counted by tables that differ in how much they allocate.
//!
//! A checking heap costs per block. A table that has a block for each word, or more, suffers in proportion, and one that
//! keeps all words in one long block hardly notices. Each table is a file with a type that implements [`Counter`].

mod arena;
mod btree;
mod chained;
mod fx_map;
mod std_map;
mod text;

use super::Workload;
use crate::lab::worker::Stopwatch;
use crate::statistics::random::mixed;
use std::marker::PhantomData;

/// A table that counts words.
trait Counter: Default {
    /// A word was met.
    fn count(&mut self, word: &str);

    /// Calls `tell` with each word and its number of occurrences, in any order.
    fn each(&self, tell: &mut dyn FnMut(&str, u64));
}

pub(super) const STD_MAP: &dyn Workload =
    &Words::<std_map::StdMap>::new("words-std", "words counted in a HashMap<String, u64>");
pub(super) const BTREE: &dyn Workload =
    &Words::<btree::BTree>::new("words-btree", "words counted in a BTreeMap<String, u64>");
pub(super) const CHAINED: &dyn Workload =
    &Words::<chained::Chained>::new("words-chained", "words counted; a box for each node and word");
pub(super) const ARENA: &dyn Workload =
    &Words::<arena::Arena>::new("words-arena", "words counted; all words in one block");
pub(super) const FX_MAP: &dyn Workload =
    &Words::<fx_map::FxMap>::new("words-fx", "words counted in hashbrown's map, faster hash");

/// The workload of a table.
struct Words<C> {
    name: &'static str,
    about: &'static str,
    table: PhantomData<fn() -> C>,
}

impl<C> Words<C> {
    const fn new(name: &'static str, about: &'static str) -> Self {
        Self { name, about, table: PhantomData }
    }
}

impl<C: Counter> Workload for Words<C> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn about(&self) -> &'static str {
        self.about
    }

    fn unit(&self) -> &'static str {
        "words"
    }

    fn run(&self, numbers: &[u64], watch: &mut Stopwatch) -> u64 {
        let text = text::text(numbers.first().copied().unwrap_or_default());
        let table = watch.phase("construct", || {
            let mut table = C::default();
            text.split(' ').for_each(|word| table.count(word));
            table
        });
        let mut checksum = 0u64;
        table.each(&mut |word, n| checksum = checksum.wrapping_add(mixed(hash(word).wrapping_add(n))));
        watch.phase("drop", || drop(table));
        checksum
    }
}

/// FNV-1a: a hash for tables of our own.
fn hash(word: &str) -> u64 {
    word.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn counted<C: Counter>(text: &str) -> BTreeMap<String, u64> {
        let mut table = C::default();
        text.split(' ').for_each(|word| table.count(word));
        let mut counts = BTreeMap::new();
        table.each(&mut |word, n| {
            assert_eq!(counts.insert(word.to_owned(), n), None, "{word} is there twice");
        });
        counts
    }

    #[test]
    fn all_tables_count_the_same() {
        let text = text::text(5000);
        let mut truth: BTreeMap<String, u64> = BTreeMap::new();
        text.split(' ').for_each(|word| *truth.entry(word.to_owned()).or_default() += 1);
        assert_eq!(truth.values().sum::<u64>(), 5000);
        assert_eq!(counted::<std_map::StdMap>(&text), truth);
        assert_eq!(counted::<btree::BTree>(&text), truth);
        assert_eq!(counted::<chained::Chained>(&text), truth);
        assert_eq!(counted::<arena::Arena>(&text), truth);
        assert_eq!(counted::<fx_map::FxMap>(&text), truth);
    }

    #[test]
    fn all_workloads_have_the_same_checksum() {
        let tables = [STD_MAP, BTREE, CHAINED, ARENA, FX_MAP];
        let sums = tables.map(|table| table.run(&[3000], &mut Stopwatch::new()));
        assert!(sums.iter().all(|sum| *sum == sums[0]), "{sums:?}");
    }

    #[test]
    fn words_with_the_same_place_are_kept_apart() {
        // Very short texts fill small tables, in which most words collide.
        for text in ["a", "a b a", "a b c d e f g h i j k l m n o p q r s t u v w x y z a a"] {
            assert_eq!(counted::<chained::Chained>(text), counted::<btree::BTree>(text));
            assert_eq!(counted::<arena::Arena>(text), counted::<btree::BTree>(text));
        }
    }
}

// victim: builds an owned key for every access of a map; flags: --edition 2021
use std::collections::HashMap;

#[inline(never)]
fn count(words: &[&str], counts: &mut HashMap<String, u64>) {
    for word in words {
        *counts.entry(word.to_string()).or_insert(0) += 1; // here: clone-per-lookup
    }
}

fn main() {
    let text = "the quick brown fox jumps over the lazy dog and the dog sleeps on while the fox runs";
    let words: Vec<&str> = text.split(' ').collect();
    let mut counts = HashMap::new();
    (0..500).for_each(|_| count(&words, &mut counts));
    println!("the {}", counts["the"]);
}

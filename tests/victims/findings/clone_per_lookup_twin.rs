// victim: looks up with what it has, and builds a key for new entries; flags: --edition 2021
use std::collections::HashMap;

#[inline(never)]
fn count(words: &[String], counts: &mut HashMap<String, u64>) {
    for word in words {
        match counts.get_mut(word.as_str()) {
            Some(n) => *n += 1,
            None => {
                counts.insert(word.clone(), 1);
            }
        }
    }
}

fn main() {
    let words: Vec<String> = (0..3000).map(|i| format!("word{i}")).collect();
    let mut counts = HashMap::new();
    (0..5).for_each(|_| count(&words, &mut counts));
    println!("word7 {}", counts["word7"]);
}

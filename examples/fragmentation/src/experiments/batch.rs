//! A batch job: threads write texts, parse them into trees and pass what they found to one thread that adds it up. Nearly
//! all of its time goes into small blocks, and some of them are freed by another thread than the one that made them.

use super::{DEFAULT, Experiment, Settings, joined};
use crate::random::Random;
use crate::report::{Report, Work};
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;
use std::hash::{BuildHasherDefault, DefaultHasher};
use std::io;
use std::sync::mpsc::sync_channel;
use std::thread;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "batch",
    about: "threads parse texts into trees, and one adds up what they found",
    options: &["threads", "count", "seed"],
    default: Settings { threads: 4, count: 1_500, ..DEFAULT },
    run,
};

/// Records in a text.
const RECORDS: usize = 60;
/// Results on their way to the thread that adds them up, for all threads together.
const ON_THE_WAY: usize = 64;

/// A parsed text.
#[derive(Debug, PartialEq)]
enum Value {
    Text(String),
    List(Vec<Value>),
    Map(BTreeMap<String, Value>),
}

/// What one text says: how often each word occurs, and with how many letters. The hash has no random key, so that blocks
/// are freed in the same order in every run.
type Found = HashMap<String, (u64, u64), BuildHasherDefault<DefaultHasher>>;

fn run(settings: &Settings, report: &mut Report) -> io::Result<Work> {
    let (sender, receiver) = sync_channel::<Found>(ON_THE_WAY);
    let total = thread::scope(|scope| {
        let adder = scope.spawn(move || {
            let mut total = Found::default();
            for found in receiver {
                for (word, (times, letters)) in found {
                    let entry = total.entry(word).or_default();
                    *entry = (entry.0 + times, entry.1 + letters);
                }
            }
            total
        });
        for thread in 0..settings.threads {
            let sender = sender.clone();
            scope.spawn(move || {
                let mut random = Random::of_thread(settings.seed, thread);
                for _ in 0..settings.count {
                    let mut found = Found::default();
                    count(&parse(&text(&mut random)), &mut found);
                    // The adder reads until all senders are gone.
                    let _ = sender.send(found);
                }
            });
        }
        drop(sender);
        joined(adder)
    });
    report.phase("all added up")?;
    let mut work = Work::default();
    for (word, (times, letters)) in &total {
        work.allocations += times;
        let key = word.bytes().fold(0_u64, |sum, byte| sum.wrapping_mul(31) + u64::from(byte));
        work.checksum = work.checksum.wrapping_add(key.wrapping_mul(*letters));
    }
    drop(total);
    report.phase("dropped")?;
    Ok(work)
}

/// Lines of `name=words`, each a record of a few fields.
fn text(random: &mut Random) -> String {
    let mut text = String::new();
    for record in 0..RECORDS {
        for field in 0..3 + random.below(5) {
            let _ = write!(text, "field{field}=");
            for _ in 0..1 + random.below(6) {
                let _ = write!(text, "word-{} ", random.below(5_000));
            }
            text.push(';');
        }
        let _ = writeln!(text, "id=record-{record} ;");
    }
    text
}

fn parse(text: &str) -> Value {
    let record = |line: &str| {
        let fields = line.split_terminator(';').filter_map(|field| field.split_once('='));
        let words = |words: &str| words.split_whitespace().map(|word| Value::Text(word.to_owned())).collect();
        Value::Map(fields.map(|(name, rest)| (name.to_owned(), Value::List(words(rest)))).collect())
    };
    Value::List(text.lines().map(record).collect())
}

fn count(value: &Value, found: &mut Found) {
    match value {
        Value::Text(word) => {
            let entry = found.entry(word.clone()).or_default();
            *entry = (entry.0 + 1, entry.1 + word.len() as u64);
        }
        Value::List(values) => values.iter().for_each(|value| count(value, found)),
        Value::Map(fields) => fields.values().for_each(|value| count(value, found)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_becomes_a_tree_whose_words_are_counted() {
        let tree = parse("a=x yy ;b=x ;\nid=zzz ;\n");
        let Value::List(records) = &tree else { panic!("{tree:?}") };
        assert_eq!(records.len(), 2);
        let mut found = Found::default();
        count(&tree, &mut found);
        assert_eq!(found["x"], (2, 2));
        assert_eq!(found["yy"], (1, 2));
        assert_eq!(found.len(), 3);
    }
}

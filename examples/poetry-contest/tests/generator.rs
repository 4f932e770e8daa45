//! The generator is reproducible and makes the kinds of entries that it promises.

use poetry_contest::generate::{Options, write_contest};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;

/// The files of a contest by their names.
fn files(options: Options) -> BTreeMap<String, String> {
    let dir = tempfile::tempdir().unwrap();
    write_contest(dir.path(), &options).unwrap();
    let file = |entry: fs::DirEntry| {
        let name = entry.file_name().into_string().unwrap();
        (name, fs::read_to_string(entry.path()).unwrap())
    };
    fs::read_dir(dir.path()).unwrap().map(|entry| file(entry.unwrap())).collect()
}

#[test]
fn the_same_options_give_the_same_files() {
    let options = Options { seed: 3, rounds: 2, entries: 200 };
    assert_eq!(files(options), files(options));
    assert_ne!(files(options), files(Options { seed: 4, ..options }));
}

#[test]
fn a_round_does_not_depend_on_the_others() {
    let few = files(Options { seed: 3, rounds: 1, entries: 50 });
    let many = files(Options { seed: 3, rounds: 4, entries: 50 });
    assert_eq!(many.len(), 5);
    assert_eq!(few["round_1.json"], many["round_1.json"]);
    assert_ne!(many["round_1.json"], many["round_2.json"]);
}

#[test]
fn the_manifest_names_the_rounds() {
    let files = files(Options { seed: 9, rounds: 3, entries: 1 });
    let manifest: Value = serde_json::from_str(&files["manifest.json"]).unwrap();
    assert_eq!(manifest["rounds"], serde_json::json!(["round_1.json", "round_2.json", "round_3.json"]));
    assert_eq!(manifest["categories"].as_array().unwrap().len(), 500);
}

#[test]
fn entries_are_of_many_kinds() {
    let files = files(Options { seed: 1, rounds: 1, entries: 5000 });
    let text = &files["round_1.json"];
    let round: Value = serde_json::from_str(text).unwrap();
    let entries = round["entries"].as_array().unwrap();
    let share = |property: &dyn Fn(&str) -> bool| {
        let count = entries.iter().filter(|entry| property(entry["contents"].as_str().unwrap())).count();
        count as f64 / entries.len() as f64
    };

    assert_eq!(entries.len(), 5000);
    assert!((0.01..0.04).contains(&share(&|contents| contents.trim().is_empty())), "entries without words");
    assert!((0.04..0.12).contains(&share(&|contents| contents.len() > 1000)), "entries that are too long");
    assert!(share(&|contents| contents.contains('\n')) > 0.9, "poems of several lines");
    for rarity in ["\\u00e9", "\\ud83c\\udf19", "é", "🌙", "\\\""] {
        assert!(text.contains(rarity), "{rarity} should occur");
    }
    let authors = || entries.iter().map(|entry| entry["author"].as_str().unwrap());
    assert!(authors().any(|author| author.contains('"')), "authors with nicknames");
    let joint = entries
        .windows(2)
        .filter(|pair| pair[0]["contents"] == pair[1]["contents"] && pair[0]["title"] == pair[1]["title"]);
    assert!(joint.count() > 20, "joint submissions");
}

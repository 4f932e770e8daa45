//! Whether docs/operations.md has the fields that there are: each that is documented is in a real output, and each of a real output is
//! documented.

#![cfg(all(feature = "operations", not(windows)))]

use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

#[global_allocator]
static ALLOCATOR: heapwise::Allocator = heapwise::Allocator::system();

/// Set for the second process, which is the one that is measured.
const INNER: &str = "HEAPWISE_TEST_INNER";

#[test]
fn writes() {
    if env::var_os(INNER).is_some() {
        heapwise::bench::measure("boxes", || Box::new(5));
        let session = heapwise::Session::new();
        assert_eq!(session.save("nothing").expect("nothing is written"), None);
        for n in 0..3 {
            let _span = session.operation("lists").measure_thread();
            drop(vec![1u8; n]);
        }
        let path = session.save("a/b").expect("it is written").expect("there are spans");
        assert_eq!(fs::read_to_string(path).expect("it is there"), session.to_report().to_json());
    }
}

fn fields(value: &Value, names: &mut BTreeSet<String>) {
    match value {
        Value::Array(list) => list.iter().for_each(|value| fields(value, names)),
        Value::Object(object) => object.iter().for_each(|(name, value)| {
            names.insert(name.clone());
            fields(value, names);
        }),
        _ => {}
    }
}

/// The names in the left column of the table behind a heading.
fn documented(schema: &str) -> BTreeSet<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/operations.md");
    let text = fs::read_to_string(path).expect("the document");
    let (_, chapter) = text.split_once(&format!("## JSON: `{schema}`")).expect("its chapter");
    let chapter = chapter.split("\n## ").next().expect("something");
    let cells =
        chapter.lines().filter(|line| line.starts_with("| `")).filter_map(|row| row.split('|').nth(1));
    cells.flat_map(|cell| cell.split('`').skip(1).step_by(2)).map(str::to_owned).collect()
}

fn check(file: &Path, schema: &str) {
    let document: Value = serde_json::from_slice(&fs::read(file).expect("a file")).expect("JSON");
    assert_eq!(document["schema"], schema);
    let path = format!("../../../docs/schema/{}.json", schema.replace('/', "-"));
    let said = fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).expect("the schema");
    let said = serde_json::from_slice(&said).expect("JSON");
    if let Err(error) = jsonschema::validate(&said, &document) {
        panic!("{schema}: {}: {error}", error.instance_path());
    }
    let mut real = BTreeSet::new();
    fields(&document, &mut real);
    assert_eq!(documented(schema), real, "{schema}");
}

#[test]
fn documents_have_the_fields_that_there_are() {
    let target = tempfile::tempdir().expect("a folder");
    let mut again = Command::new(env::current_exe().expect("a test knows its own file"));
    again
        .args(["--exact", "writes", "--nocapture", "--", "--bench"])
        .env(INNER, "1")
        .env("CARGO_TARGET_DIR", target.path());
    let output = again.output().expect("it can be started again");
    assert!(output.status.success(), "{output:?}");
    let folder = target.path().join("heapwise");
    check(&folder.join("bench").join("documented_fields").join("boxes.json"), "heapwise.bench/1");
    let saved: Vec<PathBuf> = fs::read_dir(folder.join("operations"))
        .expect("a folder")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    assert!(saved.len() == 1 && saved[0].to_string_lossy().contains("a_b-"), "{saved:?}");
    check(&saved[0], "heapwise.operations/1");
}

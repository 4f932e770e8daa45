//! What cannot be read is named, counted and left out, and the rest is answered.

use crate::program::{document, ended, fleet, run};
use crate::{made, program};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;

fn file(folder: &Path, table: &str) -> PathBuf {
    let mut path = folder.join(table);
    while path.is_dir() {
        let entries = std::fs::read_dir(&path).expect("a folder");
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
        paths.sort();
        path = paths.swap_remove(0);
    }
    path
}

/// The number of recordings that have sites, and why files were left out.
fn answer(folder: &Path, code: i32) -> (u64, Vec<String>) {
    const SQL: &str = "select count(distinct recording) as n, sum(allocated_bytes) as bytes from sites";
    let words = ["query", "--format", "json", SQL, folder.to_str().expect("text")];
    let (out, err) = ended(&fleet(&words).output().expect("the program"), code);
    let document = document(&out);
    let left = document["left_out"].as_array().expect("a list");
    assert_eq!(err.lines().count(), left.len(), "each is named: {err}");
    let why = |left: &Value| left["why"].as_str().expect("text").to_owned();
    (document["rows"][0]["n"].as_u64().expect("a number"), left.iter().map(why).collect())
}

/// A file of the tables with another version, or other columns.
fn rewrite(
    path: &Path,
    change: impl FnOnce(&mut Vec<KeyValue>, &mut Vec<Arc<parquet::schema::types::Type>>),
) {
    let bytes = bytes::Bytes::from(std::fs::read(path).expect("a file"));
    let reader = SerializedFileReader::new(bytes).expect("a Parquet file");
    let metadata = reader.metadata().file_metadata();
    let mut pairs = metadata.key_value_metadata().cloned().expect("a version");
    let mut fields = metadata.schema().get_fields().to_vec();
    change(&mut pairs, &mut fields);
    let schema = parquet::schema::types::Type::group_type_builder("table")
        .with_fields(fields)
        .build()
        .expect("a schema");
    let properties = WriterProperties::builder().set_key_value_metadata(Some(pairs)).build();
    let out = std::fs::File::create(path).expect("a file");
    SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties))
        .expect("a writer")
        .close()
        .expect("a file");
}

#[test]
fn damaged_foreign_newer_and_missing_files_are_named_and_the_rest_is_answered() {
    let folder = tempfile::tempdir().expect("a folder");
    made::add(folder.path(), &program::recordings(), 0..12);
    let (all, left) = answer(folder.path(), 0);
    assert_eq!((all, left.len()), (12, 0));

    let sites = file(folder.path(), "sites");
    let whole = std::fs::read(&sites).expect("a file");
    for damage in [&whole[..whole.len() / 2], b"PAR1", b"", &vec![0x41; 5000]] {
        std::fs::write(&sites, damage).expect("a file");
        let (n, left) = answer(folder.path(), 4);
        assert!(n == 11 && left.len() == 1 && left[0].starts_with("damaged: "), "{left:?}");
    }
    // The footer is whole, and the values are not.
    let mut broken = whole.clone();
    broken[4..whole.len() / 2].fill(0xFF);
    std::fs::write(&sites, &broken).expect("a file");
    let (n, left) = answer(folder.path(), 4);
    assert!(n == 11 && left.len() == 1 && left[0].starts_with("damaged: "), "{left:?}");

    std::fs::write(&sites, &whole).expect("a file");
    rewrite(&sites, |pairs, _| pairs.iter_mut().for_each(|pair| pair.value = Some("2".to_owned())));
    let (n, left) = answer(folder.path(), 4);
    assert!(n == 11 && left[0].contains("written by a newer heapwise: version 2"), "{left:?}");

    std::fs::write(&sites, &whole).expect("a file");
    rewrite(&sites, |_, fields| {
        fields.retain(|field| field.name() != "stack_id" && field.name() != "place_line")
    });
    let (n, left) = answer(folder.path(), 0);
    assert!(n == 11 && left.is_empty(), "columns that may have no value may be missing: {left:?}");
    rewrite(&sites, |_, fields| fields.retain(|field| field.name() != "allocated_bytes"));
    let (n, left) = answer(folder.path(), 4);
    assert!(n == 11 && left[0].contains("no column allocated_bytes"), "{left:?}");

    std::fs::remove_file(&sites).expect("a file");
    let (n, left) = answer(folder.path(), 4);
    assert!(n == 11 && left[0].starts_with("missing"), "{left:?}");

    std::fs::write(&sites, &whole).expect("a file");
    std::fs::write(sites.with_file_name("notes.parquet"), &whole).expect("a file");
    std::fs::write(sites.with_file_name(".heapwise-1"), &whole[..10]).expect("what is being written");
    let (n, left) = answer(folder.path(), 4);
    assert!(n == 12 && left.len() == 1 && left[0].starts_with("not of this table"), "{left:?}");
}

#[test]
fn a_compaction_leaves_what_it_cannot_read_as_it_is() {
    let folder = tempfile::tempdir().expect("a folder");
    made::add(folder.path(), &program::recordings(), 0..12);
    let sites = file(folder.path(), "sites");
    let whole = std::fs::read(&sites).expect("a file");
    let mut broken = whole.clone();
    broken[4..whole.len() / 2].fill(0xFF);
    for damage in [whole[..100].to_vec(), broken] {
        std::fs::write(&sites, &damage).expect("a file");
        let words = ["fleet", "compact", folder.path().to_str().expect("text")];
        let (_, said) = ended(&fleet(&words).output().expect("the program"), 4);
        assert!(said.contains("is left as it is: damaged"), "{said}");
        assert_eq!(std::fs::read(&sites).expect("a file"), damage);
        assert_eq!(answer(folder.path(), 4).0, 11);
    }
    std::fs::write(&sites, &whole).expect("a file");
    run(&["fleet", "compact", folder.path().to_str().expect("text")]);
    assert_eq!(answer(folder.path(), 0).0, 12);
}

#[test]
fn hostile_names_stay_text() {
    let folder = tempfile::tempdir().expect("a folder");
    made::add(folder.path(), &program::recordings(), 0..3);
    const HOSTILE: &str = "select 'a\u{1b}[2J\u{202e}\nb' as \"c\u{1b}[31m\" from recordings";
    let sql = "select '<b>' || chr(27) || '[2J|`\\' as \"<i>\u{1b}\" , 1 as n from recordings";
    for (format, harmless) in [("html", "&lt;b&gt;"), ("markdown", "\\u"), ("text", "<b>")] {
        let words = ["query", "--format", format, sql, folder.path().to_str().expect("text")];
        let (out, _) = ended(&fleet(&words).output().expect("the program"), 0);
        assert!(!out.contains('\u{1b}') && out.contains(harmless), "{format}: {out}");
        assert!(format != "html" || !out.contains("<b>") && !out.contains("<i>"), "{format}: {out}");
        assert_eq!(out.contains("<svg"), format == "html", "{out}");
    }
    let words = ["query", HOSTILE, folder.path().to_str().expect("text")];
    for format in ["text", "json"] {
        let mut command = fleet(&words);
        let output = command.args(["--format", format]).output().expect("the program");
        let (out, _) = ended(&output, 0);
        assert!(!out.contains(['\u{1b}', '\u{202e}']), "{out:?}");
        assert!(format == "json" || out.lines().count() == 4, "{out}");
    }
}

#[test]
fn queries_can_only_read() {
    let folder = tempfile::tempdir().expect("a folder");
    made::add(folder.path(), &program::recordings(), 0..3);
    let secret = folder.path().join("secret.csv");
    std::fs::write(&secret, "a,b\n1,2\n").expect("a file");
    let secret = secret.to_str().expect("text");
    let fleet_folder = folder.path().to_str().expect("text");
    for sql in [
        "drop table sites",
        "delete from sites",
        "insert into sites select * from sites",
        "create table t as select 1",
        "create view v as select 1",
        "set datafusion.execution.batch_size = 1",
        &format!("copy sites to '{fleet_folder}/out.csv'"),
        &format!("create external table t stored as csv location '{secret}'"),
        &format!("select * from '{secret}'"),
        &format!("select * from read_csv('{secret}')"),
        "select 1; drop table sites",
    ] {
        let output = fleet(&["query", sql, fleet_folder]).output().expect("the program");
        let (out, err) = ended(&output, 1);
        assert!(
            out.is_empty() && err.starts_with("heapwise: error: ") && err.lines().count() == 1,
            "{sql}: {err}"
        );
    }
    assert!(!folder.path().join("out.csv").exists());
}

#[test]
fn a_compaction_does_not_lose_columns_of_a_newer_heapwise() {
    let folder = tempfile::tempdir().expect("a folder");
    made::add(folder.path(), &program::recordings(), 0..6);
    let samples = file(folder.path(), "samples");
    rewrite(&samples, |_, fields| {
        let new = parquet::schema::types::Type::primitive_type_builder("new", parquet::basic::Type::INT64);
        fields.push(Arc::new(new.build().expect("a type")));
    });
    let before = std::fs::read(&samples).expect("a file");
    assert_eq!(answer(folder.path(), 0).0, 6, "it can be read");
    let words = ["fleet", "compact", folder.path().to_str().expect("text")];
    let (_, said) = ended(&fleet(&words).output().expect("the program"), 4);
    assert!(said.contains("is left as it is: written by a newer heapwise: it has a column new"), "{said}");
    assert_eq!(std::fs::read(&samples).expect("a file"), before);
    assert_eq!(answer(folder.path(), 0).0, 6);
}

#[test]
fn a_condition_that_is_neither_true_nor_false_keeps_no_row() {
    let folder = tempfile::tempdir().expect("a folder");
    made::add(folder.path(), &program::recordings(), 0..6);
    let place = folder.path().to_str().expect("text");
    for (condition, n) in [
        ("try_cast(service as bigint) < 5", 0),
        ("nullif(service, 'service-0') <> 'service-1'", 2),
        ("service = 'service-1' and date >= '2026-11-16'", 2),
        ("date < '2026-11-16'", 0),
    ] {
        let sql = format!("select count(*) as n from recordings where {condition}");
        let (out, _) = run(&["query", "--format", "json", &sql, place]);
        assert_eq!(document(&out)["rows"][0]["n"], n, "{condition}");
    }
}

#[test]
fn what_is_wrong_is_one_line_that_says_what() {
    let folder = tempfile::tempdir().expect("a folder");
    made::add(folder.path(), &program::recordings(), 0..3);
    let place = folder.path().to_str().expect("text");
    for (words, code, part) in [
        (vec!["query", "select nothing from sites", place], 1, "No field named nothing"),
        (vec!["query", "selec 1", place], 1, "the query is wrong"),
        (
            vec!["query", "select 1 / (allocations - allocations) from sites", place],
            1,
            "failed: Arrow error: Divide by zero",
        ),
        (vec!["query", "select count(*) from sites where place = $x", place], 2, "needs $x"),
        (
            vec!["query", "select value from generate_series(1, 6000000)", place],
            1,
            "more than 5 million values",
        ),
        (vec!["query", "select 1", "/nonexistent/fleet"], 1, "cannot open /nonexistent/fleet"),
        (vec!["query", "select 1", "ftp://somewhere/fleet"], 1, "ftp:// is not known"),
        (vec!["query", "select 1", "--since", "yesterday", place], 2, "YYYY-MM-DD"),
        (vec!["fleet", "ask", "nothing", place], 2, "there is no question nothing"),
        (vec!["fleet", "ask", "growth"], 2, "is asked of a fleet"),
        (vec!["fleet", "ask", "growth", place], 2, "there are 3 services"),
        (vec!["fleet", "ask", "growth", place, "--service", "service-1"], 2, "only one release"),
        (vec!["fleet", "ask", "growth", place, "--set", "color=red"], 2, "the question has no $color"),
        (vec!["fleet", "compact", "/nonexistent/fleet"], 1, "cannot open /nonexistent/fleet"),
        (vec!["fleet", "ingest", "/nonexistent.hw", "-o", place], 1, "cannot read /nonexistent.hw"),
    ] {
        let (_, err) = ended(&fleet(&words).output().expect("the program"), code);
        assert!(err.contains(part), "{words:?}: {err}");
        assert!(code == 2 || err.lines().count() == 1, "{words:?}: {err}");
    }
}

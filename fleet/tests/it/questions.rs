//! The usual questions: another engine answers each with the same rows, before and after a compaction.

use crate::program::{document, ended, fleet, run};
use crate::{made, program};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// Each question, its file, and its values.
const QUESTIONS: &[(&str, &str, &[&str])] = &[
    ("growth", "growth", &["service=service-1", "old=1", "new=3"]),
    ("regressions", "regressions", &[]),
    ("leaks-by-host", "leaks_by_host", &["service=service-2"]),
    ("outliers", "outliers", &[]),
    ("top-sites", "top_sites", &["from=2026-11-17", "to=2026-11-20"]),
    ("allocator-overhead", "overhead_of_allocators", &[]),
    ("allocator-switch", "allocator_switch", &[]),
    ("debug-environments", "debug_environments", &[]),
];

fn by_us(folder: &Path, name: &str, values: &[&str]) -> Vec<Value> {
    let mut words = vec!["fleet", "ask", name, folder.to_str().expect("text"), "--format", "json"];
    words.extend(values.iter().flat_map(|value| ["--set", value]));
    document(&run(&words).0)["rows"].as_array().expect("rows").clone()
}

fn by_duckdb(folder: &Path, file: &str, values: &[&str]) -> Vec<Value> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut python = Command::new(program::python());
    python.arg(root.join("tests/it/duckdb_answers.py")).arg(folder);
    python.arg(root.join(format!("../crates/fleet/tables/questions/{file}.sql"))).args(values);
    let (out, _) = ended(&python.output().expect("Python with DuckDB"), 0);
    document(&out).as_array().expect("rows").clone()
}

/// Equal, but for the last digits of sums of fractions, which depend on the order.
pub fn equal(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| equal(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one.iter().all(|(name, value)| other.get(name).is_some_and(|other| equal(value, other)))
        }
        (Value::Number(one), Value::Number(other)) => match (one.as_f64(), other.as_f64()) {
            (Some(one), Some(other)) => (one - other).abs() <= 1e-9 * one.abs().max(other.abs()),
            _ => false,
        },
        // DuckDB has sums of integers as decimal numbers.
        (Value::Number(one), Value::String(other)) => other.parse().ok() == one.as_f64(),
        _ => one == other,
    }
}

#[test]
fn another_engine_has_the_same_answers_before_and_after_a_compaction() {
    let folder = tempfile::tempdir().expect("a folder");
    // Three services, ten hosts, three releases.
    made::add(folder.path(), &program::recordings(), 0..3 * 10 * made::DAYS);
    let mut answers = Vec::new();
    for compacted in [false, true] {
        for (at, (name, file, values)) in QUESTIONS.iter().enumerate() {
            let (ours, theirs) = (by_us(folder.path(), name, values), by_duckdb(folder.path(), file, values));
            assert_eq!(ours.len(), theirs.len(), "{name}, compacted: {compacted}");
            for (one, other) in ours.iter().zip(&theirs) {
                assert!(equal(one, other), "{name}, compacted: {compacted}\n{one}\n{other}");
            }
            if compacted {
                let before: &Vec<Value> = &answers[at];
                assert_eq!(before.len(), ours.len(), "{name}");
                assert!(before.iter().zip(&ours).all(|(one, other)| equal(one, other)), "{name}");
            } else {
                answers.push(ours);
            }
        }
        run(&["fleet", "compact", folder.path().to_str().expect("text")]);
    }
    // The answers are about something.
    for (answer, (name, ..)) in answers.iter().zip(QUESTIONS) {
        assert!(!answer.is_empty() || *name == "debug-environments" || *name == "growth", "{name}");
    }
    // Eight recordings of each service are replayed, each takes a quarter less with one allocator and fails with another.
    let switch: &[Value] = &answers[6];
    let of = |service: &str, allocator: &str| {
        let row = switch.iter().find(|row| row["service"] == service && row["allocator"] == allocator);
        row.unwrap_or_else(|| panic!("{service} with {allocator}: {switch:?}"))
    };
    for service in ["service-0", "service-1", "service-2"] {
        let (saves, fails) = (of(service, "jemalloc"), of(service, "snmalloc"));
        assert_eq!([&saves["recordings"], &saves["hosts"]], [30, 10]);
        assert_eq!([&saves["replayed"], &saves["failed"]], [8, 0]);
        assert_eq!([&fails["replayed"], &fails["failed"]], [0, 8]);
        let [peak, less] = ["peak_bytes", "saves_bytes"].map(|name| saves[name].as_f64().expect("a number"));
        assert!((peak / 4.0 - less).abs() < 1.0, "{saves}");
        assert!(
            saves["saves_on_all_hosts_bytes"].as_f64().is_some_and(|all| (all - 10.0 * less).abs() < 1.0)
        );
        assert!(fails["saves_bytes"].is_null(), "{fails}");
    }
    let outliers: Vec<&Value> = answers[3].iter().map(|row| &row["host"]).collect();
    assert!(outliers.iter().all(|host| *host == "host-7"), "{outliers:?}");
}

#[test]
fn what_is_not_given_is_what_most_would_ask_for() {
    let folder = tempfile::tempdir().expect("a folder");
    made::add(folder.path(), &program::recordings()[..1], 0..10 * made::DAYS);
    let place = folder.path().to_str().expect("text");
    let (_, said) = run(&["fleet", "ask", "growth", place]);
    for value in ["service=service-0", "old=2", "new=3"] {
        assert!(said.contains(value), "{said}");
    }
    let (out, said) = run(&["fleet", "ask", "top-sites", place, "--until", "2026-11-18"]);
    assert!(
        said.contains("from=2026-11-12") && said.contains("to=2026-11-19") && out.lines().count() > 1,
        "{said}"
    );
    // A question of one's own.
    let (sql, _) = run(&["fleet", "ask", "leaks-by-host", "--sql"]);
    let mine = folder.path().join("mine.sql");
    std::fs::write(&mine, sql.replace("largest_place,", "mine,")).expect("a file");
    let (out, _) = run(&["fleet", "ask", mine.to_str().expect("text"), place]);
    assert!(out.lines().next().is_some_and(|head| head.contains(" mine ")), "{out}");
    assert_eq!(run(&["fleet", "ask"]).0.lines().count(), QUESTIONS.len());
}

#[test]
fn recordings_are_asked_without_a_fleet() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut words = vec!["query".to_owned(), "select count(*) as n from recordings".to_owned()];
    for (at, bytes) in program::recordings().iter().enumerate() {
        let path = folder.path().join(format!("{at}.hw"));
        std::fs::write(&path, bytes).expect("a file");
        words.push(path.to_string_lossy().into_owned());
    }
    let tables = folder.path().join("tables");
    made::add(&tables, &program::recordings(), 0..5);
    words.extend([tables.to_string_lossy().into_owned(), "--format".to_owned(), "json".to_owned()]);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    assert_eq!(document(&run(&words).0)["rows"][0]["n"], 8);
    let no_recording = folder.path().join("no.hw");
    std::fs::write(&no_recording, "text").expect("a file");
    // Some can be read, and one cannot; the same fleet twice is one fleet.
    let (place, good) = (tables.to_str().expect("text"), folder.path().join("0.hw"));
    let files = [good.to_str().expect("text"), no_recording.to_str().expect("text"), place, place];
    let words = [&["query", "--format", "json", "select count(*) as n from recordings"][..], &files].concat();
    let (out, said) = ended(&fleet(&words).output().expect("the program"), 4);
    let answer = document(&out);
    assert_eq!(
        (&answer["rows"][0]["n"], answer["left_out"].as_array().map(Vec::len)),
        (&Value::from(6), Some(1))
    );
    assert!(said.contains("no.hw is left out: ") && said.lines().count() == 1, "{said}");
    let words = ["query", "select 1", no_recording.to_str().expect("text")];
    let (_, said) = ended(&fleet(&words).output().expect("the program"), 4);
    assert!(said.contains("none of the recordings could be read"), "{said}");
}

#[test]
fn what_does_not_fit_into_memory_goes_to_files() {
    let folder = tempfile::tempdir().expect("a folder");
    made::add(folder.path(), &program::recordings(), 0..3);
    let place = folder.path().to_str().expect("text");
    // Ten times as much as may be held: grouped, sorted, and joined without an equation.
    const TEXTS: &str = "select repeat(cast(value as varchar), 60) as text from generate_series(1, 400000)";
    for sql in [
        format!("select count(*) as n from (select distinct text from ({TEXTS}))"),
        format!(
            "select count(*) as n from (select text, row_number() over (order by text desc) as r from ({TEXTS}))"
        ),
        format!(
            "select count(*) as n from ({TEXTS}) a join (select count(*) as c from recordings) b on length(a.text) > b.c"
        ),
    ] {
        let words = ["query", "--format", "json", "--memory", "16", &sql, place];
        let (out, _) = run(&words);
        assert_eq!(document(&out)["rows"][0]["n"], 400_000, "{sql}");
    }
}

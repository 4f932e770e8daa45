//! Questions that workers answer parts of, in processes of their own.

use crate::program::{Listening, document, ended, fleet, recordings, run};
use crate::{made, program};
use serde_json::Value;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// Bytes that a process has read from files.
fn read_by(worker: &Listening) -> u64 {
    let counts = std::fs::read_to_string(format!("/proc/{}/io", worker.process.id())).expect("its counts");
    let count = counts.lines().find_map(|line| line.strip_prefix("rchar: ")).expect("bytes that it read");
    count.parse().expect("a number")
}

fn addresses(workers: &[Listening]) -> String {
    workers.iter().map(|worker| worker.address.as_str()).collect::<Vec<_>>().join(",")
}

/// Sites with their sums, which takes rows of all files and of two tables.
const SITES: &str = "select sites.place, recordings.host, sum(sites.allocated_bytes) as bytes, count(*) as n \
    from sites join recordings on sites.recording = recordings.recording \
    group by sites.place, recordings.host order by bytes desc, place, host limit 200";
/// Four places on each of ten hosts.
const SITES_ROWS: usize = 40;

fn answer(folder: &Path, more: &[&str]) -> (Value, String) {
    let mut words = vec!["query", "--format", "json", SITES, folder.to_str().expect("text")];
    words.extend(more);
    let (out, err) = run(&words);
    (document(&out)["rows"].clone(), err)
}

/// Files that are large enough to be spread over workers.
fn some_fleet() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    made::add(folder.path(), &recordings(), 0..3 * 10 * made::DAYS);
    folder
}

#[test]
fn workers_have_the_same_answers_and_one_may_be_lost() {
    let folder = some_fleet();
    let folder = folder.path();
    let (expected, _) = answer(folder, &[]);
    assert_eq!(expected.as_array().map(Vec::len), Some(SITES_ROWS));
    let mut workers: Vec<Listening> = (0..4).map(|_| Listening::start("worker", &[folder], &[])).collect();
    let all = addresses(&workers);
    let before: Vec<u64> = workers.iter().map(read_by).collect();
    let (spread, err) = answer(folder, &["--workers", &all]);
    assert_eq!((spread, err.as_str()), (expected.clone(), ""));
    // They did take part in it.
    for (worker, before) in workers.iter().zip(before) {
        assert!(read_by(worker) > before + 4096, "{}", read_by(worker) - before);
    }
    // Each of the usual questions, too.
    let name = folder.to_str().expect("text");
    for (question, values) in [
        ("growth", &["service=service-1", "old=1", "new=3"][..]),
        ("regressions", &[]),
        ("leaks-by-host", &["service=service-2"]),
        ("outliers", &[]),
        ("top-sites", &["from=2026-11-17", "to=2026-11-20"]),
        ("allocator-overhead", &[]),
        ("debug-environments", &[]),
    ] {
        let mut words = vec!["fleet", "ask", question, name, "--format", "json"];
        words.extend(values.iter().flat_map(|value| ["--set", value]));
        let alone = document(&run(&words).0)["rows"].clone();
        words.extend(["--workers", &all]);
        let spread = document(&run(&words).0)["rows"].clone();
        assert!(crate::questions::equal(&spread, &alone), "{question}: {spread} {alone}");
    }
    workers[2].kill();
    let lost = workers[2].address.clone();
    let (spread, err) = answer(folder, &["--workers", &all]);
    assert_eq!(spread, expected);
    assert!(err.contains(&format!("the worker {lost} is left out: it cannot be reached")), "{err}");
    for worker in &mut workers {
        worker.kill();
    }
    let words = ["query", SITES, name, "--workers", &all];
    let (_, err) = ended(&fleet(&words).output().expect("the program"), 1);
    assert!(err.contains("error: none of the workers can answer"), "{err}");
}

#[test]
fn workers_that_are_killed_at_any_moment_cost_no_answer() {
    let folder = some_fleet();
    let folder = folder.path();
    let begin = Instant::now();
    let (expected, _) = answer(folder, &[]);
    let whole = begin.elapsed();
    for part in 0..6_u32 {
        let mut workers: Vec<Listening> =
            (0..4).map(|_| Listening::start("worker", &[folder], &[])).collect();
        let all = addresses(&workers);
        let mut words = vec!["query", "--format", "json", SITES, folder.to_str().expect("text")];
        words.extend(["--workers", &all]);
        let asking =
            fleet(&words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program");
        std::thread::sleep(whole * part / 4 + Duration::from_millis(20));
        workers[3].kill();
        let (out, err) = ended(&asking.wait_with_output().expect("it ends"), 0);
        assert_eq!(document(&out)["rows"], expected, "{err}");
    }
}

#[test]
fn a_worker_reads_what_it_was_started_for_and_only_for_those_with_its_token() {
    let (one, other) = (some_fleet(), tempfile::tempdir().expect("a folder"));
    made::add(other.path(), &recordings(), 0..3);
    let token = other.path().join("token");
    std::fs::write(&token, "0123456789abcdef0123").expect("written");
    let path = token.to_str().expect("text");
    let name = one.path().to_str().expect("text");
    std::fs::set_permissions(&token, PermissionsExt::from_mode(0o600)).expect("set");
    let workers: Vec<Listening> =
        (0..2).map(|_| Listening::start("worker", &[one.path()], &["--token-file", path])).collect();
    let all = addresses(&workers);
    let fails = |words: &[&str], code| ended(&fleet(words).output().expect("the program"), code).1;
    let err = fails(&["query", SITES, name, "--workers", &all], 1);
    assert!(err.contains("is left out: it wants another token"), "{err}");
    let (expected, _) = answer(one.path(), &[]);
    assert_eq!(answer(one.path(), &["--workers", &all, "--token-file", path]).0, expected);
    let elsewhere = other.path().to_str().expect("text");
    let err = fails(&["query", SITES, elsewhere, "--workers", &all, "--token-file", path], 1);
    assert!(err.contains(&format!("it does not read {elsewhere}")), "{err}");
    // What other machines can reach has a token, and recordings are not read by workers.
    let err = fails(&["fleet", "worker", name, "--listen", "0.0.0.0:0"], 2);
    assert!(err.contains("that takes --token-file"), "{err}");
    let recording = other.path().join("one.hw");
    std::fs::write(&recording, &program::recordings()[0]).expect("written");
    let err = fails(&["query", SITES, recording.to_str().expect("text"), "--workers", &all], 2);
    assert!(err.contains("workers read fleets, and no recordings"), "{err}");
}

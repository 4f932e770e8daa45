//! Nothing is lost or there twice, whatever is compacted, killed or asked at the same time.

use crate::program::{ended, fleet, rows, run, sums};
use crate::{made, program};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

const N: u64 = 24;

fn files(folder: &Path, table: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut folders = vec![folder.join(table)];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if !path.to_string_lossy().contains('#') {
                // What a store was about to write when it was killed has such a name, and is no file to it.
                found.insert(path.to_string_lossy().into_owned());
            }
        }
    }
    found
}

/// Whether a file has one recording.
fn is_of_one(path: &str) -> bool {
    Path::new(path).file_stem().is_some_and(|stem| stem.len() == 32)
}

fn compact(folder: &Path) -> String {
    run(&["fleet", "compact", folder.to_str().expect("text")]).1
}

#[test]
fn what_was_compacted_is_the_same_and_less() {
    let folder = tempfile::tempdir().expect("a folder");
    made::add(folder.path(), &program::recordings(), 0..N);
    let before = sums(folder.path());
    assert_eq!(before[0]["recordings"], N);
    assert_eq!(before[0]["allocated_bytes"], before[0]["of_sites"], "sums over sites are the totals");
    let all = |table| rows(&format!("select * from {table} order by 1, 2"), &[folder.path()]).len();
    let (stacks, frames) = (all("stacks"), all("frames"));
    let said = compact(folder.path());
    assert!(said.contains("222 files of") && said.contains("became 30 "), "{said}");
    assert_eq!(sums(folder.path()), before);
    assert!(all("stacks") < stacks && all("frames") < frames, "each is there once for each file");
    assert_eq!(files(folder.path(), "recordings").len(), 3, "a file for each day and service");
    assert_eq!(files(folder.path(), "predictions").len(), 3);
    assert!(compact(folder.path()).contains("nothing to be put together"));
    // More comes later, some of which is there already.
    made::add(folder.path(), &program::recordings(), 0..N + 6);
    assert_eq!(sums(folder.path())[0]["recordings"], N + 6);
    compact(folder.path());
    let after = sums(folder.path());
    assert_eq!((&after[0]["recordings"], &after[0]["different"]), (&Value::from(N + 6), &Value::from(N + 6)));
    assert_eq!(files(folder.path(), "sites").len(), 3);
}

#[test]
fn a_compaction_may_be_killed_at_any_moment() {
    // HEAPWISE_KILLS=200 is what a release is tried with.
    let kills = std::env::var("HEAPWISE_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(25);
    let recordings = program::recordings();
    let mut random = 0x9E37_79B9_7F4A_7C15_u64;
    let mut broken_off = 0;
    let longest = {
        let folder = tempfile::tempdir().expect("a folder");
        made::add(folder.path(), &recordings, 0..N);
        let begin = Instant::now();
        compact(folder.path());
        begin.elapsed()
    };
    let mut folder = tempfile::tempdir().expect("a folder");
    made::add(folder.path(), &recordings, 0..N);
    let expected = sums(folder.path());
    for _ in 0..kills {
        let words = ["fleet", "compact", folder.path().to_str().expect("text")];
        let mut child = fleet(&words).stderr(Stdio::null()).spawn().expect("the program");
        // xorshift64: which moments it were can be repeated.
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        std::thread::sleep(longest.mul_f64((random % 1000) as f64 / 1000.0));
        broken_off += u64::from(child.try_wait().expect("a child").is_none());
        child.kill().expect("it can be killed");
        child.wait().expect("it ends");
        assert_eq!(sums(folder.path()), expected);
        if files(folder.path(), "recordings").iter().all(|path| !is_of_one(path)) {
            // All is done: begin anew.
            folder = tempfile::tempdir().expect("a folder");
            made::add(folder.path(), &recordings, 0..N);
        }
    }
    assert!(broken_off > 0, "none of {kills} was broken off");
    compact(folder.path());
    compact(folder.path());
    assert_eq!(sums(folder.path()), expected);
    // What was written and does not count is removed when no compaction can be about to refer to it, after six hours.
    assert_eq!(
        rows("select count(*) as n from (select distinct service, date from recordings)", &[folder.path()])
            [0]["n"],
        3
    );
}

#[test]
fn whoever_asks_beside_it_finds_each_recording_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let recordings = program::recordings();
    made::add(folder.path(), &recordings, 0..N);
    let words = ["fleet", "compact", folder.path().to_str().expect("text")];
    let mut known = N;
    for turn in 0..3 {
        // Two at once: one of them is refused, and plans anew.
        let mut compactions: Vec<_> =
            (0..2).map(|_| fleet(&words).stderr(Stdio::null()).spawn().expect("the program")).collect();
        let more = known + 6;
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| made::add(folder.path(), &recordings, known..more));
            let begin = Instant::now();
            let mut last = known;
            while compactions.iter_mut().any(|child| child.try_wait().expect("a child").is_none()) {
                let found = rows(
                    "select count(*) as n, count(distinct recording) as different from recordings",
                    &[folder.path()],
                );
                let n = found[0]["n"].as_u64().expect("a number");
                assert_eq!(found[0]["different"], n, "turn {turn}");
                assert!((last..=more).contains(&n), "{n} after {last}");
                last = n;
                assert!(begin.elapsed() < Duration::from_secs(120), "it hangs");
            }
            writer.join().expect("it writes");
        });
        for child in &mut compactions {
            assert!(child.wait().expect("it ends").success());
        }
        known = more;
        assert_eq!(rows("select count(*) as n from recordings", &[folder.path()])[0]["n"], known);
    }
}

#[test]
fn recordings_that_are_there_are_not_added_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let (stage, tables) = (folder.path().join("recordings"), folder.path().join("tables"));
    std::fs::create_dir_all(stage.join("more")).expect("a folder");
    for (at, bytes) in program::recordings().iter().enumerate() {
        std::fs::write(stage.join(format!("more/{at}.hw")), bytes).expect("a file");
    }
    std::fs::write(stage.join("damaged.hw"), b"no recording at all").expect("a file");
    std::fs::write(stage.join("notes.txt"), b"not meant").expect("a file");
    let words = ["fleet", "ingest", stage.to_str().expect("text"), "-o", tables.to_str().expect("text")];
    let ingest = || ended(&fleet(&words).output().expect("the program"), 4).1;
    let said = ingest();
    assert!(said.contains("3 recordings added") && said.contains("1 could not be read"), "{said}");
    assert!(said.contains("damaged.hw is left out: "), "{said}");
    let before = sums(&tables);
    assert!(ingest().contains("0 recordings added") && sums(&tables) == before);
    compact(&tables);
    let said = ingest();
    assert!(said.contains("0 recordings added") && said.contains("3 were there already"), "{said}");
    assert_eq!(sums(&tables), before);
    let mode = std::fs::metadata(&tables).expect("a folder").permissions();
    assert_eq!(std::os::unix::fs::PermissionsExt::mode(&mode) & 0o777, 0o700);
    for file in files(&tables, "sites") {
        let mode = std::fs::metadata(file).expect("a file").permissions();
        assert_eq!(
            std::os::unix::fs::PermissionsExt::mode(&mode) & 0o777,
            0o600,
            "files are their owner's alone"
        );
    }
}

#[test]
fn a_sample_of_recordings_is_replayed() {
    let folder = tempfile::tempdir().expect("a folder");
    let recording = folder.path().join("one.hw");
    std::fs::write(&recording, &program::recordings()[2]).expect("a file");
    let ingest = |tables: &Path, every: &str| {
        let (recording, tables) = (recording.to_str().expect("text"), tables.to_str().expect("text"));
        run(&["fleet", "ingest", recording, "-o", tables, "--service", "api", "--replay", every]).1
    };
    let (all, none) = (folder.path().join("all"), folder.path().join("none"));
    let said = ingest(&all, "1");
    assert!(said.contains("1 recording added") && said.contains(", 1 of them replayed, "), "{said}");
    let own = rows("select * from predictions where is_recorded", &[&all]);
    let [own] = own.as_slice() else { panic!("{own:?}") };
    assert_eq!((&own["allocator"], &own["outcome"]), (&Value::from("glibc"), &Value::from("complete")));
    assert!(own["peak_rss_bytes"].as_u64().is_some_and(|bytes| bytes > 100_000), "{own}");
    let others = rows("select * from predictions where not is_recorded and outcome = 'complete'", &[&all]);
    assert!(others.len() >= 3, "{others:?}");
    // By its id, and hardly any is one of so many.
    let said = ingest(&none, "4294967295");
    assert!(said.contains("1 recording added") && said.contains(", 0 of them replayed, "), "{said}");
    assert!(rows("select * from predictions", &[&none]).is_empty());
    assert!(!none.join("predictions").exists());
    let (_, said) = ended(
        &fleet(&["fleet", "ingest", "x.hw", "-o", "y", "--replay", "0"]).output().expect("the program"),
        2,
    );
    assert!(said.contains("--replay"), "{said}");
}

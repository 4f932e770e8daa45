//! What `heapwise lab` does: that each condition is really there in the processes that it measures, whatever the times are.

use heapwise_tests::{programs, run, tool};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

fn heapwise(folder: &Path, arguments: &[&str]) -> run::Outcome {
    run::finish(run::command(tool::heapwise(), folder).args(arguments), folder, "heapwise")
}

/// What a worker with these variables found out.
fn worker(variables: &[(&str, &str)], workload: &str, n: &str) -> Value {
    let folder = run::private_folder();
    let mut command: Command = run::command(tool::lab_worker(), folder.path());
    command.args([workload, n]).envs(variables.iter().copied());
    let outcome = run::finish(&mut command, folder.path(), "worker");
    assert_eq!(outcome.code(), 0, "{}", outcome.stderr);
    serde_json::from_slice(&outcome.stdout).unwrap_or_else(|e| panic!("{e}: {}", outcome.text()))
}

fn rows<'a>(outcome: &'a Value, table: &str) -> &'a Vec<Value> {
    let tables = outcome["tables"].as_array().expect("tables");
    let found =
        tables.iter().find(|t| t["id"] == table).unwrap_or_else(|| panic!("no table {table}: {outcome}"));
    found["rows"].as_array().expect("rows")
}

#[test]
fn the_experiment_has_every_condition_in_place_and_counts_every_run() {
    let Some(_) = programs::library("libtcmalloc_minimal_debug.so.4") else { return };
    let folder = run::private_folder();
    let outcome =
        heapwise(folder.path(), &["lab", "debug-heap", "--quick", "--size", "4000", "--format", "json"]);
    assert_eq!(outcome.code(), 0, "{}", outcome.stderr);
    assert_eq!(outcome.stderr, "", "there is no terminal that would want to see progress");
    let found: Value = serde_json::from_slice(&outcome.stdout).expect("JSON");
    assert_eq!(found["schema"], "heapwise.lab/1");
    assert_eq!(found["experiment"], "debug-heap");
    assert!(found["conclusion"].as_array().is_some_and(|sentences| sentences.len() >= 4), "{found}");

    // Workers asked their own allocators; this is what makes the rest worth reading.
    let heaps: BTreeMap<&str, &Value> =
        rows(&found, "heaps").iter().map(|row| (row["condition"].as_str().expect("a name"), row)).collect();
    let names: Vec<_> = heaps.keys().copied().collect();
    assert_eq!(names, ["fixed", "malloc-check", "mimalloc", "perturb", "plain", "tcmalloc-debug"]);
    for (name, heap) in &heaps {
        let libraries = heap["libraries"].as_str().unwrap_or_default();
        let (has_checks, has_tcmalloc) =
            (libraries.contains("libc_malloc_debug"), libraries.contains("tcmalloc"));
        assert_eq!(has_checks, *name == "malloc-check", "{heap}");
        assert_eq!(has_tcmalloc, ["tcmalloc-debug", "mimalloc"].contains(name), "{heap}");
        assert_eq!(heap["allocator"], if *name == "mimalloc" { "mimalloc" } else { "system" }, "{heap}");
        assert_eq!(heap["usable_of_193"] == 193, has_checks || has_tcmalloc, "{heap}");
        assert_eq!(heap["fresh_fill"] == "0x5a", *name == "perturb", "{heap}");
    }
    // Seven workloads, four sizes, two rounds; none was left out.
    assert!(heaps.values().all(|heap| heap["runs"] == 7 * 4 * 2), "{heaps:?}");

    let sizes = rows(&found, "sizes");
    let phases = 6 * 2 + 1;
    assert_eq!(sizes.len(), 6 * 4 * phases);
    for row in sizes {
        let [low, median, high] =
            ["low", "median", "high"].map(|part| row["time_ns"][part].as_u64().expect("a time"));
        assert!(0 < low && low <= median && median <= high, "{row}");
        assert_eq!(row["ratio"].is_null(), row["condition"] == "plain", "{row}");
    }
    let drop = rows(&found, "hash-map/drop");
    assert_eq!(drop.len(), 6);
    assert!(drop.iter().all(|row| row["n"] == 4000 && row["growth"]["points"] == 4), "{drop:?}");
}

#[test]
fn heapwise_alone_in_another_folder_has_all_that_experiments_need() {
    let folder = run::private_folder();
    let alone = folder.path().join("heapwise");
    std::fs::copy(tool::heapwise(), &alone).expect("there is room");
    let mut command = run::command(&alone, folder.path());
    command.args(["lab", "debug-heap", "--quick", "--size", "1000", "--workload", "words-std"]);
    // Nothing that it starts is a file in a folder.
    command
        .args(["--condition", "mimalloc", "--format", "json"])
        .env("TMPDIR", "/nowhere")
        .env_remove("PATH");
    let outcome = run::finish(&mut command, folder.path(), "heapwise");
    assert_eq!(outcome.code(), 0, "{}", outcome.stderr);
    let found: Value = serde_json::from_slice(&outcome.stdout).expect("JSON");
    let heaps = rows(&found, "heaps");
    let allocators: Vec<_> = heaps.iter().map(|heap| &heap["allocator"]).collect();
    assert_eq!(allocators, ["system", "mimalloc"], "{heaps:?}");
}

/// The variable is for workers.
#[test]
fn heapwise_itself_has_the_systems_allocator_whatever_a_variable_says() {
    let Some(counting) = programs::library("libmemusage.so") else { return };
    let folder = run::private_folder();
    let mut command = run::command(tool::heapwise(), folder.path());
    command.args(["lab", "--format", "json"]).env("LD_PRELOAD", counting);
    command.env("HEAPWISE_LAB_ALLOCATOR", "mimalloc");
    let outcome = run::finish(&mut command, folder.path(), "heapwise");
    assert_eq!(outcome.code(), 0, "{}", outcome.stderr);
    // A row of its table on standard error: `malloc|  total calls  total memory  failed calls`, with colours.
    let row =
        outcome.stderr.lines().find(|line| line.contains("malloc|")).expect("libmemusage prints a table");
    let calls = row.split_whitespace().find_map(|word| word.parse::<u64>().ok());
    assert!(calls.is_some_and(|calls| calls > 100), "{row}");
}

#[test]
fn a_worker_has_the_allocator_that_its_variable_names() {
    let heap =
        |variables: &[(&str, &str)]| worker(variables, "words-chained", "20000")["heap"]["allocator"].clone();
    assert_eq!(heap(&[]), "system");
    assert_eq!(heap(&[("HEAPWISE_LAB_ALLOCATOR", "mimalloc")]), "mimalloc");
    assert_eq!(heap(&[("HEAPWISE_LAB_ALLOCATOR", "tcmalloc")]), "system");
}

#[test]
fn the_same_comes_out_under_every_heap_and_of_every_table() {
    let checks = programs::library("libc_malloc_debug.so.0");
    let library = checks.as_deref().and_then(Path::to_str).unwrap_or_default();
    let environments: [&[(&str, &str)]; 3] = [
        &[],
        &[("LD_PRELOAD", library), ("MALLOC_CHECK_", "3"), ("MALLOC_PERTURB_", "165")],
        &[("HEAPWISE_LAB_ALLOCATOR", "mimalloc")],
    ];
    let tables = ["words-std", "words-btree", "words-chained", "words-arena", "words-fx"];
    let mut sums = Vec::new();
    for environment in environments {
        sums.extend(
            tables.map(|table| worker(environment, table, "5000")["checksum"].as_u64().expect("a sum")),
        );
    }
    assert!(sums.iter().all(|sum| *sum == sums[0]), "{sums:?}");
    assert_ne!(worker(&[], "words-std", "5001")["checksum"].as_u64(), Some(sums[0]));
}

#[test]
fn a_setting_of_the_shell_does_not_reach_the_plain_worker_and_is_reported() {
    let folder = run::private_folder();
    let mut command = run::command(tool::heapwise(), folder.path());
    command.args([
        "lab",
        "debug-heap",
        "--quick",
        "--size",
        "1000",
        "--workload",
        "words-std",
        "--condition",
        "perturb",
    ]);
    command.args(["--format", "json"]).env("MALLOC_PERTURB_", "7").env("COLUMNS", "80");
    let outcome = run::finish(&mut command, folder.path(), "heapwise");
    let found: Value = serde_json::from_slice(&outcome.stdout).expect("JSON");
    let heaps = rows(&found, "heaps");
    assert_eq!(heaps.len(), 2, "{heaps:?}");
    assert_eq!((&heaps[0]["condition"], &heaps[0]["fresh_fill"]), (&"plain".into(), &Value::Null));
    let caveats = found["caveats"].to_string();
    assert!(caveats.contains("MALLOC_PERTURB_") && caveats.contains("heapwise doctor"), "{caveats}");
}

#[test]
fn without_a_name_the_experiments_are_listed_and_a_wrong_one_is_refused() {
    let folder = run::private_folder();
    let list = heapwise(folder.path(), &["lab"]);
    assert_eq!(list.code(), 0);
    assert!(list.text().lines().any(|line| line.starts_with("debug-heap  ")), "{}", list.text());
    for arguments in [&["lab", "nothing"][..], &["lab", "debug-heap", "--workload", "nothing"]] {
        let refused = heapwise(folder.path(), arguments);
        assert_eq!(refused.code(), 2, "{}", refused.stderr);
        assert!(refused.stderr.contains("nothing; there are: "), "{}", refused.stderr);
        assert_eq!(refused.stderr.lines().count(), 1, "{}", refused.stderr);
    }
}

#[test]
fn the_text_fits_a_terminal() {
    let folder = run::private_folder();
    let mut command = run::command(tool::heapwise(), folder.path());
    command.args(["lab", "debug-heap", "--quick", "--size", "2000", "--runs", "1"]).env("COLUMNS", "80");
    let outcome = run::finish(&mut command, folder.path(), "heapwise");
    assert_eq!(outcome.code(), 0, "{}", outcome.stderr);
    let text = outcome.text();
    assert!(text.contains("WHAT IT MEANS") && !text.contains('\x1b'), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn experiments_under_allocators_have_each_in_place() {
    let folder = run::private_folder();
    for name in ["fragmentation", "async-server", "shootout", "cross-thread", "decay"] {
        let arguments = ["lab", name, "--quick", "--with", "jemalloc,mimalloc", "--format", "json"];
        let outcome = heapwise(folder.path(), &arguments);
        assert_eq!(outcome.code(), 0, "{}", outcome.stderr);
        let found: Value = serde_json::from_slice(&outcome.stdout).expect("JSON");
        assert_eq!((&found["experiment"], &found["interrupted"]), (&name.into(), &false.into()));
        // Whatever did not have its allocator, or did other work, would be named.
        let caveats = found["caveats"].as_array().expect("sentences");
        assert!(
            caveats.iter().all(|caveat| caveat.as_str().is_some_and(|c| c.starts_with("so few"))),
            "{caveats:?}"
        );
        let tables = found["tables"].as_array().expect("tables");
        let (article, measured) = tables.split_last().expect("some");
        assert_eq!(article["id"], "article");
        assert!(article["rows"].as_array().is_some_and(|rows| rows.len() >= 2), "{article}");
        for table in measured {
            let rows = table["rows"].as_array().expect("rows");
            let names: Vec<&str> = rows.iter().filter_map(|row| row["allocator"].as_str()).collect();
            assert_eq!(names, ["default", "jemalloc", "mimalloc"], "{table}");
            let bytes = rows.iter().flat_map(|row| row.as_object().expect("cells"));
            let bytes: Vec<_> = bytes.filter(|(id, _)| id.ends_with("dropped_bytes")).collect();
            let is_measured = |cell: &Value| cell["median"].as_f64().is_some_and(|n| n > 0.0);
            assert!(bytes.iter().all(|(_, cell)| is_measured(cell)), "{table}");
        }
    }
}

#[test]
fn an_allocator_that_is_not_there_is_named_and_one_that_is_unknown_refused() {
    let folder = run::private_folder();
    let quick = |with| heapwise(folder.path(), &["lab", "fragmentation", "--quick", "--with", with]);
    let missing = quick("/no/such/library.so");
    assert_eq!(missing.code(), 0, "{}", missing.stderr);
    assert!(missing.text().contains("/no/such/library.so was not tried"), "{}", missing.text());
    for refused in [
        quick("jemaloc"),
        heapwise(folder.path(), &["lab", "debug-heap", "--with", "jemalloc"]),
        heapwise(folder.path(), &["lab", "shootout", "--size", "5"]),
        heapwise(folder.path(), &["lab", "shootout", "--scale", "0"]),
        heapwise(folder.path(), &["lab", "shootout", "--all"]),
    ] {
        assert_eq!(refused.code(), 2, "{}", refused.stderr);
    }
}

#[test]
fn all_experiments_are_one_page_with_what_the_articles_say_first() {
    let folder = run::private_folder();
    let outcome =
        heapwise(folder.path(), &["lab", "--all", "--quick", "--runs", "1", "-f", "html", "-o", "lab.html"]);
    assert_eq!(outcome.code(), 0, "{}", outcome.stderr);
    let page = std::fs::read_to_string(folder.path().join("lab.html")).expect("a page");
    let at = |what: &str| page.find(what).unwrap_or_else(|| panic!("no {what}"));
    assert!(at("Beside the articles") < at("shootout: threads stay"));
    assert!(at("decay: threads end") < at("debug-heap: hash-map: drop"));
    assert!(page.contains("glibc 2.") && page.contains("<svg") && !page.contains("<script"));
}

#[test]
fn an_interrupt_keeps_what_was_measured() {
    let folder = run::private_folder();
    let mut command = run::command(tool::heapwise(), folder.path());
    // Rounds for minutes, of which a few are done in two seconds.
    command.args([
        "lab",
        "fragmentation",
        "--quick",
        "--with",
        "jemalloc",
        "--runs",
        "100000",
        "--format",
        "json",
    ]);
    let running = run::start(&mut command, folder.path(), "heapwise");
    std::thread::sleep(std::time::Duration::from_secs(2));
    running.signal_group(libc::SIGINT);
    let outcome = running.wait(std::time::Duration::from_secs(20));
    assert_eq!(outcome.code(), 130, "{}", outcome.stderr);
    let found: Value = serde_json::from_slice(&outcome.stdout).expect("JSON");
    assert_eq!(found["interrupted"], true);
    let peak = &rows(&found, "small-first")[1]["allocated_bytes"]["median"];
    assert!(peak.as_u64().is_some_and(|bytes| bytes > 0), "{found}");
}

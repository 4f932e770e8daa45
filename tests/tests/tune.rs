//! What `heapwise tune` does with small programs: who takes part, what is recommended, and that what it prints builds and does
//! what it says. What is asserted is memory and words, and never a time.

use heapwise_allocators::{Candidate, Fix, Origin, build_quickly, tunings};
use heapwise_tests::build::{FlagSet, build};
use heapwise_tests::folders::target_folder;
use heapwise_tests::recording::Recording;
use heapwise_tests::victim::Victim;
use heapwise_tests::{programs, run, tool};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Building a few allocators on a busy machine takes minutes.
const BUILDING: Duration = Duration::from_secs(1800);
/// A search, and a program that runs some dozens of times.
const SEARCHING: Duration = Duration::from_secs(600);

fn victim(folder: &str, name: &str) -> PathBuf {
    let all = Victim::all_in(folder);
    let found = all.iter().find(|v| v.name == name).unwrap_or_else(|| panic!("there is no victim {name}"));
    build(found, FlagSet::Release)
}

fn retains() -> PathBuf {
    victim("victims/tune", "retains")
}

fn tune(folder: &Path, arguments: &[&str]) -> run::Outcome {
    let mut command = run::command(tool::heapwise(), folder);
    command.arg("tune").args(arguments);
    run::start(&mut command, folder, "tune").wait(SEARCHING)
}

fn json(outcome: &run::Outcome) -> Value {
    assert_eq!(outcome.code(), 0, "{}", outcome.stderr);
    serde_json::from_slice(&outcome.stdout)
        .unwrap_or_else(|e| panic!("{e}: {}{}", outcome.text(), outcome.stderr))
}

/// A recording, and what has to be kept while it is used.
fn recorded(folder: &Path, program: &Path, arguments: &[&str]) -> String {
    let recording = Recording::new(folder);
    let recorded = recording.record(program, arguments);
    assert_eq!(recorded.outcome.code(), 0, "{}", recorded.outcome.stderr);
    recording.file().to_str().expect("a path").to_owned()
}

fn names(list: &Value) -> Vec<&str> {
    list.as_array().expect("a list").iter().map(|name| name.as_str().expect("a name")).collect()
}

fn ranked(found: &Value) -> Vec<&str> {
    let all = found["ranked"].as_array().expect("ranked");
    all.iter().map(|ranked| ranked["candidate"].as_str().expect("a name")).collect()
}

#[test]
fn without_a_goal_it_is_that_of_a_program_that_ends_or_that_of_one_that_goes_on() {
    let folder = run::private_folder();
    let file = recorded(folder.path(), Path::new("/bin/ls"), &["/"]);
    let line = [&file, "--with", "snmalloc", "--longest", "1s", "--format", "json"];
    let found = json(&tune(folder.path(), &line));
    assert_eq!(found["goal"]["name"], "batch");
    assert_eq!(found["goal"]["weights"], serde_json::json!({ "rss": 0.5, "cpu": 0.5 }));
    // Whoever asks for a rest after the load is asking about a server.
    let found = json(&tune(folder.path(), &[&line[..], &["--settle", "10ms"]].concat()));
    assert_eq!(found["goal"]["name"], "balanced");
    assert_eq!(found["goal"]["weights"]["rss-after"], 0.25);
}

#[test]
fn a_recording_is_enough_for_a_ranking_with_a_front_and_a_choice() {
    let folder = run::private_folder();
    let file = recorded(folder.path(), &retains(), &["3", "8000", "1"]);
    let with = "jemalloc,jemalloc:narenas=1,mimalloc2,snmalloc";
    let outcome = tune(folder.path(), &[&file, "--goal", "rss", "--with", with, "--format", "json"]);
    let found = json(&outcome);
    assert_eq!(outcome.stderr, "", "there is no terminal that would want to see progress");
    assert_eq!(found["schema"], "heapwise.tune/1");
    assert_eq!(found["goal"]["weights"], serde_json::json!({ "rss": 1.0 }));
    assert_eq!(found["now"], "glibc");
    assert!(found["machine"]["cores"].as_u64() >= Some(1), "{}", found["machine"]);
    let mut ran = ranked(&found);
    let chosen = found["choice"]["candidate"].as_str().expect("a choice");
    assert!(ran.contains(&chosen), "{chosen} was not run: {ran:?}");
    let front = names(&found["pareto"]["candidates"]);
    assert!(!front.is_empty() && front.iter().all(|name| ran.contains(name)), "{front:?}");
    assert_eq!(found["fix"]["kind"] == "stay", found["choice"]["stay"] == true, "{}", found["fix"]);
    for ranked in found["ranked"].as_array().expect("ranked") {
        assert_eq!(ranked["trouble"], Value::Null, "{ranked}");
        // Three threads with eight thousand blocks of 24 to 1523 bytes.
        let peak = ranked["peak_rss_bytes"]["median"].as_f64().expect("a peak");
        assert!((15e6..90e6).contains(&peak), "{ranked}");
    }
    ran.sort_unstable();
    assert_eq!(ran, ["glibc", "jemalloc", "jemalloc:narenas=1", "mimalloc2", "snmalloc"]);
}

#[test]
fn who_has_the_best_already_is_advised_to_stay() {
    let folder = run::private_folder();
    // A few blocks: what an allocator has for itself is all that there is.
    let file = recorded(folder.path(), &retains(), &["1", "50", "1"]);
    let line = [&file, "--goal", "rss", "--with", "mimalloc,snmalloc"];
    let found = json(&tune(folder.path(), &[&line[..], &["--format", "json"]].concat()));
    assert_eq!(found["choice"]["stay"], true, "{}", found["choice"]);
    assert_eq!(found["choice"]["candidate"], "glibc");
    assert_eq!((&found["fix"]["kind"], names(&found["fix"]["text"])), (&"stay".into(), vec![]));
    let text = tune(folder.path(), &line).text();
    assert!(text.contains("Stay with glibc") && !text.contains("CARGO.TOML"), "{text}");
}

#[test]
fn memory_that_is_kept_is_halved_and_the_program_agrees() {
    let folder = run::private_folder();
    let program = retains();
    let with = "jemalloc:dirty_decay_ms=0,mimalloc2:purge_delay=0,snmalloc";
    let line = ["--goal", "rss-after", "--with", with, "--longest", "2s", "--runs", "3", "--confirm", "2"];
    let command = ["--format", "json", "--", program.to_str().expect("a path"), "4", "12000", "1000"];
    let found = json(&tune(folder.path(), &[&line[..], &command].concat()));
    let choice = &found["choice"];
    assert_eq!((&choice["stay"], &choice["verified"]), (&false.into(), &"program".into()), "{found:#}");
    let label = choice["candidate"].as_str().expect("a name");
    assert!(ranked(&found).contains(&label) && with.split(',').any(|asked| asked == label), "{label}");
    assert!(choice["factor"].as_f64().is_some_and(|factor| factor < 0.7), "{choice}");
    // What the program itself had, run by run.
    let candidates = found["confirmed"]["candidates"].as_array().expect("a comparison");
    let of = |label: &str| {
        let found = candidates.iter().find(|c| c["label"] == label);
        found.and_then(|c| c["rss_after_bytes"].as_f64()).unwrap_or_else(|| panic!("{label}: {found:?}"))
    };
    assert!(of(label) < of("default") * 0.7, "{} of {}", of(label), of("default"));
    // A program that ends by itself is judged by what it has at its end.
    let said = names(&found["conclusion"])[0];
    assert!(said.contains("on the program itself RSS at the end is at −"), "{said}");
    assert_eq!(found["fix"]["kind"], "allocator");
    let rust = names(&found["fix"]["rust"]).join("\n");
    let setting = match label {
        "jemalloc:dirty_decay_ms=0" => "b\"dirty_decay_ms:0\\0\"",
        "mimalloc2:purge_delay=0" => "mi_option_set(15, 0)",
        _ => "snmalloc_rs::SnMalloc",
    };
    assert!(rust.contains("#[global_allocator]") && rust.contains(setting), "{rust}");
}

#[test]
fn a_candidate_that_crashes_is_reported_and_the_others_are_ranked() {
    let folder = run::private_folder();
    let odd = victim("victims/compare", "odd_allocator");
    let odd = odd.to_str().expect("a path");
    let file = recorded(folder.path(), &victim("victims/compare", "asks_for"), &["100", "123457"]);
    let with = format!("{odd},jemalloc");
    let found = json(&tune(folder.path(), &[&file, "--goal", "rss", "--with", &with, "--format", "json"]));
    let all = found["ranked"].as_array().expect("ranked");
    let of = |name: &str| all.iter().find(|r| r["candidate"] == name).unwrap_or_else(|| panic!("{found:#}"));
    assert!(of(odd)["trouble"].as_str().is_some_and(|why| !why.is_empty()), "{}", of(odd));
    assert_eq!(of(odd)["score"], Value::Null);
    for other in ["glibc", "jemalloc"] {
        assert_eq!(of(other)["trouble"], Value::Null);
        assert!(of(other)["score"]["value"].as_f64().is_some(), "{}", of(other));
    }
    assert_ne!(found["choice"]["candidate"], odd);
    assert!(names(&found["caveats"]).iter().any(|caveat| caveat.starts_with(odd)), "{}", found["caveats"]);
}

#[test]
fn what_is_wrong_is_reported_in_one_line() {
    let folder = run::private_folder();
    let file = recorded(folder.path(), &retains(), &["1", "50", "1"]);
    let broken = folder.path().join("broken.hw");
    fs::write(&broken, b"this is no recording").expect("a file");
    let broken = broken.to_str().expect("a path");
    let rustc = programs::rust_tool("rustc");
    let rustc = rustc.to_str().expect("a path");
    let text = folder.path().join("text");
    fs::write(&text, b"no program").expect("a file");
    let text = text.to_str().expect("a path");
    let program = retains();
    let program = program.to_str().expect("a path");
    let cases: [(&[&str], i32, &str); 16] = [
        (&[&file, "--goal", "memory"], 2, "rss-after"),
        (&[&file, "--with", "jemaloc"], 2, "jemalloc"),
        (&[&file, "--with", "jemalloc:dirty_decay=1"], 2, "dirty_decay_ms"),
        (&[broken], 4, "broken.hw"),
        (&["missing.hw"], 4, "missing.hw"),
        (&["--", rustc], 2, "defines malloc itself"),
        (&[], 2, "heapwise tune -- CMD"),
        (&[&file, "--load", "true"], 2, "--load"),
        (&[&file, "--ready", "true"], 2, "--ready"),
        (&[&file, "--stdin", "x"], 2, "--stdin"),
        (&[&file, "--runs", "3"], 2, "--runs"),
        (&[&file, "--runs", "0", "--", program], 2, "--runs 0"),
        (&["--", "no-such-program"], 127, "no-such-program"),
        (&[&file, "--", "no-such-program"], 127, "no-such-program"),
        (&["--", text], 126, "cannot be executed"),
        (&[&file, "--", text], 126, "cannot be executed"),
    ];
    for (arguments, code, word) in cases {
        let outcome = tune(folder.path(), arguments);
        assert_eq!(outcome.code(), code, "{arguments:?}: {}", outcome.stderr);
        assert_eq!(outcome.stderr.lines().count(), 1, "{arguments:?}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(word), "{arguments:?}: {}", outcome.stderr);
        assert_eq!(outcome.text(), "", "{arguments:?}");
    }
}

#[test]
fn a_server_is_judged_by_the_memory_that_it_has_when_it_is_left_alone() {
    let folder = run::private_folder();
    let program = retains();
    let drive = ["--ready", "line:retained", "--load", "true", "--settle", "300ms", "--runs", "3"];
    let search = ["--goal", "rss-after", "--with", "jemalloc:dirty_decay_ms=0", "--longest", "1s"];
    let command = ["--format", "json", "--", program.to_str().expect("a path"), "4", "12000", "100000"];
    let found = json(&tune(folder.path(), &[&drive[..], &search, &command].concat()));
    assert_eq!(found["choice"]["verified"], "program", "{found:#}");
    let said = names(&found["conclusion"])[0];
    assert!(said.contains("on the program itself RSS after idle is at −"), "{said}");
}

#[test]
fn pages_and_comments_have_everything_and_nothing_of_what_a_program_smuggles_in() {
    let folder = run::private_folder();
    let hostile = folder.path().join("<b>&\"x");
    fs::copy(retains(), &hostile).expect("a copy");
    let file = recorded(folder.path(), &hostile, &["4", "12000", "1"]);
    let line =
        [&file, "--goal", "rss-after=3,cpu=0.01", "--with", "jemalloc:dirty_decay_ms=0", "--longest", "1s"];
    let page = folder.path().join("tune.html");
    let html = ["--format", "html", "-o", page.to_str().expect("a path")];
    let outcome = tune(folder.path(), &[&line[..], &html].concat());
    assert_eq!((outcome.code(), outcome.text().as_str()), (0, ""), "{}", outcome.stderr);
    let text = fs::read_to_string(&page).expect("a page");
    assert!(text.contains("<svg") && text.contains("&lt;b&gt;&amp;"), "a picture, and the program's name");
    assert!(text.contains("jemalloc:dirty_decay_ms=0") && text.contains("global_allocator"));
    for never in ["<script", "<b>&", "http://", "https://", "NaN"] {
        assert!(!text.contains(never), "{never}");
    }

    let markdown = tune(folder.path(), &[&line[..], &["--format", "markdown"]].concat());
    assert_eq!(markdown.code(), 0, "{}", markdown.stderr);
    let text = markdown.text();
    assert!(text.contains("\n| candidate ") && text.contains("\n```rust\n"), "{text}");
    // Of several measures none is the goal.
    assert!(text.contains("on replays the goal is at "), "{text}");
    assert!(!text.contains("<b>"), "{text}");
}

/// A workspace with a package for each set of lines of Cargo.toml, and a program for each candidate in it.
fn project(folder: &Path, candidates: &[(Candidate, Fix)]) -> BTreeMap<String, (String, String)> {
    let _ = fs::remove_dir_all(folder);
    let mut packages: Vec<&[String]> = Vec::new();
    let mut places = BTreeMap::new();
    for (at, (candidate, fix)) in candidates.iter().enumerate() {
        let number = packages.iter().position(|lines| *lines == fix.cargo).unwrap_or_else(|| {
            packages.push(&fix.cargo);
            packages.len() - 1
        });
        let package = folder.join(format!("p{number}"));
        fs::create_dir_all(package.join("src/bin")).expect("a folder");
        let mut manifest = format!(
            "[package]\nname = \"p{number}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[dependencies]\n"
        );
        for line in &fix.cargo {
            let _ = writeln!(manifest, "{line}");
        }
        fs::write(package.join("Cargo.toml"), manifest).expect("a file");
        let source = format!(
            "#![deny(warnings)]\n\n{}\n\nfn main() {{\n    println!(\"{{:?}}\", vec![1; 1000].len());\n{}}}\n",
            fix.rust.join("\n"),
            question(candidate)
        );
        fs::write(package.join(format!("src/bin/c{at}.rs")), source).expect("a file");
        places.insert(candidate.to_string(), (format!("p{number}"), format!("c{at}")));
    }
    fs::write(folder.join("Cargo.toml"), "[workspace]\nresolver = \"3\"\nmembers = [\"p*\"]\n")
        .expect("a file");
    places
}

/// Statements that have a program print what its allocator says of a setting.
fn question(candidate: &Candidate) -> &'static str {
    match candidate.to_string().as_str() {
        "jemalloc:background_thread=true:dirty_decay_ms=1000" => {
            r#"    let (mut ms, mut size) = (0_isize, size_of::<isize>());
    let nothing = std::ptr::null_mut();
    let name = c"opt.dirty_decay_ms".as_ptr().cast();
    unsafe { tikv_jemalloc_sys::mallctl(name, (&raw mut ms).cast(), &mut size, nothing, 0) };
    println!("{ms}");
"#
        }
        // mi_option_purge_delay
        "mimalloc:purge_delay=0" | "mimalloc2:purge_delay=0" => {
            "    println!(\"{}\", unsafe { libmimalloc_sys::mi_option_get(15) });\n"
        }
        _ => "",
    }
}

fn cargo(folder: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> run::Outcome {
    let mut command = run::command(programs::rust_tool("cargo"), folder);
    command.args(arguments).arg("--target-dir").arg(target_folder().join("fixes"));
    command.envs(variables.iter().copied());
    run::start(build_quickly(&mut command), folder, "cargo").wait(BUILDING)
}

#[test]
fn the_lines_that_are_printed_build_and_set_what_they_say() {
    let folder = run::private_folder();
    let project_folder = folder.path().join("project");
    let fixes: Vec<(Candidate, Fix)> = tunings()
        .into_iter()
        // One that takes minutes to compile has its own test (tcmalloc_google.rs).
        .filter(|c| !c.allocator().is_some_and(|a| matches!(a.origin(), Origin::OnRequest { .. })))
        .map(|c| (c.clone(), c.fix()))
        .filter(|(_, fix)| !fix.cargo.is_empty())
        .collect();
    assert!(fixes.len() > 30, "{}", fixes.len());
    let places = project(&project_folder, &fixes);
    // Nothing is linked, so the allocators themselves are not compiled: that would take a minute.
    let library = folder.path().join("libjemalloc.a");
    fs::write(&library, "").expect("a file");
    let library = library.to_string_lossy();
    let without_c = [("CC", "true"), ("CXX", "true"), ("AR", "true"), ("JEMALLOC_OVERRIDE", &*library)];
    let checked = cargo(&project_folder, &["check", "--quiet", "--workspace", "--bins"], &without_c);
    assert_eq!(
        checked.code(),
        0,
        "the fixes do not build; their crates come from the registry, which has to be reachable:\n{}",
        checked.stderr
    );
    let settings = [
        ("jemalloc:background_thread=true:dirty_decay_ms=1000", "1000"),
        ("mimalloc:purge_delay=0", "0"),
        ("mimalloc2:purge_delay=0", "0"),
    ];
    for (candidate, value) in settings {
        let (package, program) = &places[candidate];
        let outcome = cargo(&project_folder, &["run", "--quiet", "-p", package, "--bin", program], &[]);
        assert_eq!(outcome.code(), 0, "{candidate}: {}", outcome.stderr);
        assert_eq!(outcome.text(), format!("1000\n{value}\n"), "{candidate}");
    }
}

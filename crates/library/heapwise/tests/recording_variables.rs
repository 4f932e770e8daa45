//! On Linux on x86-64 the environment asks for a sample as on other systems.
#![cfg(all(
    feature = "record-to",
    target_os = "linux",
    target_arch = "x86_64",
    not(feature = "portable-recorder")
))]

use heapwise_analysis::{Options, analyze};
use heapwise_trace::file::Reader;
use std::hint::black_box;
use std::process::{Command, Output};

#[global_allocator]
static ALLOCATOR: heapwise::Allocator = heapwise::Allocator::system();

/// What the second process does instead of the tests.
#[test]
fn scene() {
    if std::env::var_os("HEAPWISE_RECORD_TO").is_some() {
        (0..100_000usize).for_each(|n| drop(black_box(vec![0u8; n % 100 + 1])));
    }
}

fn recorded(file: &std::path::Path, every: Option<&str>) -> Output {
    let mut again = Command::new(std::env::current_exe().expect("a test knows its own file"));
    again.args(["--exact", "scene", "--test-threads", "1"]).env("HEAPWISE_RECORD_TO", file);
    again.env_remove("HEAPWISE_RECORD_EVERY").envs(every.map(|every| ("HEAPWISE_RECORD_EVERY", every)));
    again.output().expect("it can be started again")
}

#[test]
fn the_distance_of_a_sample_is_that_of_the_environment() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let events = |name: &str, every: Option<&str>| {
        let file = folder.path().join(name);
        let output = recorded(&file, every);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let input = std::fs::File::open(file).expect("a recording");
        let reader = Reader::new(std::io::BufReader::new(input)).expect("a recording");
        let analysis = analyze(reader, &Options::default(), |_| {}).expect("it can be read");
        (analysis.sampled.is_some(), analysis.totals.allocations)
    };
    let (is_sampled, all) = events("all.hw", None);
    assert!(!is_sampled && all >= 100_000, "{all}");
    let (is_sampled, estimate) = events("sample.hw", Some("4096"));
    assert!(is_sampled && (80_000..130_000).contains(&estimate), "{estimate}");
}

#[test]
fn what_is_no_number_is_a_warning_and_no_recording() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("none.hw");
    let output = recorded(&file, Some("much"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && !file.exists());
    assert!(said.contains("HEAPWISE_RECORD_EVERY is \"much\" and not a number of bytes"), "{said}");
}

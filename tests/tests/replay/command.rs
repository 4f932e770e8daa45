//! The command, and what it prints as JSON.

use heapwise_allocators::bundled;
use heapwise_tests::build::{FlagSet, build};
use heapwise_tests::recording::{Recorded, Recording};
use heapwise_tests::run::{self, Outcome};
use heapwise_tests::tool::heapwise;
use heapwise_tests::victim::Victim;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Those that heapwise carries.
pub(super) fn allocators() -> Vec<&'static str> {
    bundled().map(|allocator| allocator.name()).collect()
}

pub(super) fn replay_command(file: &Path, folder: &Path, options: &[&str]) -> Command {
    let mut command = run::command(heapwise(), folder);
    command.arg("replay").arg(file).args(["--format", "json"]).args(options);
    command
}

pub(super) fn replay(file: &Path, folder: &Path, options: &[&str]) -> Outcome {
    run::finish(&mut replay_command(file, folder, options), folder, "replay")
}

pub(super) fn parsed(outcome: &Outcome) -> Value {
    serde_json::from_str(&outcome.text())
        .unwrap_or_else(|e| panic!("no JSON: {e}\n{}\n{}", outcome.text(), outcome.stderr))
}

pub(super) fn number(value: &Value, name: &str) -> u64 {
    value[name].as_u64().unwrap_or_else(|| panic!("no number {name} in {value}"))
}

pub(super) fn candidates(all: &Value) -> &[Value] {
    all["candidates"].as_array().expect("candidates")
}

pub(super) fn candidate<'a>(all: &'a Value, name: &str) -> &'a Value {
    let found = candidates(all).iter().find(|c| c["candidate"] == name);
    found.unwrap_or_else(|| panic!("no {name} in {all}"))
}

pub(super) fn caveats(all: &Value) -> Vec<&str> {
    all["caveats"].as_array().expect("caveats").iter().filter_map(Value::as_str).collect()
}

pub(super) fn record(victim: &str, folder: &Path) -> Recorded {
    let program = build(&Victim::named(victim), FlagSet::Release);
    Recording::new(folder).record(program, &[])
}

/// A recording that is quickly replayed.
pub(super) fn small(folder: &Path) -> PathBuf {
    record("growth_by_realloc", folder).file
}

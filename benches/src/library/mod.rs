//! `bench library`: what wrappers of the global allocator cost, heapwise's and others'.
//!
//! Each candidate is a separate program (`benches/wrappers`), with the same loops. All of them are started, wait, and take turns
//! every few milliseconds; what a wrapper adds is the difference to the program without it, of the same loop in the same round.
//! Programs are started anew for each *layout*, in which the linker has put functions to other places: the place of code in
//! memory changes the time of a call by as much as a wrapper that does nothing.

mod candidates;
mod process;
mod table;

use anyhow::{Context, Result, ensure};
use candidates::Candidate;
use heapwise_trial::rounds::Rounds;
use process::Process;
use serde::Serialize;
use std::path::{Path, PathBuf};

#[derive(Debug)]
pub(crate) struct Plan<'a> {
    /// Rounds of each layout.
    pub(crate) rounds: usize,
    pub(crate) only: &'a [String],
    pub(crate) target: &'a Path,
    pub(crate) folder: &'a Path,
}

/// A loop of the programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Kernel {
    kind: Kind,
    /// Its name in a request to the programs.
    name: &'static str,
    threads: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Kind {
    /// malloc and free of 24 to 64 bytes.
    Pair,
    /// Zeroed memory and free.
    Zeroed,
    Realloc,
}

/// Threads of the column for several.
const THREADS: usize = 4;

/// Nanoseconds of a chunk with one thread: short, so that all candidates have had their turn before the machine changes.
const CHUNK_NS: f64 = 300_000.0;
/// With several threads: long enough for them to be at work at the same time, though there are fewer processors.
const TOGETHER_NS: f64 = 8_000_000.0;

fn kernels() -> Vec<Kernel> {
    let one = |kind, name| Kernel { kind, name, threads: 1 };
    let many = |kind, name| Kernel { kind, name, threads: THREADS };
    let pairs = [
        "pair 24 1",
        "pair 24 2",
        "pair 24 3",
        "pair 32 1",
        "pair 32 2",
        "pair 32 3",
        "pair 40 1",
        "pair 40 2",
        "pair 40 3",
        "pair 48 1",
        "pair 48 2",
        "pair 48 3",
        "pair 56 1",
        "pair 56 2",
        "pair 56 3",
        "pair 64 1",
        "pair 64 2",
        "pair 64 3",
    ];
    let mut all: Vec<_> = pairs.into_iter().map(|name| one(Kind::Pair, name)).collect();
    all.extend([one(Kind::Zeroed, "zeroed 48 1"), one(Kind::Realloc, "realloc 32 1")]);
    all.extend(["pair 24 1", "pair 48 2", "pair 64 3"].map(|name| many(Kind::Pair, name)));
    all
}

/// What was measured of a candidate with one layout: a number for each kernel and round.
#[derive(Debug, Serialize)]
struct Measured {
    candidate: &'static str,
    layout: usize,
    /// By kernel, then by round, in nanoseconds per call.
    nanoseconds: Vec<Vec<f64>>,
}

/// Measures, and returns tables to be shown.
pub(crate) fn measure(plan: &Plan<'_>) -> Result<String> {
    let folder = plan.folder.join("library");
    let layouts = layouts(&folder)?;
    let chosen = candidates::chosen(plan.only);
    let kernels = kernels();
    let mut all = Vec::new();
    for (layout, programs) in layouts.iter().enumerate() {
        eprintln!("bench: layout {} of {}", layout + 1, layouts.len());
        all.extend(one_layout(plan, &folder, layout, programs, &chosen, &kernels)?);
    }
    let raw = folder.join("library.json");
    let named: Vec<_> = kernels.iter().map(|kernel| (kernel.name, kernel.threads)).collect();
    let document = serde_json::json!({ "kernels": named, "measured": all });
    std::fs::write(&raw, serde_json::to_vec_pretty(&document)?)
        .with_context(|| format!("cannot write {}", raw.display()))?;
    let counts = format!(
        "{} layouts with {} rounds each; medians, with the least and the greatest layout.\n",
        layouts.len(),
        plan.rounds
    );
    Ok(format!(
        "{counts}\n{}\nAll times, one by one: {}\n",
        table::tables(&kernels, &chosen, &all),
        raw.display()
    ))
}

/// The folders with programs, one for each layout.
fn layouts(folder: &Path) -> Result<Vec<PathBuf>> {
    let found = (0..).map(|number| folder.join(format!("layout-{number}"))).take_while(|path| path.exists());
    let found: Vec<_> = found.collect();
    ensure!(
        !found.is_empty(),
        "there are no programs in {}: cargo xtask bench library builds them",
        folder.display()
    );
    Ok(found)
}

fn one_layout(
    plan: &Plan<'_>,
    folder: &Path,
    layout: usize,
    programs: &Path,
    chosen: &[&'static Candidate],
    kernels: &[Kernel],
) -> Result<Vec<Measured>> {
    let heapwise = plan.target.join("release/heapwise");
    let scratch = folder.join("scratch");
    std::fs::create_dir_all(&scratch).with_context(|| format!("cannot make {}", scratch.display()))?;
    let mut processes = chosen
        .iter()
        .map(|candidate| Process::start(candidate, programs, &heapwise, &scratch))
        .collect::<Result<Vec<_>>>()?;
    let mut nanoseconds = vec![vec![Vec::new(); kernels.len()]; chosen.len()];
    let mut calls = vec![vec![0; kernels.len()]; chosen.len()];
    let turns = Rounds::new(kernels.len() * chosen.len(), plan.rounds as u32, 7 + layout as u64);
    for turn in turns.in_groups_of(chosen.len()) {
        let (number, at) = (turn.who / chosen.len(), turn.who % chosen.len());
        let (kernel, process) = (&kernels[number], &mut processes[at]);
        if turn.counts() {
            let chunks = if kernel.threads == 1 { 3 } else { 1 };
            let each = process.ask(kernel.name, kernel.threads, chunks, calls[at][number])?;
            nanoseconds[at][number].push(each);
        } else {
            // How many calls make a chunk is measured first; with it, pages are touched and lazy things are done.
            let whole = if kernel.threads == 1 { CHUNK_NS } else { TOGETHER_NS };
            let each = process.ask(kernel.name, kernel.threads, 1, 200)?;
            calls[at][number] = ((whole / each.max(0.1)) as u64).clamp(12, 4_000_000);
        }
    }
    for process in processes {
        process.end()?;
    }
    let _ = std::fs::remove_dir_all(&scratch);
    let measured = chosen.iter().zip(nanoseconds);
    Ok(measured
        .map(|(candidate, nanoseconds)| Measured { candidate: candidate.name, layout, nanoseconds })
        .collect())
}

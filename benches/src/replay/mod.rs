//! `bench replay`: how well `heapwise replay` predicts what real programs do under each allocator.
//!
//! Each program runs under each allocator, in turns, and is recorded once. The recording is replayed, and the replay's results
//! are compared with what was measured (`fidelity.rs`). With `--after-load`, the programs are services, and the comparison is of
//! the memory that they keep some seconds after their load (`after_load.rs`).

mod after_load;
mod allocators;
mod fidelity;
mod inputs;
mod predictions;
pub(crate) mod real;
mod tables;
pub(crate) mod workloads;

use crate::launcher::{self, Measured};
use allocators::Allocator;
use anyhow::{Context, Result, bail};
use fidelity::{CpuRow, Row};
use heapwise_trial::rounds::Rounds;
use heapwise_trial::statistics::Spread;
use predictions::{Mode, Prediction};
use real::{Bench, End};
use serde::Serialize;
use std::path::Path;
use workloads::{Output, Place, Prepared, Workload};

#[derive(Debug)]
pub(crate) struct Plan<'a> {
    /// Counted runs of each.
    pub(crate) rounds: usize,
    pub(crate) quick: bool,
    pub(crate) only: &'a [String],
    /// Nothing is recorded and replayed.
    pub(crate) real_only: bool,
    /// What services keep after their load, instead of peaks and processor time.
    pub(crate) after_load: bool,
    pub(crate) target: &'a Path,
    pub(crate) folder: &'a Path,
}

/// All of one program.
#[derive(Debug, Serialize)]
struct Results {
    workload: &'static str,
    /// How far predictions of its memory may be off on average.
    aim: f64,
    real: Vec<Real>,
    /// Allocators under which it did not run, and why it could not be replayed.
    failures: Vec<String>,
    memory: Option<fidelity::Memory>,
    cpu: Option<fidelity::Cpu>,
}

/// All counted runs under an allocator.
#[derive(Debug, Serialize)]
struct Real {
    allocator: &'static str,
    runs: Vec<Measured>,
}

/// Measures, and returns tables to be shown.
pub(crate) fn measure(plan: &Plan<'_>, heapwise: &Path) -> Result<String> {
    let folder = plan.folder.join("replay");
    let inputs = folder.join("inputs");
    std::fs::create_dir_all(&inputs).with_context(|| format!("cannot make {}", inputs.display()))?;
    let launcher = launcher::build(plan.folder)?;
    let scratch = folder.join("scratch");
    let bench = Bench { launcher: &launcher, scratch: &scratch };
    let place = Place { target: plan.target, inputs: &inputs, quick: plan.quick };
    let allocators = allocators::present(plan.target)?;
    if plan.after_load {
        return after_load::measure(plan, heapwise, &bench, &place, &allocators, &folder);
    }
    let chosen = workloads::chosen(plan.only)?;
    let (mut all, mut figures) = (Vec::new(), String::new());
    for workload in chosen {
        let prepared = workload.prepare(&place)?;
        let mut results = measure_real(&bench, plan.rounds, &workload, &prepared, &allocators)?;
        if !plan.real_only {
            match predict(&bench, &workload, &prepared, heapwise, &folder, &allocators, plan.rounds) {
                Ok(predictions) => figures.push_str(&compare(&mut results, &predictions)),
                Err(error) => results.failures.push(format!("no predictions: {error:#}")),
            }
        }
        all.push(results);
    }
    let _ = std::fs::remove_dir_all(&scratch);
    let raw = folder.join("replay.json");
    std::fs::write(&raw, serde_json::to_vec_pretty(&all)?)
        .with_context(|| format!("cannot write {}", raw.display()))?;
    let mut text = tables::real(&all);
    if !plan.real_only {
        text = format!("{text}\n{}{figures}", tables::fidelity(&all));
    }
    Ok(format!("{text}\nAll runs, one by one: {}\n", raw.display()))
}

/// Runs a program under all allocators, round by round. One under which it fails is left out from then on.
fn measure_real(
    bench: &Bench<'_>,
    rounds: usize,
    workload: &Workload,
    prepared: &Prepared,
    allocators: &[Allocator],
) -> Result<Results> {
    let mut real: Vec<_> =
        allocators.iter().map(|allocator| Real { allocator: allocator.name, runs: Vec::new() }).collect();
    let mut failures = Vec::new();
    let mut expected: Option<Vec<u8>> = None;
    let mut turns = Rounds::new(allocators.len(), rounds as u32, workload.name.len() as u64);
    while let Some(turn) = turns.next() {
        let (at, allocator) = (turn.who, &allocators[turn.who]);
        match real::run(bench, prepared, allocator) {
            Ok((measured, output)) => {
                let same = *expected.get_or_insert_with(|| output.clone()) == output;
                if !same && prepared.output != Output::Differs {
                    failures.push((at, "it printed something else than before".to_owned()));
                    turns.leave_out(at);
                    continue;
                }
                eprintln!(
                    "bench:   {} round {}: {} {:.2} s, {:.1} MiB",
                    workload.name,
                    turn.round,
                    allocator.name,
                    measured.cpu_us as f64 / 1e6,
                    measured.peak_rss_kib as f64 / 1024.0
                );
                if turn.counts() {
                    real[at].runs.push(measured);
                }
            }
            Err(error) if allocator.name == fidelity::BASELINE => return Err(error),
            Err(error) => {
                failures.push((at, format!("{error:#}")));
                turns.leave_out(at);
            }
        }
    }
    for (at, _) in &failures {
        real[*at].runs.clear();
    }
    real.retain(|real| !real.runs.is_empty());
    let failures = failures.into_iter().map(|(at, why)| format!("{}: {why}", allocators[at].name)).collect();
    Ok(Results { workload: workload.name, aim: workload.mean_error, real, failures, memory: None, cpu: None })
}

/// Records the program and replays the recording.
fn predict(
    bench: &Bench<'_>,
    workload: &Workload,
    prepared: &Prepared,
    heapwise: &Path,
    folder: &Path,
    allocators: &[Allocator],
    rounds: usize,
) -> Result<Vec<Prediction>> {
    let recording = folder.join(format!("{}.hw", workload.name));
    eprintln!("bench:   {} is recorded and replayed", workload.name);
    real::record(bench, prepared, heapwise, &recording, End::AsUsual)?;
    let names: Vec<_> = allocators.iter().map(|allocator| allocator.name).collect();
    let predictions = predictions::replay(heapwise, &recording, &names, Mode::Fast { rounds })?;
    if predictions.is_empty() {
        bail!("`heapwise replay` has no candidates");
    }
    Ok(predictions)
}

/// Compares predictions with measurements, and returns the figures as text.
fn compare(results: &mut Results, predictions: &[Prediction]) -> String {
    let (mut memory, mut cpu) = (Vec::new(), Vec::new());
    for Real { allocator, runs } in &results.real {
        let Some(prediction) = predictions.iter().find(|prediction| prediction.allocator == *allocator)
        else {
            results.failures.push(format!("{allocator}: not predicted"));
            continue;
        };
        let peaks = runs.iter().map(|run| run.peak_rss_kib as f64 * 1024.0);
        match (Spread::of(peaks), prediction.peak_rss_bytes) {
            (Some(real), Some(bytes)) => memory.push(Row {
                allocator: (*allocator).to_owned(),
                real: real.median,
                predicted: bytes as f64,
            }),
            _ => results
                .failures
                .push(format!("{allocator}: no peak predicted, outcome {}", prediction.outcome)),
        }
        if let Some(range) = prediction.cpu_ns {
            cpu.push(CpuRow {
                allocator: (*allocator).to_owned(),
                real: runs.iter().map(|run| run.cpu_us as f64 / 1e6).collect(),
                predicted: (range.low / 1e9, range.high / 1e9),
            });
        }
    }
    results.memory = fidelity::memory(&memory);
    results.cpu = fidelity::cpu(&cpu);
    tables::predictions(results.workload, &memory, &cpu)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn predictions_meet_the_runs_of_their_allocator() {
        let run = |kib, cpu_us| Measured {
            start_ns: 0,
            end_ns: 1,
            cpu_us,
            peak_rss_kib: kib,
            tree_cpu_us: 0,
            code: 0,
        };
        let mut results = Results {
            workload: "redis",
            aim: 0.05,
            real: vec![
                Real { allocator: "glibc", runs: vec![run(1024, 2_000_000); 3] },
                Real { allocator: "jemalloc", runs: vec![run(2048, 1_000_000); 3] },
                Real { allocator: "snmalloc", runs: vec![run(2048, 1_000_000); 3] },
            ],
            failures: Vec::new(),
            memory: None,
            cpu: None,
        };
        let predictions: Vec<Prediction> = serde_json::from_value(serde_json::json!([
            {"allocator": "jemalloc", "peak_rss_bytes": 1 << 20, "heap_cpu_ns": {"median": 1e8, "low": 1e8, "high": 2e8}},
            {"allocator": "glibc", "peak_rss_bytes": 1 << 19, "heap_cpu_ns": {"median": 5e8, "low": 4e8, "high": 6e8}},
            {"allocator": "snmalloc", "outcome": "died"}
        ]))
        .unwrap();
        let text = compare(&mut results, &predictions);
        let memory = results.memory.unwrap();
        // Half a MiB less than measured for glibc, and a MiB less of two for jemalloc.
        assert!((memory.mean_error - 0.25).abs() < 1e-9, "{memory:?}");
        assert_eq!((memory.order.right, memory.order.total), (1, 1));
        assert_eq!(results.cpu.unwrap().right, 1);
        assert_eq!(results.failures, [r#"snmalloc: no peak predicted, outcome "died""#]);
        assert!(text.contains("jemalloc") && text.contains("0.100..0.200"), "{text}");
    }
}

//! What services keep after their load: twelve seconds later, under allocators with settings that are about this.
//!
//! It depends on time, so the recording is replayed with its gaps, and the replay waits as long at its end.

use super::Plan;
use super::allocators::Allocator;
use super::fidelity::{BASELINE, Row};
use super::predictions::{self, Mode, Prediction};
use super::real::{self, Bench, End};
use super::workloads::{self, Place, Prepared};
use anyhow::{Context, Result};
use heapwise_trial::rounds::Rounds;
use heapwise_trial::statistics::Spread;
use serde::Serialize;
use std::ffi::OsStr;
use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

/// Longer than any default after which an allocator returns memory to the system.
const SETTLE: Duration = Duration::from_secs(12);
/// A prediction is right if it is within this share, or within so many bytes.
const CLOSE: (f64, f64) = (0.05, 2e6);
/// So many candidates have to be right.
const ENOUGH: usize = 8;
const MIB: f64 = 1024.0 * 1024.0;

/// An allocator with settings, and the variable that sets them in a program.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    /// In the words of `heapwise replay --with`, settings in the order of their names.
    name: &'static str,
    environment: Option<(&'static str, &'static str)>,
}

const JEMALLOC: &str = "_RJEM_MALLOC_CONF";
const MIMALLOC: &str = "MIMALLOC_PURGE_DELAY";

const CANDIDATES: [Candidate; 12] = [
    Candidate { name: BASELINE, environment: None },
    Candidate {
        name: "glibc:arena_max=1",
        environment: Some(("GLIBC_TUNABLES", "glibc.malloc.arena_max=1")),
    },
    Candidate { name: "jemalloc", environment: None },
    Candidate { name: "jemalloc:dirty_decay_ms=0", environment: Some((JEMALLOC, "dirty_decay_ms:0")) },
    Candidate {
        name: "jemalloc:background_thread=true:dirty_decay_ms=1000",
        environment: Some((JEMALLOC, "background_thread:true,dirty_decay_ms:1000")),
    },
    Candidate {
        name: "jemalloc:background_thread=true:dirty_decay_ms=5000",
        environment: Some((JEMALLOC, "background_thread:true,dirty_decay_ms:5000")),
    },
    Candidate { name: "mimalloc", environment: None },
    Candidate { name: "mimalloc:purge_delay=0", environment: Some((MIMALLOC, "0")) },
    Candidate { name: "mimalloc2", environment: None },
    Candidate { name: "mimalloc2:purge_delay=0", environment: Some((MIMALLOC, "0")) },
    Candidate { name: "snmalloc", environment: None },
    Candidate { name: "tcmalloc", environment: None },
];

impl Candidate {
    fn allocator<'a>(&self, allocators: &'a [Allocator]) -> Option<&'a Allocator> {
        let name = self.name.split(':').next()?;
        allocators.iter().find(|allocator| allocator.name == name)
    }
}

#[derive(Debug, Serialize)]
struct Results {
    workload: &'static str,
    /// Bytes of all counted runs.
    real: Vec<(&'static str, Vec<u64>)>,
    rows: Vec<Row>,
    failures: Vec<String>,
}

/// Measures, and returns a table.
pub(super) fn measure(
    plan: &Plan<'_>,
    heapwise: &Path,
    bench: &Bench<'_>,
    place: &Place<'_>,
    allocators: &[Allocator],
    folder: &Path,
) -> Result<String> {
    let mut all = Vec::new();
    for workload in workloads::chosen_services(plan.only)? {
        let prepared = workload.prepare(place)?;
        let mut results = run(bench, plan.rounds, workload.name, &prepared, allocators);
        if !plan.real_only {
            let recording = folder.join(format!("{}-after-load.hw", workload.name));
            let names: Vec<_> = results.real.iter().map(|(name, _)| *name).collect();
            let predicted =
                real::record(bench, &prepared, heapwise, &recording, End::AfterTheLoad).and_then(|()| {
                    predictions::replay(heapwise, &recording, &names, Mode::Timed { settle: SETTLE })
                });
            match predicted {
                Ok(predictions) => results.rows = rows(&results.real, &predictions),
                Err(error) => results.failures.push(format!("no predictions: {error:#}")),
            }
        }
        all.push(results);
    }
    let raw = folder.join("after-load.json");
    std::fs::write(&raw, serde_json::to_vec_pretty(&all)?)
        .with_context(|| format!("cannot write {}", raw.display()))?;
    Ok(format!("{}\nAll runs, one by one: {}\n", table(&all), raw.display()))
}

/// All candidates, in turns. What is resident in the end hardly depends on caches, so each run counts.
fn run(
    bench: &Bench<'_>,
    rounds: usize,
    workload: &'static str,
    prepared: &Prepared,
    allocators: &[Allocator],
) -> Results {
    let mut real: Vec<_> = CANDIDATES.iter().map(|candidate| (candidate.name, Vec::new())).collect();
    let mut failures = Vec::new();
    for turn in Rounds::new(CANDIDATES.len(), rounds as u32, 7).without_warm_up() {
        let candidate = &CANDIDATES[turn.who];
        let Some(allocator) = candidate.allocator(allocators) else { continue };
        let mut environment = vec![("LD_PRELOAD", allocator.library.as_os_str())];
        environment.extend(candidate.environment.map(|(name, value)| (name, OsStr::new(value))));
        match real::resident_after_load(bench, prepared, &environment, SETTLE) {
            Ok(bytes) => {
                eprintln!("bench:   {workload}: {} {:.1} MiB", candidate.name, bytes as f64 / MIB);
                real[turn.who].1.push(bytes);
            }
            Err(error) => failures.push(format!("{}: {error:#}", candidate.name)),
        }
    }
    real.retain(|(_, runs)| !runs.is_empty());
    Results { workload, real, rows: Vec::new(), failures }
}

/// Pairs predictions with measurements, both without what the program has apart from its heap.
fn rows(real: &[(&'static str, Vec<u64>)], predictions: &[Prediction]) -> Vec<Row> {
    let row = |(name, runs): &(&'static str, Vec<u64>)| {
        let prediction = predictions.iter().find(|prediction| prediction.candidate() == *name)?;
        let real = Spread::of(runs.iter().map(|bytes| *bytes as f64))?.median;
        let predicted = prediction.rss_after_bytes? as f64;
        Some(Row { allocator: (*name).to_owned(), real, predicted })
    };
    let mut rows: Vec<_> = real.iter().filter_map(row).collect();
    let baseline = rows.iter().find(|row| row.allocator == BASELINE);
    let offset = baseline.map_or(0.0, |row| row.real - row.predicted);
    rows.iter_mut().for_each(|row| row.predicted += offset);
    rows
}

fn is_close(row: &Row) -> bool {
    let error = (row.predicted - row.real).abs();
    error <= CLOSE.0 * row.real || error <= CLOSE.1
}

fn table(all: &[Results]) -> String {
    let mut text = format!(
        "Resident {} s after the load: medians, with the least and the greatest.\n\n\
         | service | candidate | resident, MiB | predicted, MiB | |\n|---|---|---:|---:|---|\n",
        SETTLE.as_secs()
    );
    let mut verdicts = String::new();
    for Results { workload, real, rows, failures } in all {
        for (name, runs) in real {
            let spread = Spread::of(runs.iter().map(|bytes| *bytes as f64 / MIB));
            let shown = spread.map_or_else(|| "–".to_owned(), |spread| format!("{spread:.1}"));
            let row = rows.iter().find(|row| row.allocator == *name);
            let predicted = row.map_or_else(|| "–".to_owned(), |row| format!("{:.1}", row.predicted / MIB));
            let verdict = match row {
                None => "",
                Some(row) if row.allocator == BASELINE => "aligned",
                Some(row) if is_close(row) => "close",
                Some(_) => "**MISSED**",
            };
            let _ = writeln!(text, "| {workload} | {name} | {shown} | {predicted} | {verdict} |");
        }
        if !rows.is_empty() {
            // The baseline is right by construction.
            let others: Vec<_> = rows.iter().filter(|row| row.allocator != BASELINE).collect();
            let close = others.iter().filter(|row| is_close(row)).count();
            let met = if close >= ENOUGH { "met" } else { "**MISSED**" };
            let _ = writeln!(verdicts, "{workload}: {close} of {} are close; {met}", others.len());
        }
        for failure in failures {
            let _ = writeln!(verdicts, "{workload}: {}", super::tables::one_line(failure));
        }
    }
    format!("{text}\n{verdicts}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_in_the_order_of_their_names() {
        for candidate in CANDIDATES {
            let settings: Vec<_> = candidate.name.split(':').skip(1).collect();
            assert!(settings.is_sorted(), "{}", candidate.name);
            assert_eq!(settings.is_empty(), candidate.environment.is_none(), "{}", candidate.name);
        }
    }

    #[test]
    fn a_prediction_may_be_off_by_a_share_or_by_little() {
        let mib = |n: u64| n << 20;
        let real = vec![
            (BASELINE, vec![mib(100), mib(102), mib(98)]),
            ("jemalloc", vec![mib(10)]),
            ("mimalloc", vec![mib(200)]),
            ("snmalloc", vec![mib(50)]),
            ("tcmalloc", vec![mib(50)]),
        ];
        let prediction = |name: &str, bytes| {
            let text = serde_json::json!({"allocator": name, "rss_after_bytes": bytes});
            serde_json::from_value::<Prediction>(text).unwrap()
        };
        // Ten MiB of the program are no heap.
        let predictions = [
            prediction(BASELINE, mib(90)),
            prediction("jemalloc", mib(1)),
            prediction("mimalloc", mib(195)),
            prediction("snmalloc", mib(45)),
        ];
        let rows = rows(&real, &predictions);
        let close: Vec<_> = rows.iter().map(is_close).collect();
        assert_eq!(close, [true, true, true, false]);
        let results = Results { workload: "redis", real, rows, failures: vec!["x: no\nmore".into()] };
        let text = table(&[results]);
        assert!(text.contains("| redis | snmalloc | 50.0 (50.0..50.0) | 55.0 | **MISSED** |"), "{text}");
        assert!(text.contains("| redis | tcmalloc | 50.0 (50.0..50.0) | – |  |"), "{text}");
        assert!(text.ends_with("redis: 2 of 3 are close; **MISSED**\nredis: x: no more\n"), "{text}");
    }
}

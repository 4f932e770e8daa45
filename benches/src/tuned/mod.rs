//! `bench tune`: whether what `heapwise tune` promises is what its fix does.
//!
//! For each of three services: `heapwise tune` looks for a setting and tries it on the program. What it prints for Cargo.toml and
//! for the main file is put into a fresh project with the service's source (`project.rs`). That is built, and compared with a
//! build of the same project without the lines, both without any preload and without variables.

mod project;
mod promise;
mod services;
mod table;

use crate::launcher;
use crate::replay::real::{self, Bench};
use crate::replay::workloads::Place;
use anyhow::{Context, Result, bail, ensure};
use heapwise_trial::rounds::Rounds;
use heapwise_trial::statistics::Spread;
use promise::Promise;
use serde::Serialize;
use services::{Goal, Service};
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

/// Longer than any default after which an allocator returns memory to the system.
const SETTLE: Duration = Duration::from_secs(12);

#[derive(Debug)]
pub(crate) struct Plan<'a> {
    /// Counted runs of each build.
    pub(crate) rounds: usize,
    pub(crate) quick: bool,
    pub(crate) only: &'a [String],
    pub(crate) target: &'a Path,
    pub(crate) folder: &'a Path,
}

/// All of one service.
#[derive(Debug, Serialize)]
struct Results {
    service: &'static str,
    goal: Goal,
    promise: Promise,
    /// What each run needed, in bytes or nanoseconds: without the fix, and with it. Empty if there was nothing to be built.
    without: Vec<f64>,
    with: Vec<f64>,
    failure: Option<String>,
}

impl Results {
    /// What the fix did, as a factor.
    fn delivered(&self) -> Option<f64> {
        let median = |runs: &[f64]| Some(Spread::of(runs.to_vec())?.median);
        Some(median(&self.with)? / median(&self.without)?)
    }
}

/// Measures, and returns a table to be shown.
pub(crate) fn measure(plan: &Plan<'_>) -> Result<String> {
    alone()?;
    let folder = plan.folder.join("tuned");
    let inputs = folder.join("inputs");
    std::fs::create_dir_all(&inputs).with_context(|| format!("cannot make {}", inputs.display()))?;
    let launcher = launcher::build(plan.folder)?;
    let scratch = folder.join("scratch");
    let bench = Bench { launcher: &launcher, scratch: &scratch };
    let place = Place { target: plan.target, inputs: &inputs, quick: plan.quick };
    let mut all = Vec::new();
    for service in services::chosen(plan.only)? {
        all.push(one(plan, &bench, &place, &folder, &service)?);
    }
    let _ = std::fs::remove_dir_all(&scratch);
    let raw = folder.join("tuned.json");
    std::fs::write(&raw, serde_json::to_vec_pretty(&all)?)
        .with_context(|| format!("cannot write {}", raw.display()))?;
    Ok(format!("{}\nAll runs, one by one: {}\n", table::table(&all), raw.display()))
}

/// Nothing in the environment may do what the fix has to do.
fn alone() -> Result<()> {
    let is_heap = |name: &str| {
        ["LD_PRELOAD", "GLIBC_TUNABLES"].contains(&name)
            || ["MALLOC_", "MIMALLOC_", "_RJEM_", "TCMALLOC_"].iter().any(|p| name.starts_with(p))
    };
    let found =
        std::env::vars_os().filter_map(|(name, _)| name.into_string().ok()).find(|name| is_heap(name));
    match found {
        Some(name) => bail!("{name} is set, and would be set for what is measured: unset it"),
        None => Ok(()),
    }
}

fn one(
    plan: &Plan<'_>,
    bench: &Bench<'_>,
    place: &Place<'_>,
    folder: &Path,
    service: &Service,
) -> Result<Results> {
    let mut prepared = service.workload()?.prepare(place)?;
    eprintln!("bench:   {}: tune searches", service.name);
    let answer = folder.join(format!("{}.json", service.name));
    let promise = promise::ask(plan, service, &prepared, &answer)?;
    eprintln!("bench:   {}: {}", service.name, promise.candidate);
    let mut results = Results {
        service: service.name,
        goal: service.goal,
        promise,
        without: Vec::new(),
        with: Vec::new(),
        failure: None,
    };
    let Some(fix) = results.promise.fix() else { return Ok(results) };
    let builds = project::build(service, &fix, folder);
    let builds = match builds {
        Ok(builds) => builds,
        Err(error) => {
            results.failure = Some(format!("{error:#}"));
            return Ok(results);
        }
    };
    let mut expected: Option<Vec<u8>> = None;
    for turn in Rounds::new(2, plan.rounds as u32, 11) {
        prepared.command[0] = OsString::from(&builds[turn.who]);
        let needed = match service.goal {
            Goal::RssAfter => real::resident_after_load(bench, &prepared, &[], SETTLE)? as f64,
            Goal::Cpu => {
                let (measured, output) = real::run_with(bench, &prepared, &[])?;
                let expected = expected.get_or_insert_with(|| output.clone());
                ensure!(*expected == output, "{} printed something else than before", service.name);
                measured.cpu_us as f64 * 1e3
            }
        };
        eprintln!(
            "bench:   {} round {}, {}: {}",
            service.name,
            turn.round,
            ["without the fix", "with it"][turn.who],
            service.goal.shown(needed)
        );
        if turn.counts() {
            if turn.who == 0 { &mut results.without } else { &mut results.with }.push(needed);
        }
    }
    Ok(results)
}

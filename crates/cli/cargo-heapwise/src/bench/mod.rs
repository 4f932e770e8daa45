//! `cargo heapwise bench`: runs benchmarks, reports what they allocate per iteration, and compares that with a baseline.
//!
//! A benchmark measures itself with the library `heapwise` and leaves a file (`file.rs`) below the target folder. Each run has
//! its own name, which benchmarks copy into their files, so that the files of this run are recognised. A baseline is a folder
//! with such files (`baseline.rs`).

mod baseline;
mod compare;
mod document;
mod file;
mod folder;
mod json;
mod measure;
mod numbers;
mod threshold;

pub(crate) use heapwise_report::escape::terminal::escape;
pub(crate) use heapwise_report::units::count;

use crate::args::{BenchArgs, BenchFormat, Cargo};
use crate::cargo::{self, Places};
use crate::{Failure, exit, output};
use anstream::ColorChoice;
use anyhow::{Context, anyhow};
use baseline::Name;
use compare::Comparison;
use folder::Found;
use heapwise_report::escape::file::{Existing, write as write_file};
use heapwise_report::escape::terminal;
use std::process::Stdio;
use std::time::{SystemTime, UNIX_EPOCH};
use threshold::Thresholds;

/// Passes the name of this run to benchmarks.
const RUN: &str = "HEAPWISE_RUN";
/// Passes the number of iterations to measure to benchmarks.
const ITERATIONS: &str = "HEAPWISE_BENCH_ITERATIONS";

/// Runs the benchmarks, and judges them if there is a baseline.
pub(crate) fn bench(args: &BenchArgs) -> Result<u8, Failure> {
    // Benchmarks take minutes, so errors are reported before.
    let parsed = parse(args).map_err(|error| Failure::new(exit::USAGE, anyhow!(error)))?;
    let (thresholds, old_name, new_name) = parsed;
    let places = Places::of(&args.build)?;
    let old = old_name.as_ref().map(|name| baseline::load(&places.baselines(), name)).transpose()?;
    if let Some(path) = &args.output {
        output::check(path, args.force)?;
    }
    let run = run_name();
    let code = run_benchmarks(args, &places, &run)?;
    if code != exit::SUCCESS {
        return Ok(code);
    }
    let new = measured(&places, &run)?;
    let comparison = Comparison::new(old_name.as_ref().map(Name::text), old.as_deref(), &new, thresholds);
    write(args, &comparison)?;
    if let Some(name) = &new_name {
        baseline::save(&places.baselines(), name, &new, !args.is_selective())?;
        let n = new.len();
        let plural = if n == 1 { "" } else { "s" };
        heapwise_report::say!("heapwise: baseline {} has {n} benchmark{plural} of this run", name.text());
    }
    let worse = comparison.worse();
    if worse == 0 {
        return Ok(exit::SUCCESS);
    }
    let of = comparison.baseline.unwrap_or_default();
    let needs = if worse == 1 { "benchmark needs" } else { "benchmarks need" };
    heapwise_report::say!("heapwise: exceeded: {worse} {needs} more than in baseline {of}");
    Ok(exit::REGRESSION)
}

/// What clap leaves to be read.
fn parse(args: &BenchArgs) -> Result<(Thresholds, Option<Name>, Option<Name>), String> {
    let name = |text: &Option<String>| text.as_deref().map(Name::parse).transpose();
    Ok((Thresholds::parse(&args.fail_on)?, name(&args.baseline)?, name(&args.save_baseline)?))
}

/// Why a command is refused before anything is done.
#[cfg(test)]
pub(crate) fn refusal(args: &BenchArgs) -> Option<String> {
    parse(args).err()
}

/// A name that no other run has.
fn run_name() -> String {
    let time = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos());
    format!("{time:x}-{:x}", std::process::id())
}

fn run_benchmarks(args: &BenchArgs, places: &Places, run: &str) -> Result<u8, Failure> {
    let mut words = Cargo::default();
    args.targets.all(&mut words);
    args.build.all(&mut words);
    words.option("--profile", args.build.profile.as_ref());
    let mut command = cargo::command();
    command.arg("bench").args(words.words()).args(&args.name);
    command.arg("--").args(&args.arguments);
    command.env(RUN, run);
    // A relative folder is relative to another one for benchmarks, which cargo starts in the folder of their package.
    command.env("CARGO_TARGET_DIR", &places.target_directory);
    if let Some(iterations) = args.iterations {
        command.env(ITERATIONS, iterations.to_string());
    }
    // Standard output is for machines then.
    if args.output.is_none() && args.format != BenchFormat::Text {
        command.stdout(Stdio::from(std::io::stderr()));
    }
    Ok(cargo::code(cargo::run(&mut command)?))
}

/// What the benchmarks of this run left.
fn measured(places: &Places, run: &str) -> Result<Vec<Found>, Failure> {
    let folder = places.benches();
    let (mut all, problems) = folder::read(&folder);
    for problem in problems {
        heapwise_report::say!("heapwise: warning: {problem}");
    }
    all.retain(|found| found.bench.run == run);
    if !all.is_empty() {
        return Ok(all);
    }
    let error = anyhow!(
        "no benchmark measured its heap: nothing of this run is in {}; add `#[global_allocator] static ALLOCATOR: \
         heapwise::Allocator = heapwise::Allocator::system();` to a benchmark, and `heapwise::bench::measure(\"name\", || …)` \
         beside what it times",
        folder.display()
    );
    Err(Failure::new(exit::UNEXPECTED, error))
}

fn write(args: &BenchArgs, comparison: &Comparison<'_>) -> Result<(), Failure> {
    let choice = anstream::AutoStream::choice(&std::io::stdout());
    let color = args.output.is_none() && choice != ColorChoice::Never;
    let text = match args.format {
        BenchFormat::Text => document::text(comparison, color),
        BenchFormat::Json => json::render(comparison),
        BenchFormat::Markdown => document::markdown(comparison),
    };
    match &args.output {
        Some(path) => {
            write_file(path, &text, Existing::of(args.force))
                .with_context(|| format!("cannot write {}", path.display()))?;
        }
        None => terminal::print(&text, color).context("cannot print the result")?,
    }
    Ok(())
}

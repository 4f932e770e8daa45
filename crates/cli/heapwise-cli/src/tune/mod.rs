//! `heapwise tune`: searches for the best allocator and settings, on replays of a recording and then on the program itself.

mod confirm;
mod interruptible;
mod recording;
mod usage;

use crate::args::{Format, TuneArgs};
use crate::progress::Progress;
use crate::replay::RecordedBy;
use crate::{Failure, exit, result};
use anyhow::{Context, anyhow};
use heapwise_allocators::{Candidate, tunings};
use heapwise_analysis::Analysis;
use heapwise_environment::MachineDescription;
use heapwise_report::tune::{Tuned, html, json, markdown, text};
use heapwise_trial::replay::Script;
use heapwise_trial::tune::{Choice, Found, Goal, Options, search};
use recording::Recording;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// Determines the order of rounds: any number.
const SEED: u64 = 0x7e57;

/// Searches.
pub(crate) fn tune(args: &TuneArgs) -> Result<u8, Failure> {
    let goal = args.goal.as_deref().map(str::parse).transpose();
    let goal: Option<Goal> = goal.map_err(|error| Failure::new(exit::USAGE, anyhow!("--goal: {error}")))?;
    let inputs = args.recording.as_deref();
    result::check_page(args.form, &args.destination, inputs.as_slice(), Path::new("tune.html"))?;
    let asked = asked(args)?;
    let program = usage::program(args)?;
    let interrupted = crate::interrupt::flag()?;
    if let Some(program) = program.as_ref().and_then(|program| program.command.first()) {
        crate::nested::announce(program, "measured");
    }
    let own = std::env::current_exe().context("cannot find out where heapwise itself is")?;
    let recording = match (&args.recording, &program) {
        (Some(recording), _) => Recording::open(recording)?,
        (None, Some(program)) => Recording::make(program, &own, &interrupted)?,
        (None, None) => return Err(usage::nothing()),
    };
    let (analysis, process, script) = recording.script(program.as_ref(), args.pid, &interrupted)?;
    let memory = crate::replay::memory_for(&script, args.memory)?;
    let candidates =
        candidates(&asked, analysis.called_main(&analysis.processes[process]), recording.made_by())?;
    let goal = goal.unwrap_or_else(|| Goal::of_program(goes_on(args, &analysis, process)));
    let found = look_for((&script, memory), (&analysis, process), goal, candidates, args, own, &interrupted);
    if let Some(trouble) = &found.baseline().trouble {
        let now = &found.baseline().candidate;
        let error = anyhow!(
            "the baseline {now} cannot be replayed: {trouble}; name another one with --baseline, \
             such as --baseline glibc"
        );
        return Err(Failure::new(exit::UNUSABLE, error));
    }
    let (comparison, untried) = match confirm::confirm(program.as_ref(), &found, &asked, args, &interrupted) {
        Ok(comparison) => (Some(comparison), None),
        Err(untried) => (None, Some(untried)),
    };
    let choice = match &comparison {
        Some(comparison) => Choice::confirmed(&found, comparison),
        None => Choice::by_replay(&found),
    };
    // Replays have what is recorded alone.
    let is_much_unrecorded = heapwise_diagnosis::unseen(&analysis).is_some_and(|unseen| unseen.is_much);
    let choice = if is_much_unrecorded { choice.without_replays() } else { choice };
    let machine = MachineDescription::look();
    let tried_program = program.as_ref().filter(|_| comparison.is_some());
    let other_program = tried_program.and_then(|program| usage::other_program(&analysis, program));
    let notes: Vec<String> = recording.caveat().into_iter().chain(other_program).collect();
    let tuned = Tuned {
        found: &found,
        comparison: comparison.as_ref(),
        untried: untried.as_ref(),
        notes: &notes,
        choice: &choice,
        analysis: &analysis,
        process,
        machine: &machine,
    };
    result::write_page(args.form, &args.destination, |style| match args.form.format {
        Format::Text => text(&tuned, style),
        Format::Json => json(&tuned),
        Format::Markdown => markdown(&tuned),
        Format::Html => html(&tuned),
    })?;
    if interrupted.load(Ordering::Relaxed) {
        return Ok(exit::INTERRUPTED);
    }
    Ok(untried.as_ref().map_or(exit::SUCCESS, confirm::code))
}

/// Whether the program is a service, or waits for long with memory that it no longer uses, as far as can be seen.
fn goes_on(args: &TuneArgs, analysis: &Analysis, process: usize) -> bool {
    let is_driven = args.drive.ready.is_some() || args.drive.load.is_some() || args.drive.settle.is_some();
    is_driven
        || analysis.processes[process].still_running
        || heapwise_diagnosis::holds_unused_memory(analysis)
}

/// What the command line says about candidates.
#[derive(Debug)]
struct Asked {
    now: Option<Candidate>,
    with: Option<Vec<Candidate>>,
}

fn asked(args: &TuneArgs) -> Result<Asked, Failure> {
    let usage = |error: heapwise_allocators::SpecError| Failure::new(exit::USAGE, error);
    let now = args.baseline.as_deref().map(Candidate::parse).transpose().map_err(usage)?;
    let with = args.with.as_deref().map(Candidate::parse_list).transpose().map_err(usage)?;
    Ok(Asked { now, with })
}

/// The current allocator, and everything that is worth a try; each once, and only what is available. `allocator` is the file that
/// had the recorded program's `malloc`.
fn candidates(asked: &Asked, allocator: &str, by: RecordedBy) -> Result<Vec<Candidate>, Failure> {
    let libraries = crate::bundled::libraries();
    let now = match &asked.now {
        Some(now) => now.clone(),
        None => crate::replay::recorded(allocator, by)?,
    };
    let others = match &asked.with {
        Some(list) => list.clone(),
        None => {
            let is_there = |c: &Candidate| c.allocator().is_some_and(|a| libraries.has(a));
            tunings().into_iter().filter(is_there).collect()
        }
    };
    let mut seen = HashSet::new();
    let all = std::iter::once(now).chain(others.into_iter().filter(|c| !c.is_as_it_is()));
    Ok(all.filter(|candidate| seen.insert(candidate.clone())).collect())
}

fn look_for(
    (script, memory): (&Script, Option<u64>),
    (analysis, process): (&Analysis, usize),
    goal: Goal,
    candidates: Vec<Candidate>,
    args: &TuneArgs,
    own: PathBuf,
    interrupted: &AtomicBool,
) -> Found {
    let settle = args.drive.settle.unwrap_or_default();
    let options = Options {
        goal,
        candidates,
        settle,
        other_ns: analysis.time_outside_allocator(process).map(|outside| outside.time.0 as f64),
        patience: std::time::Duration::from_secs(30),
        longest: args.longest,
        seed: SEED,
        memory,
    };
    let progress = Progress::new();
    let began = Instant::now();
    search(script, &own, crate::bundled::libraries(), &options, interrupted, &|step| {
        let left =
            (step.done > 3).then(|| began.elapsed() / step.done as u32 * (step.total - step.done) as u32);
        let left = left.map_or_else(String::new, |left| {
            format!(", about {} left in it", crate::progress::rounded(left))
        });
        progress.at_step(&format!("{}{left}", step.what), step.done, step.total);
    })
}

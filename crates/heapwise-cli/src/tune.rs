//! `heapwise tune`: searches for what suits a program, on replays of a recording and then on the program itself.

use crate::args::{Format, TuneArgs};
use crate::compare::contenders::contender;
use crate::progress::Progress;
use crate::{Failure, compare, exit, replay, report};
use anyhow::{Context, anyhow};
use heapwise_allocators::{Candidate, tunings};
use heapwise_analysis::Analysis;
use heapwise_compare::{Comparison, Contender, Program, measure};
use heapwise_environment::MachineDescription;
use heapwise_replay::Script;
use heapwise_report::escape::escape;
use heapwise_report::tune::{Tuned, html, json, markdown, text};
use heapwise_tune::{Choice, Found, Goal, Options, search};
use std::collections::HashSet;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// Decides on the order of rounds: any number.
const SEED: u64 = 0x7e57;

/// Searches.
pub(crate) fn tune(args: &TuneArgs) -> Result<u8, Failure> {
    let usage = |error: anyhow::Error| Failure::new(exit::USAGE, error);
    let goal: Goal = args.goal.parse().map_err(|error| usage(anyhow!("--goal: {error}")))?;
    if args.format == Format::Html && args.output.is_none() && std::io::stdout().is_terminal() {
        return Err(usage(anyhow!(
            "HTML is for a browser, not for a terminal; write it to a file with -o tune.html"
        )));
    }
    let asked = asked(args)?;
    let program = match args.command.first() {
        Some(first) => {
            compare::refusal::check(first)?;
            Some(compare::program(&args.command, &args.drive)?)
        }
        None => None,
    };
    let interrupted = crate::interrupt::flag()?;
    let own = std::env::current_exe().context("cannot find out where heapwise itself is")?;
    // Recordings hold names of the program; a folder of its own is for its owner only.
    let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
    let recording = match (&args.recording, &program) {
        (Some(recording), _) => recording.clone(),
        (None, Some(program)) => record(program, &own, folder.path(), &interrupted)?,
        (None, None) => return Err(usage(anyhow!("name a recording, or a program behind --"))),
    };
    let analysis = report::load(&recording)?;
    let process = replay::process_of(&analysis, args.pid)?;
    let script = replay::script_of(&recording, &analysis, process)?;
    let candidates = candidates(&asked, &analysis.processes[process].allocator)?;
    let found = look_for(&script, &analysis, goal, candidates, args, own, &interrupted);
    if let Some(trouble) = &found.baseline().trouble {
        let now = &found.baseline().candidate;
        let error = anyhow!(
            "{now}, which everything would be compared with, cannot be replayed: {trouble}; name something else with --now, \
             such as --now glibc"
        );
        return Err(Failure::new(exit::UNUSABLE, error));
    }
    let shortlist: Vec<Candidate> =
        found.shortlist(args.confirm).iter().map(|ranked| ranked.candidate.clone()).collect();
    let comparison = match &program {
        Some(program) if !shortlist.is_empty() && !interrupted.load(Ordering::Relaxed) => {
            Some(confirm(program, asked.now.as_ref(), &shortlist, args, &interrupted)?)
        }
        _ => None,
    };
    let choice = match &comparison {
        Some(comparison) => Choice::confirmed(&found, comparison),
        None => Choice::by_replay(&found),
    };
    let machine = MachineDescription::look();
    let tuned = Tuned {
        found: &found,
        comparison: comparison.as_ref(),
        choice: &choice,
        analysis: &analysis,
        process,
        machine: &machine,
    };
    report::write(args.output.as_deref(), |style| match args.format {
        Format::Text => text(&tuned, style),
        Format::Json => json(&tuned),
        Format::Markdown => markdown(&tuned),
        Format::Html => html(&tuned),
    })?;
    Ok(if interrupted.load(Ordering::Relaxed) { exit::INTERRUPTED } else { exit::SUCCESS })
}

/// What the command line says about candidates.
#[derive(Debug)]
struct Asked {
    now: Option<Candidate>,
    with: Option<Vec<Candidate>>,
}

fn asked(args: &TuneArgs) -> Result<Asked, Failure> {
    let usage = |error: heapwise_allocators::SpecError| Failure::new(exit::USAGE, error);
    let now = args.now.as_deref().map(Candidate::parse).transpose().map_err(usage)?;
    let with = args.with.as_deref().map(Candidate::parse_list).transpose().map_err(usage)?;
    Ok(Asked { now, with })
}

/// What there is now, and everything that is worth a try; each once, and only what is there. `allocator` is the file that had the
/// recorded program's `malloc`.
fn candidates(asked: &Asked, allocator: &str) -> Result<Vec<Candidate>, Failure> {
    let libraries = crate::carried::libraries();
    let is_glibc =
        allocator.rsplit('/').next().is_none_or(|file| file.is_empty() || file.starts_with("libc.so"));
    let now = match &asked.now {
        Some(now) => now.clone(),
        None => {
            let name = if is_glibc { "glibc" } else { allocator };
            Candidate::parse(name).map_err(|error| Failure::new(exit::UNEXPECTED, error))?
        }
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

/// Records the program once, driven as it will be later.
fn record(
    program: &Program,
    own: &Path,
    folder: &Path,
    interrupted: &Arc<AtomicBool>,
) -> Result<PathBuf, Failure> {
    let recording = folder.join("tune.hw");
    let mut command =
        vec![own.into(), "run".into(), "--no-report".into(), "-o".into(), recording.clone().into()];
    command.push("--".into());
    command.extend(program.command.iter().cloned());
    let recorded = Program { command, ..program.clone() };
    let progress = Progress::new();
    progress.at_step("recording the program", 0, 1);
    let limits = measure::Limits { timeout: None, interrupted };
    let sample = measure::measure(&recorded, &Contender::default(), &limits);
    drop(progress);
    let sample = sample.map_err(compare::failure)?;
    if recording.exists() {
        return Ok(recording);
    }
    let how = sample.outcome.words();
    Err(Failure::new(
        exit::UNEXPECTED,
        anyhow!("the program could not be recorded ({how}); see what heapwise run says about it"),
    ))
}

fn look_for(
    script: &Script,
    analysis: &Analysis,
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
        other_ns: other_ns(analysis),
        patience: std::time::Duration::from_secs(30),
        longest: args.longest,
        seed: SEED,
    };
    let progress = Progress::new();
    let began = Instant::now();
    search(script, &own, crate::carried::libraries(), &options, interrupted, &|step| {
        let left =
            (step.done > 3).then(|| began.elapsed() / step.done as u32 * (step.total - step.done) as u32);
        let left = left.map_or_else(String::new, |left| {
            format!(", about {} left in it", crate::progress::rounded(left))
        });
        progress.at_step(&escape(&format!("{}{left}", step.what)), step.done as u64, step.total as u64);
    })
}

/// Processor time that the recorded program took outside of its allocator, as far as the recording says. What recording itself
/// took is in it, so a faster allocator rather counts for too little.
fn other_ns(analysis: &Analysis) -> Option<f64> {
    let all = analysis.end.as_ref()?.cpu_ns;
    let allocator = analysis.allocator_time()?.time.0;
    (all > 0).then(|| all.saturating_sub(allocator) as f64)
}

/// Tries the best few on the program itself.
fn confirm(
    program: &Program,
    now: Option<&Candidate>,
    shortlist: &[Candidate],
    args: &TuneArgs,
    interrupted: &Arc<AtomicBool>,
) -> Result<Comparison, Failure> {
    // The program as it is, unless somebody wants something else.
    let as_it_is = Candidate::default();
    let now = now.unwrap_or(&as_it_is);
    let baseline = contender(now).map_err(|reason| {
        let error = anyhow!(
            "{now}, which everything is compared with, could be replayed and is no longer there: {reason}"
        );
        Failure::new(exit::UNUSABLE, error)
    })?;
    let mut contenders = vec![baseline];
    let mut unavailable = Vec::new();
    for candidate in shortlist {
        match contender(candidate) {
            Ok(contender) => contenders.push(contender),
            Err(reason) => unavailable.push(heapwise_compare::Unavailable {
                label: candidate.to_string(),
                allocator: candidate.name().to_owned(),
                reason,
            }),
        }
    }
    let options = heapwise_compare::Options {
        runs: args.runs,
        timeout: args.drive.timeout,
        unavailable,
        refuse: Some(compare::refusal::of_file),
        interrupted: Arc::clone(interrupted),
        ..heapwise_compare::Options::default()
    };
    let mut teller = compare::Teller::new();
    let comparison = heapwise_compare::run(program, &contenders, &options, &mut |step| teller.tell(step));
    drop(teller);
    comparison.map_err(compare::failure)
}

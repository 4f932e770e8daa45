//! All runs of a comparison, in [`rounds`](crate::rounds).

use crate::compare::judge::{Reference, differences, findings, load_failure, winners};
use crate::compare::measure::{Limits, measure};
use crate::compare::{
    Candidate, Comparison, EndSource, Error, Finding, FindingKind, Options, Outcome, Program, Sample, Setup,
    Standing,
};
use crate::rounds::{Rounds, Step, Turn};
use heapwise_environment::MachineDescription;
use std::collections::BTreeMap;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Rounds by default: the least with which the exact test can find something.
const ROUNDS: u32 = 5;
/// Rounds of a program that takes long: the fewest that can show a difference.
const FEWEST: u32 = 3;
/// From this on it takes long.
const LONG: Duration = Duration::from_secs(600);
/// So many runs that do not end, or cannot be made, are enough.
const MOST_TIMEOUTS: usize = 2;

/// Runs the program under each candidate, the first of which is the baseline, and compares.
///
/// `progress` is called before each run.
///
/// # Errors
/// If the program cannot be started, does not work in the baseline, or if it was interrupted in the first round. Whatever goes
/// wrong with a candidate is a [`Finding`](crate::compare::Finding) instead, and what goes wrong with the baseline later ends the
/// comparison with the runs made so far.
pub fn run(
    program: &Program,
    candidates: &[Candidate],
    options: &Options,
    progress: &mut dyn FnMut(&Step),
) -> Result<Comparison, Error> {
    if candidates.len() < 2 {
        let reasons: Vec<&str> = options.unavailable.iter().map(|u| u.reason.as_str()).collect();
        return Err(Error::NoCandidate { reasons: reasons.join("; ") });
    }
    let machine = MachineDescription::look();
    let began_unix = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
    let began = Instant::now();
    let mut course = Course::new(program, candidates, options, progress);
    let is_interrupted = match course.run() {
        Ok(()) => false,
        // What is there so far is worth something, if there is anything.
        Err(Error::Interrupted) if course.rounds_done > 0 => true,
        Err(error) if course.rounds_done > 0 => {
            let note = format!(
                "ended after {} of the rounds, for the baseline could not be run any more: {}",
                course.rounds_done,
                error.of_a_run()
            );
            course.notes.push(note);
            true
        }
        Err(error) => return Err(error),
    };
    let setup = Setup {
        command: program.command.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
        stdin: program.stdin.as_ref().map(|path| path.to_string_lossy().into_owned()),
        is_server: program.service.is_some(),
        load: program.service.as_ref().and_then(|service| service.load.clone()),
        settle_ns: program.service.as_ref().and_then(|s| s.settle).map(|time| time.as_nanos() as u64),
        rounds: course.rounds_done,
        machine,
        began_unix,
        took_ns: began.elapsed().as_nanos() as u64,
    };
    Ok(course.finish(setup, is_interrupted))
}

struct Course<'a> {
    program: &'a Program,
    candidates: &'a [Candidate],
    options: &'a Options,
    progress: &'a mut dyn FnMut(&Step),
    samples: Vec<Vec<Sample>>,
    /// Why runs could not be made.
    failures: Vec<Vec<String>>,
    left_out: BTreeMap<usize, String>,
    notes: Vec<String>,
    timeout: Option<Duration>,
    rounds_done: u32,
}

impl<'a> Course<'a> {
    fn new(
        program: &'a Program,
        candidates: &'a [Candidate],
        options: &'a Options,
        progress: &'a mut dyn FnMut(&Step),
    ) -> Self {
        Self {
            program,
            candidates,
            options,
            progress,
            samples: vec![Vec::new(); candidates.len()],
            failures: vec![Vec::new(); candidates.len()],
            left_out: BTreeMap::new(),
            notes: Vec::new(),
            timeout: options.timeout,
            rounds_done: 0,
        }
    }

    fn run(&mut self) -> Result<(), Error> {
        let began = Instant::now();
        let candidates = self.candidates.len();
        let asked = self.options.runs.unwrap_or(ROUNDS);
        // The turn behind those of the candidates is the baseline's second one.
        let mut rounds = Rounds::new(candidates + 1, asked, self.options.seed).without_warm_up_of(candidates);
        while let Some(turn) = rounds.next() {
            let is_second = turn.who == candidates;
            let candidate = if is_second { 0 } else { turn.who };
            self.once(candidate, is_second, &turn)?;
            if turn.done == 0 {
                self.check_baseline()?;
                let enough = || began.elapsed() * 10 + Duration::from_secs(60);
                self.timeout = Some(self.timeout.unwrap_or_else(enough));
            }
            if self.left_out.contains_key(&candidate) {
                rounds.leave_out(candidate);
            }
            if rounds.is_round_over() {
                if !turn.counts() {
                    let round = began.elapsed() * (candidates as u32 + 1) / candidates as u32;
                    rounds.set_counted(self.rounds(round));
                }
                self.rounds_done = turn.round;
            }
        }
        Ok(())
    }

    /// Checks the first run of all: what the program does in the baseline.
    fn check_baseline(&self) -> Result<(), Error> {
        let Some(sample) = self.samples[0].first() else { return Err(Error::Interrupted) };
        if let Some(reason) =
            self.options.refuse.zip(sample.executable.as_deref()).and_then(|(refuse, path)| refuse(path))
        {
            return Err(Error::Refused { reason });
        }
        let failed = |what: String, hint: &str| Err(Error::Baseline { what, hint: hint.to_owned() });
        let is_server = self.program.service.is_some();
        match &sample.outcome {
            Outcome::TimedOut => failed(
                "did not end in time".into(),
                "; give it more with --timeout, or drive it as a server with --ready and --load",
            ),
            Outcome::NotReady => failed(
                "did not become ready in time".into(),
                "; look at --ready, and at what the program says when it is started alone",
            ),
            Outcome::Died { .. } => failed(
                format!("ended: {}", sample.outcome.words()),
                "; a program that ends by itself is compared without --ready, --load and --settle",
            ),
            Outcome::Killed(_) if !is_server => failed(format!("was {}", sample.outcome.words()), ""),
            _ => match sample.load.as_ref().and_then(load_failure) {
                Some(what) => failed(what, "; try the command of --load by itself"),
                None => Ok(()),
            },
        }
    }

    /// How many rounds there will be, after the first one has shown how long one takes.
    fn rounds(&mut self, round: Duration) -> u32 {
        if let Some(runs) = self.options.runs {
            return runs;
        }
        let fit = (LONG.as_secs_f64() / round.as_secs_f64().max(1e-9)) as u32;
        let rounds = fit.clamp(FEWEST, ROUNDS);
        if rounds < ROUNDS {
            let note = format!(
                "{rounds} rounds only, for one takes {:.0} s; more make small differences visible (--runs)",
                round.as_secs_f64()
            );
            self.notes.push(note);
        }
        rounds
    }

    fn once(&mut self, candidate: usize, is_second: bool, turn: &Turn) -> Result<(), Error> {
        let Turn { round, rounds, .. } = *turn;
        let label = &self.candidates[candidate].label;
        let place = if round == 0 { "first round".to_owned() } else { format!("round {round} of {rounds}") };
        // One round has to be over before the time that is left is worth a word.
        let turn = Turn { left: turn.left.filter(|_| turn.counts()), ..*turn };
        (self.progress)(&turn.step(format!("{label}, {place}")));
        let limits = Limits { timeout: self.timeout, interrupted: &self.options.interrupted };
        let measured = measure(self.program, &self.candidates[candidate], &limits);
        let samples = &mut self.samples[candidate];
        match measured {
            Ok(sample) => samples.push(Sample { round, is_second, ..sample }),
            // One run is no reason to throw away all others.
            Err(error) if candidate > 0 && !matches!(error, Error::Interrupted) => {
                let failures = &mut self.failures[candidate];
                failures.push(error.of_a_run());
                if failures.len() >= MOST_TIMEOUTS {
                    let reason = format!("left out after {} runs that could not be made", failures.len());
                    self.left_out.entry(candidate).or_insert(reason);
                }
                return Ok(());
            }
            Err(error) => return Err(error),
        }
        let slow = |s: &&Sample| matches!(s.outcome, Outcome::TimedOut | Outcome::NotReady);
        let timeouts = samples.iter().filter(slow).count();
        if candidate > 0 && timeouts >= MOST_TIMEOUTS {
            let reason = format!("left out after {timeouts} runs that were not over in time");
            self.left_out.entry(candidate).or_insert(reason);
        }
        Ok(())
    }

    fn finish(mut self, setup: Setup, is_interrupted: bool) -> Comparison {
        let samples = std::mem::take(&mut self.samples);
        let mut standings: Vec<Standing> = Vec::with_capacity(samples.len());
        for (at, (candidate, samples)) in self.candidates.iter().zip(samples).enumerate() {
            let baseline = standings.first().map_or(&samples[..], |first| &first.samples);
            let reference = Reference::of(baseline);
            let counts = |at: &usize| reference.as_ref().is_some_and(|r| r.counts(&samples[*at]));
            let counted = (0..samples.len()).filter(counts).collect();
            let mut findings = match &reference {
                Some(reference) if at > 0 => findings(reference, candidate, &samples),
                _ => Vec::new(),
            };
            findings.extend(not_run(&self.failures[at], samples.len()));
            let mut standing = Standing {
                candidate: candidate.clone(),
                samples,
                counted,
                findings,
                differences: BTreeMap::new(),
                left_out: self.left_out.remove(&at),
            };
            if let Some(baseline) = standings.first() {
                standing.differences = differences(baseline, &standing);
            }
            standings.push(standing);
        }
        let mut notes = self.notes;
        notes.extend(notes_of(&standings));
        // Files are read when no run is measured any more.
        let first = standings.first().and_then(|baseline| baseline.samples.first());
        notes.extend(self.options.out_of_reach.zip(first).and_then(|(of, sample)| of(&sample.libraries)));
        let mut comparison = Comparison {
            setup,
            standings,
            unavailable: self.options.unavailable.clone(),
            winners: Vec::new(),
            notes,
            is_interrupted,
        };
        comparison.winners = winners(&comparison.standings, &comparison.measures());
        comparison
    }
}

/// A finding for runs that could not be made; `made` counts those that were.
fn not_run(failures: &[String], made: usize) -> Option<Finding> {
    let what = format!("could not be run: {}", failures.first()?);
    let runs = failures.len() as u32;
    Some(Finding { kind: FindingKind::NotRun, what, runs, of: runs + made as u32 })
}

/// What makes the numbers less than they seem to be.
fn notes_of(standings: &[Standing]) -> Vec<String> {
    let mut notes = Vec::new();
    let Some(reference) = standings.first().and_then(|baseline| Reference::of(&baseline.samples)) else {
        return notes;
    };
    if reference.output_varies {
        notes.push(
            "the baseline writes different output in each run, so outputs were not compared".to_owned(),
        );
    }
    if reference.exit_varies {
        notes.push(
            "the baseline does not always end in the same way, so exit codes were not compared, and only runs that ended as its first one count"
                .to_owned(),
        );
    } else if let Some(code) = standings[0].samples.first().and_then(|s| s.outcome.code()).filter(|c| *c != 0)
    {
        notes.push(format!("the baseline ends with exit code {code}"));
    }
    let counted = || standings.iter().flat_map(Standing::counted);
    // A server is measured after its load; its memory at the end is not reported.
    if counted().any(|sample| sample.end_source == EndSource::LastSample && sample.load.is_none()) {
        notes.push(
            "memory at the end is that of the last measurement before it in some runs: they could not be stopped at their \
             exit (is ptrace forbidden here?)"
                .to_owned(),
        );
    }
    if counted().any(|sample| sample.load.is_some() && sample.cpu_ns.is_none()) {
        notes.push(
            "the CPU time of some runs is not known, for a process of the server ignores the ends of its children, and what \
             they needed is gone with them"
                .to_owned(),
        );
    }
    let preloaded = standings.iter().filter(|standing| standing.candidate.library.is_some());
    if preloaded.flat_map(Standing::counted).any(|sample| sample.in_use.is_none()) {
        notes.push("whether the allocators were in use could not be seen in some runs".to_owned());
    }
    if let Some(most) = counted().map(|sample| sample.processes).max().filter(|n| *n > 1) {
        notes.push(format!(
            "the program consists of up to {most} processes; peak RSS is the highest sum that was sampled, in which pages that \
             they share count for each"
        ));
    }
    notes
}

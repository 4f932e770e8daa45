//! All runs, in an order that favours nobody.
//!
//! A machine is faster in one minute than in the next one, and whoever runs first fills the caches for the others. So the
//! contenders take turns, in a new order each round, and what is compared is compared within a round. The first round warms up,
//! shows how long things take, and does not count.

use crate::compare::judge::{Reference, differences, findings, load_failure, winners};
use crate::compare::measure::{Limits, measure};
use crate::compare::{
    Comparison, Contender, EndSource, Error, Finding, FindingKind, Options, Outcome, Program, Sample, Setup,
    Standing, Step,
};
use crate::statistics::random::Random;
use heapwise_environment::MachineDescription;
use std::collections::BTreeMap;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Rounds if nobody says how many: the least with which the exact test can find something.
const ROUNDS: u32 = 5;
/// Rounds of a program that takes long: the least that can tell anything.
const FEWEST: u32 = 3;
/// From this on it takes long.
const LONG: Duration = Duration::from_secs(600);
/// So many runs that do not end, or cannot be made, are enough.
const MOST_TIMEOUTS: usize = 2;

/// Runs the program under each contender, the first of which is the baseline, and compares.
///
/// `progress` hears of each run before it begins.
///
/// # Errors
/// If the program cannot be started, does not work as it is, or if it was interrupted in the first round. Whatever goes wrong
/// with a candidate is a [`Finding`](crate::compare::Finding) instead, and what goes wrong with the program as it is later ends the
/// comparison with what there is.
pub fn run(
    program: &Program,
    contenders: &[Contender],
    options: &Options,
    progress: &mut dyn FnMut(&Step),
) -> Result<Comparison, Error> {
    if contenders.len() < 2 {
        let reasons: Vec<&str> = options.unavailable.iter().map(|u| u.reason.as_str()).collect();
        return Err(Error::NoContender { reasons: reasons.join("; ") });
    }
    let machine = MachineDescription::look();
    let began_unix = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
    let began = Instant::now();
    let mut course = Course::new(program, contenders, options, progress);
    let is_interrupted = match course.run() {
        Ok(()) => false,
        // What is there so far is worth something, if there is anything.
        Err(Error::Interrupted) if course.rounds_done > 0 => true,
        Err(error) if course.rounds_done > 0 => {
            let note = format!(
                "ended after {} of the rounds, for the program as it is could not be run any more: {}",
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

/// One run that is to be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Job {
    contender: usize,
    is_second: bool,
}

/// The jobs of a round, in an order of its own.
fn jobs(contenders: usize, seed: u64) -> Vec<Job> {
    let mut jobs: Vec<Job> = (0..contenders).map(|contender| Job { contender, is_second: false }).collect();
    jobs.push(Job { contender: 0, is_second: true });
    Random::new(seed).shuffle(&mut jobs);
    jobs
}

struct Course<'a> {
    program: &'a Program,
    contenders: &'a [Contender],
    options: &'a Options,
    progress: &'a mut dyn FnMut(&Step),
    samples: Vec<Vec<Sample>>,
    /// Why runs could not be made.
    failures: Vec<Vec<String>>,
    left_out: BTreeMap<usize, String>,
    notes: Vec<String>,
    timeout: Option<Duration>,
    rounds_done: u32,
    done: u64,
    /// Runs in all, without those of candidates that were left out.
    total: u64,
}

impl<'a> Course<'a> {
    fn new(
        program: &'a Program,
        contenders: &'a [Contender],
        options: &'a Options,
        progress: &'a mut dyn FnMut(&Step),
    ) -> Self {
        Self {
            program,
            contenders,
            options,
            progress,
            samples: vec![Vec::new(); contenders.len()],
            failures: vec![Vec::new(); contenders.len()],
            left_out: BTreeMap::new(),
            notes: Vec::new(),
            timeout: options.timeout,
            rounds_done: 0,
            done: 0,
            total: 0,
        }
    }

    fn run(&mut self) -> Result<(), Error> {
        let began = Instant::now();
        let asked = self.options.runs.unwrap_or(ROUNDS);
        self.total = self.runs_of(asked);
        self.baseline_first()?;
        if self.timeout.is_none() {
            self.timeout = Some(began.elapsed() * 10 + Duration::from_secs(60));
        }
        for contender in 1..self.contenders.len() {
            self.once(Job { contender, is_second: false }, 0, asked, None)?;
        }
        // The baseline runs twice in each of the others.
        let round = began.elapsed() * (self.contenders.len() as u32 + 1) / self.contenders.len() as u32;
        let rounds = self.rounds(round);
        self.total = self.runs_of(rounds);
        let mut at = Instant::now();
        let mut per_job = round / (self.contenders.len() as u32 + 1);
        for number in 1..=rounds {
            let all = jobs(self.contenders.len(), self.options.seed.wrapping_add(u64::from(number)));
            for job in
                all.into_iter().filter(|job| !self.left_out.contains_key(&job.contender)).collect::<Vec<_>>()
            {
                let left = per_job * (self.total.saturating_sub(self.done)) as u32;
                self.once(job, number, rounds, Some(left))?;
                // The latest run says as much about the next one as all before.
                per_job = (per_job + at.elapsed()) / 2;
                at = Instant::now();
            }
            self.rounds_done = number;
        }
        Ok(())
    }

    /// Runs in all: a first round, and others in which the baseline runs twice.
    fn runs_of(&self, rounds: u32) -> u64 {
        let contenders = self.contenders.len() as u64;
        contenders + u64::from(rounds) * (contenders + 1)
    }

    /// Leaves a candidate out from the next round on.
    fn leave_out(&mut self, contender: usize, reason: String, round: u32, rounds: u32) {
        if self.left_out.insert(contender, reason).is_none() {
            self.total = self.total.saturating_sub(u64::from(rounds.saturating_sub(round)));
        }
    }

    /// The first run of all: what the program does as it is.
    fn baseline_first(&mut self) -> Result<(), Error> {
        let rounds = self.options.runs.unwrap_or(ROUNDS);
        self.once(Job { contender: 0, is_second: false }, 0, rounds, None)?;
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

    fn once(&mut self, job: Job, round: u32, rounds: u32, left: Option<Duration>) -> Result<(), Error> {
        let contender = &self.contenders[job.contender];
        let place = if round == 0 { "first round".to_owned() } else { format!("round {round} of {rounds}") };
        let what = format!("{}, {place}", contender.label);
        (self.progress)(&Step { what, done: self.done, total: self.total, left });
        let limits = Limits { timeout: self.timeout, interrupted: &self.options.interrupted };
        let measured = measure(self.program, contender, &limits);
        self.done += 1;
        let samples = &mut self.samples[job.contender];
        match measured {
            Ok(sample) => samples.push(Sample { round, is_second: job.is_second, ..sample }),
            // One run is no reason to throw away all others.
            Err(error) if job.contender > 0 && !matches!(error, Error::Interrupted) => {
                let failures = &mut self.failures[job.contender];
                failures.push(error.of_a_run());
                if failures.len() >= MOST_TIMEOUTS {
                    let reason = format!("left out after {} runs that could not be made", failures.len());
                    self.leave_out(job.contender, reason, round, rounds);
                }
                return Ok(());
            }
            Err(error) => return Err(error),
        }
        let slow = |s: &&Sample| matches!(s.outcome, Outcome::TimedOut | Outcome::NotReady);
        let timeouts = samples.iter().filter(slow).count();
        if job.contender > 0 && timeouts >= MOST_TIMEOUTS {
            let reason = format!("left out after {timeouts} runs that were not over in time");
            self.leave_out(job.contender, reason, round, rounds);
        }
        Ok(())
    }

    fn finish(mut self, setup: Setup, is_interrupted: bool) -> Comparison {
        let samples = std::mem::take(&mut self.samples);
        let mut standings: Vec<Standing> = Vec::with_capacity(samples.len());
        for (at, (contender, samples)) in self.contenders.iter().zip(samples).enumerate() {
            let baseline = standings.first().map_or(&samples[..], |first| &first.samples);
            let reference = Reference::of(baseline);
            let counts = |at: &usize| reference.as_ref().is_some_and(|r| r.counts(&samples[*at]));
            let counted = (0..samples.len()).filter(counts).collect();
            let mut findings = match &reference {
                Some(reference) if at > 0 => findings(reference, contender, &samples),
                _ => Vec::new(),
            };
            findings.extend(not_run(&self.failures[at], samples.len()));
            let mut standing = Standing {
                contender: contender.clone(),
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

/// Runs that could not be made, beside so many that were.
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
            "the program as it is writes something else in each run, so its outputs were not compared"
                .to_owned(),
        );
    }
    if reference.exit_varies {
        notes.push(
            "the program as it is does not always end in the same way, so exit codes were not compared, and only runs that \
             ended as its first one did count"
                .to_owned(),
        );
    } else if let Some(code) = standings[0].samples.first().and_then(|s| s.outcome.code()).filter(|c| *c != 0)
    {
        notes.push(format!("the program as it is ends with exit code {code}"));
    }
    let counted = || standings.iter().flat_map(Standing::counted);
    // A server is looked at after its load, and nobody is told what it had at its end.
    if counted().any(|sample| sample.end_source == EndSource::LastSample && sample.load.is_none()) {
        notes.push(
            "memory at the end is that of the last look before it in some runs, for they could not be stopped at their \
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
    let preloaded = standings.iter().filter(|standing| standing.contender.library.is_some());
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_round_has_everybody_once_and_the_baseline_twice_in_an_order_of_its_own() {
        let mut orders = std::collections::BTreeSet::new();
        for seed in 0..20 {
            let all = jobs(4, seed);
            let mut sorted = all.clone();
            sorted.sort_unstable();
            let who: Vec<_> = sorted.iter().map(|job| (job.contender, job.is_second)).collect();
            assert_eq!(who, [(0, false), (0, true), (1, false), (2, false), (3, false)]);
            orders.insert(all);
        }
        assert!(orders.len() > 10, "the order hardly changes");
    }
}

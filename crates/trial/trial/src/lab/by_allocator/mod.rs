//! Experiments that have workers do the same in several ways and under several allocators, round after round.
//!
//! Such an experiment is a table of what it is: its variants, what is shown of each run, and what the article says, with a judgement
//! of whether this machine shows the same. How it is done is here, once for all.

mod change;
mod claim;
mod found;
mod measure;
mod plan;
mod prepare;
mod recorded;
mod steps;
mod tables;

use crate::lab::experiment::{Error, Experiment, Options};
use crate::lab::outcome::Outcome;
use crate::lab::worker::Answer;
use crate::rounds::Step;
pub(super) use change::Change;
pub(super) use claim::{Claim, Judgement};
pub(super) use found::Found;
use heapwise_analysis::units::bytes;
use heapwise_environment::MachineDescription;
pub(super) use plan::Sizes;
pub(super) use steps::RIGHT;
use tempfile::TempDir;

/// An experiment under several allocators.
pub(super) struct ByAllocator {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    pub(super) shows: &'static str,
    /// The allocators if no others are named, as `--with` takes them.
    pub(super) with: &'static str,
    pub(super) variants: &'static [Variant],
    /// Rounds that count, if no other number is asked for.
    pub(super) rounds: u32,
    pub(super) rows: Rows,
    pub(super) columns: &'static [Shown],
    /// The variants that are compared with each other, by their indices: what the second is in proportion to the first.
    pub(super) against: &'static [(usize, usize)],
    pub(super) claims: &'static [Claim],
    /// Whether the workers write files.
    pub(super) has_files: bool,
    /// Whether heapwise records each variant: what it does to the heap.
    pub(super) is_recorded: bool,
    /// Changes of the program, if it is recorded: what heapwise says that each saves stands beside what was saved.
    pub(super) steps: &'static [Change],
}

/// What is usual; each experiment has its own name, variants and columns.
pub(super) const DEFAULTS: ByAllocator = ByAllocator {
    name: "",
    about: "",
    shows: "",
    with: "default",
    variants: &[],
    rounds: 3,
    rows: Rows::Allocators,
    columns: &[],
    against: &[],
    claims: &[],
    has_files: false,
    is_recorded: false,
    steps: &[],
};

/// What stands below each other, and is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rows {
    /// A table for each variant.
    Allocators,
    /// A table for each allocator, in which the first column of numbers is compared with that of the first variant.
    Variants,
}

/// A way to do the work.
pub(super) struct Variant {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    pub(super) workload: &'static str,
    /// The numbers for a worker.
    pub(super) numbers: fn(&Sizes) -> Vec<u64>,
}

/// A number of a run.
pub(super) struct Shown {
    pub(super) id: &'static str,
    pub(super) title: &'static str,
    pub(super) unit: Unit,
    pub(super) of: fn(&Answer) -> Option<f64>,
    /// For pages and machines only: a terminal has no room for it.
    pub(super) is_detail: bool,
}

impl Shown {
    pub(super) const fn new(
        id: &'static str,
        title: &'static str,
        unit: Unit,
        of: fn(&Answer) -> Option<f64>,
    ) -> Self {
        Self { id, title, unit, of, is_detail: false }
    }

    /// The same for pages and machines only.
    pub(super) const fn detail(self) -> Self {
        Self { is_detail: true, ..self }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Bytes,
    /// Nanoseconds.
    Time,
    PerSecond,
    Share,
    Ratio,
    Count,
}

impl Experiment for ByAllocator {
    fn name(&self) -> &'static str {
        self.name
    }

    fn about(&self) -> &'static str {
        self.about
    }

    fn shows(&self) -> &'static str {
        self.shows
    }

    fn with(&self) -> Option<&'static str> {
        Some(self.with)
    }

    fn run(&self, options: &Options, progress: &mut dyn FnMut(&Step)) -> Result<Outcome, Error> {
        let plan = plan::plan(self, options)?;
        let machine = MachineDescription::look();
        let folder = (self.has_files || self.is_recorded).then(new_folder).transpose()?;
        let folder = folder.as_ref().map(|folder| folder.path());
        let mut found = measure::measure(self, &plan, options, folder, progress)?;
        if let Some(folder) = folder.filter(|_| self.is_recorded) {
            let (recorded, caveats) = recorded::record(self, &plan, options, folder, progress);
            found.recorded = recorded;
            found.caveats.extend(caveats);
        }
        let judged: Vec<(&Claim, Judgement)> =
            self.claims.iter().map(|claim| (claim, claim.judged(&found, &plan.sizes))).collect();
        Ok(Outcome {
            experiment: self.name,
            shows: self.shows,
            machine,
            is_interrupted: options.are_over(),
            setup: plan.setup(self, &options.candidates),
            tables: tables::all(self, &found, &judged),
            caveats: plan.caveats(options).into_iter().chain(found.caveats).collect(),
            conclusion: claim::conclusion(&judged),
        })
    }
}

/// For files that are gone with the experiment.
fn new_folder() -> Result<TempDir, Error> {
    let made = tempfile::Builder::new().prefix("heapwise-lab-").tempdir();
    made.map_err(|source| Error::Folder { within: std::env::temp_dir(), source })
}

/// What is resident at a moment.
pub(super) fn rss(answer: &Answer, moment: &str) -> Option<f64> {
    Some(answer.moment(moment)?.memory?.rss_bytes as f64)
}

/// The part of it that the kernel may take back.
pub(super) fn lazily_free(answer: &Answer, moment: &str) -> Option<f64> {
    Some(answer.moment(moment)?.memory?.lazy_free_bytes as f64)
}

/// What the workload has measured or counted itself.
pub(super) fn measured(answer: &Answer, name: &str) -> Option<f64> {
    Some(*answer.measured.get(name)? as f64)
}

/// The time of a phase.
pub(super) fn time_of(answer: &Answer, phase: &str) -> Option<f64> {
    Some(answer.phase(phase)?.time_ns() as f64)
}

/// Pages that were made resident between two moments.
pub(super) fn faults(answer: &Answer, from: &str, to: &str) -> Option<f64> {
    let faults = |moment| Some(answer.moment(moment)?.memory?.faults);
    Some(faults(to)?.saturating_sub(faults(from)?) as f64)
}

/// The processor time of all threads between two moments.
pub(super) fn processor_time(answer: &Answer, from: &str, to: &str) -> Option<f64> {
    let (from, to) = (answer.moment(from)?.cpu_ns?, answer.moment(to)?.cpu_ns?);
    Some(to.saturating_sub(from) as f64)
}

/// The part of what one moment has more than the baseline that the next one has no more, or has lazily free.
pub(super) fn returned(answer: &Answer, full: &str, dropped: &str) -> Option<f64> {
    let held = |moment| Some(rss(answer, moment)? - lazily_free(answer, moment)?);
    let grown = held(full)? - held("baseline")?;
    (grown > 0.0).then_some((held(full)? - held(dropped)?) / grown)
}

/// Bytes that were measured, for a sentence.
pub(super) fn amount(number: f64) -> String {
    bytes(number.max(0.0) as u64)
}

//! Experiments that have workers do the same under several allocators, round after round.
//!
//! Such an experiment is a table of what it is: the workload, its variants, what is shown of each run, and what the article says,
//! with a judgement of whether this machine shows the same. How it is done is here, once for all.

mod claim;
mod measure;
mod plan;
mod tables;

use crate::lab::experiment::{Error, Experiment, Options};
use crate::lab::outcome::Outcome;
use crate::lab::worker::Answer;
use crate::rounds::Step;
pub(super) use claim::{Claim, Judgement};
use heapwise_analysis::units::bytes;
use heapwise_environment::MachineDescription;
pub(super) use measure::Found;
pub(super) use plan::Sizes;

/// An experiment under several allocators.
pub(super) struct ByAllocator {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    pub(super) shows: &'static str,
    pub(super) workload: &'static str,
    /// The allocators if no others are named, as `--with` takes them.
    pub(super) with: &'static str,
    pub(super) variants: &'static [Variant],
    pub(super) columns: &'static [Shown],
    /// The variants that are compared with each other, by their indices: what the second is in proportion to the first.
    pub(super) against: Option<(usize, usize)>,
    pub(super) claims: &'static [Claim],
}

/// A way to do the work.
pub(super) struct Variant {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
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
        let found = measure::measure(self, &plan, options, progress)?;
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

/// What is resident at a moment.
pub(super) fn rss(answer: &Answer, moment: &str) -> Option<f64> {
    Some(answer.moment(moment)?.memory?.rss_bytes as f64)
}

/// The part of it that the kernel may take back.
pub(super) fn lazily_free(answer: &Answer, moment: &str) -> Option<f64> {
    Some(answer.moment(moment)?.memory?.lazy_free_bytes as f64)
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

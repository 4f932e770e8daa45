//! A workload with each tool: all ways to run a program take turns.

use crate::launcher;
use crate::run::{Run, run};
use crate::tools::{Kind, Tool};
use crate::workloads::Workload;
use anyhow::{Result, ensure};
use heapwise_trial::rounds::Rounds;
use serde::Serialize;
use std::path::{Path, PathBuf};

#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) pairs: usize,
    pub(crate) quick: bool,
    pub(crate) target: PathBuf,
}

/// All runs of a workload.
#[derive(Debug, Serialize)]
pub(crate) struct Series {
    pub(crate) workload: &'static str,
    pub(crate) size: u64,
    /// The size was lowered, because the program alone took too long.
    pub(crate) scaled_down: bool,
    /// heaptrack was to run it, too.
    pub(crate) is_compared: bool,
    pub(crate) rounds: Vec<Round>,
}

/// One run of each tool, closely after each other, in the order in which they ran.
#[derive(Debug, Serialize)]
#[serde(transparent)]
pub(crate) struct Round(pub(crate) Vec<Run>);

impl Round {
    pub(crate) fn get(&self, tool: Kind) -> Option<&Run> {
        self.0.iter().find(|run| run.tool == tool)
    }

    /// What a tool has added to a number of the program alone.
    fn added(&self, tool: Kind, of: fn(&Run) -> f64) -> Option<f64> {
        Some(of(self.get(tool)?) - of(self.get(Kind::Native)?))
    }

    /// What heapwise adds as a share of what heaptrack adds. A round in which heaptrack seems to add nothing has no such share.
    fn share_of_heaptrack(&self, of: fn(&Run) -> f64) -> Option<f64> {
        let heaptrack = self.added(Kind::Heaptrack, of)?;
        (heaptrack > 0.0).then_some(self.added(Kind::Heapwise, of)? / heaptrack)
    }
}

impl Series {
    /// A number of each round that has it.
    pub(crate) fn per_round(&self, number: impl Fn(&Round) -> Option<f64>) -> Vec<f64> {
        self.rounds.iter().filter_map(number).collect()
    }

    /// A number of each run of a tool.
    pub(crate) fn of(&self, tool: Kind, number: impl Fn(&Run) -> Option<f64>) -> Vec<f64> {
        self.per_round(|round| number(round.get(tool)?))
    }

    /// How many times as long the program takes with a tool as alone.
    pub(crate) fn times_native(&self, tool: Kind) -> Vec<f64> {
        let wall = |round: &Round, tool| Some(round.get(tool)?.program.wall_seconds());
        self.per_round(|round| Some(wall(round, tool)? / wall(round, Kind::Native)?))
    }

    /// What heapwise adds to the time of the program as a share of what heaptrack adds.
    pub(crate) fn share_of_heaptrack(&self) -> Vec<f64> {
        self.per_round(|round| round.share_of_heaptrack(|run| run.program.wall_seconds()))
    }

    /// The same for the processor time of all processes: for heapwise up to the report, for heaptrack up to a recording that is not
    /// analysed.
    pub(crate) fn share_of_processor_time(&self) -> Vec<f64> {
        self.per_round(|round| round.share_of_heaptrack(|run| run.whole.tree_cpu_us as f64))
    }
}

/// Decides on the orders of the tools.
const SEED: u64 = 3;
/// What the program alone may take; a tool may take ten times as long, and there are many rounds.
const PATIENCE_SECONDS: f64 = 10.0;

pub(crate) fn measure(
    plan: &Plan,
    folder: &Path,
    workloads: &[Workload],
    tools: &[Tool],
) -> Result<Vec<Series>> {
    let launcher = launcher::build(folder)?;
    let scratch = folder.join("scratch");
    let mut all = Vec::new();
    for workload in workloads {
        let is_compared = workload.is_compared;
        let chosen = tools.iter().filter(|tool| is_compared || tool.kind != Kind::Heaptrack);
        let tools: Vec<_> = chosen.collect();
        let prepared = workload.prepare(&plan.target, folder)?;
        let once = |tool: &Tool, size| run(tool, &launcher, &scratch, &prepared, prepared.command(size));
        let mut size = if plan.quick { workload.size / 10 } else { workload.size };
        // The first run fills caches and makes the contest's data; it is not counted.
        let (mut warm, mut expected) = once(tools[0], size)?;
        let scaled_down = warm.program.wall_seconds() > PATIENCE_SECONDS;
        if scaled_down {
            size = (size as f64 * PATIENCE_SECONDS / warm.program.wall_seconds()) as u64;
            (warm, expected) = once(tools[0], size)?;
        }
        eprintln!("bench: {} {size}, {:.2} s alone", workload.name, warm.program.wall_seconds());
        let mut rounds: Vec<Round> = (0..plan.pairs).map(|_| Round(Vec::new())).collect();
        for turn in Rounds::new(tools.len(), plan.pairs as u32, SEED).without_warm_up() {
            let tool = tools[turn.who];
            let (run, output) = once(tool, size)?;
            let name = tool.kind.name();
            ensure!(output == expected, "{} under {name} printed {output:?}", workload.name);
            eprintln!("bench:   round {}: {name} {:.3} s", turn.round, run.program.wall_seconds());
            rounds[turn.round as usize - 1].0.push(run);
        }
        all.push(Series { workload: workload.name, size, scaled_down, is_compared, rounds });
    }
    let _ = std::fs::remove_dir_all(&scratch);
    Ok(all)
}

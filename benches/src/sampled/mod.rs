//! What a sample of the blocks costs: what `--sample` adds to a pair of an allocation and its free, in each way in which heapwise gets into
//! a program, beside recording all calls, and beside jemalloc's own profiler at the same interval; and what it costs whole programs.

mod programs;
mod servers;
mod table;

use crate::series::Plan;
use crate::waiting::Recorder;
use crate::ways::{self, Cost, Prepared, Way};
use anyhow::{Context, Result};
use heapwise_allocators::find_installed;
use heapwise_trial::rounds::Rounds;
use std::path::Path;

const SEED: u64 = 19;
const PAIRS: u64 = 15_000_000;

/// The options of a sample with the usual distance, which is that of jemalloc's profiler, too.
const SAMPLE: &[&str] = &["--sample"];
/// The variable that switches jemalloc's profiler on.
const PROFILER: (&str, &str) = ("MALLOC_CONF", "prof:true");

/// What is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    Alone,
    Sample,
    AllCalls,
    /// With the allocator's own profiler.
    Profiler,
}

/// Nanoseconds of a pair, of each row and each way to run it, by round.
#[derive(Clone, Debug, Default)]
struct Costs {
    alone: Vec<Cost>,
    sample: Vec<Cost>,
    all_calls: Vec<Cost>,
    profiler: Vec<Cost>,
}

impl Costs {
    fn of(&mut self, how: How) -> &mut Vec<Cost> {
        match how {
            How::Alone => &mut self.alone,
            How::Sample => &mut self.sample,
            How::AllCalls => &mut self.all_calls,
            How::Profiler => &mut self.profiler,
        }
    }
}

/// What `--only` calls pairs of an allocation and its free.
const NAME_OF_PAIRS: &str = "pairs";

/// Measures pairs and whole programs, or only what has these names.
pub(crate) fn measure(plan: &Plan, folder: &Path, only: &[String]) -> Result<String> {
    let (of_pairs, of_programs): (Vec<String>, Vec<String>) =
        only.iter().cloned().partition(|name| name == NAME_OF_PAIRS);
    let mut text = String::new();
    if only.is_empty() || !of_pairs.is_empty() {
        text += &pairs(plan, folder)?;
    }
    if only.is_empty() {
        text += "\n";
    }
    if only.is_empty() || !of_programs.is_empty() {
        text += &table::programs(&programs::measure(plan, folder, &of_programs)?);
    }
    Ok(text)
}

fn pairs(plan: &Plan, folder: &Path) -> Result<String> {
    let recorder = Recorder::of(plan, folder);
    let mut rows: Vec<(Way, Prepared)> = Vec::new();
    for way in ways::WAYS {
        rows.push((way, way.prepare(plan, folder)?));
    }
    // Of Debian, since the one that heapwise carries is built without its profiler.
    let profiled = rows.len();
    let library = find_installed(&["libjemalloc.so.2"]).context("apt-get install libjemalloc2")?;
    let (program, _) = ways::WAYS[0].prepare(plan, folder)?;
    rows.push((Way::named("jemalloc of Debian", "its profiler"), (program, Some(library))));

    let mut runs: Vec<(usize, How)> = Vec::new();
    for row in 0..rows.len() {
        let recorded =
            if row == profiled { [How::Profiler].as_slice() } else { &[How::Sample, How::AllCalls] };
        runs.extend([How::Alone].iter().chain(recorded).map(|&how| (row, how)));
    }
    let pairs = if plan.quick { PAIRS / 10 } else { PAIRS };
    let mut costs = vec![Costs::default(); rows.len()];
    for turn in Rounds::new(runs.len(), plan.pairs as u32, SEED) {
        let (row, how) = runs[turn.who];
        let (way, prepared) = &rows[row];
        let options: &[&str] = if how == How::Sample { SAMPLE } else { &[] };
        let by = matches!(how, How::Sample | How::AllCalls).then_some((&recorder, options));
        let variable = (how == How::Profiler).then_some(PROFILER);
        let cost = way.once(by, variable, prepared, pairs)?;
        if turn.round == 0 {
            continue;
        }
        let Way { allocator, what, .. } = way;
        eprintln!("bench:   round {}: {allocator}, {what}, {how:?}: {:.1} ns a pair", turn.round, cost.time);
        costs[row].of(how).push(cost);
    }
    let rows: Vec<(Way, Costs)> = rows.into_iter().map(|(way, _)| way).zip(costs).collect();
    Ok(table::table(&rows))
}

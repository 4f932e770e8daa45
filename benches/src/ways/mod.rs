//! What recording costs by the way in which heapwise gets into a program: what it adds to a pair of an allocation and its free, with each
//! allocator beside the preload library in front of the same allocator.
//!
//! The program times its pairs itself, since it waits until it is recorded. All runs of a round take turns.

mod table;

pub(crate) use table::table;

use crate::launcher::compile_workload;
use crate::series::Plan;
use crate::waiting::{Recorder, Waiting};
use anyhow::{Result, ensure};
use heapwise_trial::rounds::Rounds;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Its name for `--only`.
pub(crate) const NAME: &str = "ways";

const SEED: u64 = 17;
const PAIRS: u64 = 15_000_000;

/// What the program is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    /// With the C library as it is linked by default.
    Dynamic,
    /// The same, with this allocator as a library in front of the C library's.
    Over(&'static str),
    /// With all libraries in it.
    Static,
    /// A program of `benches/wrappers`, with an allocator in it.
    Inside(&'static str),
}

/// How heapwise gets into a program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Way {
    pub(crate) allocator: &'static str,
    pub(crate) what: &'static str,
    source: Source,
    is_attached: bool,
    /// Which of all ways is the preload library with the same allocator; itself, if it is that.
    preloaded: usize,
}

const fn way(allocator: &'static str, what: &'static str, source: Source, preloaded: usize) -> Way {
    Way { allocator, what, source, is_attached: false, preloaded }
}

const PRELOADED: &str = "preload library";

pub(crate) const WAYS: [Way; 7] = [
    way("glibc", PRELOADED, Source::Dynamic, 0),
    Way { is_attached: true, ..way("glibc", "attached", Source::Dynamic, 0) },
    way("glibc", "linked statically", Source::Static, 0),
    way("jemalloc", PRELOADED, Source::Over("jemalloc"), 3),
    way("jemalloc", "inside", Source::Inside("pairs_jemalloc"), 3),
    way("mimalloc", PRELOADED, Source::Over("mimalloc"), 5),
    way("mimalloc", "inside", Source::Inside("pairs_mimalloc"), 5),
];

/// Nanoseconds of a pair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Cost {
    pub(crate) time: f64,
    /// Of the program's thread.
    pub(crate) processor: f64,
}

/// A pair of one way, alone and recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Costs {
    pub(crate) alone: Cost,
    pub(crate) recorded: Cost,
}

/// A pair of each way.
pub(crate) type Round = [Costs; WAYS.len()];

pub(crate) fn measure(plan: &Plan, folder: &Path) -> Result<Vec<Round>> {
    let recorder = Recorder::of(plan, folder);
    let programs = WAYS.iter().map(|way| way.prepare(plan, folder)).collect::<Result<Vec<_>>>()?;
    let pairs = if plan.quick { PAIRS / 10 } else { PAIRS };
    let mut rounds = vec![Round::default(); plan.pairs];
    // Each way alone, and recorded.
    for turn in Rounds::new(WAYS.len() * 2, plan.pairs as u32, SEED) {
        let (at, is_recorded) = (turn.who / 2, turn.who % 2 == 1);
        let by = is_recorded.then_some((&recorder, [].as_slice()));
        let cost = WAYS[at].once(by, None, &programs[at], pairs)?;
        let Some(round) = (turn.round as usize).checked_sub(1) else { continue };
        let Way { allocator, what, .. } = WAYS[at];
        let how = if is_recorded { "recorded" } else { "alone" };
        let Cost { time, processor } = cost;
        eprintln!(
            "bench:   round {}: {allocator}, {what}, {how} {time:.1} ns a pair, {processor:.1} of the processor",
            turn.round
        );
        let costs = &mut rounds[round][at];
        *(if is_recorded { &mut costs.recorded } else { &mut costs.alone }) = cost;
    }
    Ok(rounds)
}

/// A program, and the library in front of its C library.
pub(crate) type Prepared = (PathBuf, Option<PathBuf>);

impl Way {
    /// The program with the C library as it is linked by default, with another name in tables.
    pub(crate) const fn named(allocator: &'static str, what: &'static str) -> Self {
        way(allocator, what, Source::Dynamic, 0)
    }

    pub(crate) fn prepare(&self, plan: &Plan, folder: &Path) -> Result<Prepared> {
        let compiled = |name, options: &[&str]| compile_workload("pairs", name, options, folder);
        let (program, library) = match self.source {
            Source::Dynamic => (compiled("pairs", &[])?, None),
            Source::Over(name) => {
                let library = plan.target.join("allocators").join(name).join(format!("release/lib{name}.so"));
                (compiled("pairs", &[])?, Some(library))
            }
            Source::Static => (compiled("pairs_static", &["-C", "target-feature=+crt-static"])?, None),
            Source::Inside(name) => (plan.target.join("release").join(name), None),
        };
        for path in [Some(&program), library.as_ref()].into_iter().flatten() {
            ensure!(path.is_file(), "{} is missing: `cargo xtask bench` builds it", path.display());
        }
        Ok((program, library))
    }

    /// Has all pairs done. Without a recorder, which has options, the program is alone.
    pub(crate) fn once(
        &self,
        by: Option<(&Recorder, &[&str])>,
        variable: Option<(&str, &str)>,
        (program, library): &Prepared,
        pairs: u64,
    ) -> Result<Cost> {
        let mut command = match by.filter(|_| !self.is_attached) {
            Some((recorder, options)) => recorder.run(program, options),
            None => Command::new(program),
        };
        command.envs(library.iter().map(|library| ("LD_PRELOAD", library))).envs(variable);
        let mut program = Waiting::start(command.arg(pairs.to_string()))?;
        let recording = match by.filter(|_| self.is_attached) {
            Some((recorder, options)) => Some(recorder.attach(&program, options)?.0),
            None => None,
        };
        program.go_on()?;
        let line = program.line()?;
        program.end()?;
        if let Some(mut recording) = recording {
            ensure!(recording.wait()?.success(), "heapwise attach has failed");
        }
        let mut numbers = line.split_whitespace().map_while(|word| word.parse::<f64>().ok());
        match (numbers.next(), numbers.next()) {
            (Some(time), Some(processor)) => {
                Ok(Cost { time: time / pairs as f64, processor: processor / pairs as f64 })
            }
            _ => anyhow::bail!("the program printed {line:?}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_way_is_compared_with_the_preload_library_and_the_same_allocator() {
        for (at, way) in WAYS.iter().enumerate() {
            let peer = &WAYS[way.preloaded];
            assert_eq!((peer.allocator, peer.what, peer.is_attached), (way.allocator, PRELOADED, false));
            assert_eq!(way.what == PRELOADED, way.preloaded == at, "{way:?}");
        }
    }
}

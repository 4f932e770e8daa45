//! What a sample costs whole programs: processor time, memory, and of services how much they serve and how fast.

use super::servers::{self, Served};
use crate::launcher::{self, Measured};
use crate::replay::real::{self, Bench};
use crate::replay::workloads::{self, Place, Prepared};
use crate::series::Plan;
use anyhow::{Context, Result, bail};
use heapwise_trial::rounds::Rounds;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

const SEED: u64 = 190;
const INTERPOSER: &[&str] = &["--crate-type", "cdylib", "-C", "panic=abort", "-C", "link-arg=-lc"];
/// Of the programs that are replayed, those that are measured here, too.
const OTHERS: [&str; 6] = ["python_json", "sqlite", "async_server", "ripgrep", "git", "contest"];

/// A run of a program.
#[derive(Clone, Debug)]
pub(super) struct Run {
    pub(super) program: Measured,
    /// Processor time of heapwise beside it, in seconds.
    pub(super) beside: f64,
    /// What its clients say of it.
    pub(super) served: Vec<Served>,
}

/// What a program is run with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum With {
    Nothing,
    /// A library that hands the allocator's calls on.
    Interposer,
    Sample,
}

const WITH: [With; 3] = [With::Nothing, With::Interposer, With::Sample];

/// A program, by round alone, with a library that hands the allocator's calls on, and with a sample.
#[derive(Clone, Debug)]
pub(super) struct Program {
    pub(super) name: &'static str,
    pub(super) alone: Vec<Run>,
    pub(super) interposed: Vec<Run>,
    pub(super) sampled: Vec<Run>,
}

impl Program {
    fn of(&mut self, with: With) -> &mut Vec<Run> {
        match with {
            With::Nothing => &mut self.alone,
            With::Interposer => &mut self.interposed,
            With::Sample => &mut self.sampled,
        }
    }
}

/// A program that can be run, and what its clients' outputs say.
struct Candidate {
    name: &'static str,
    prepared: Prepared,
    read: fn(&str) -> Vec<Served>,
}

/// Runs all of them in turns, or those with these names.
pub(super) fn measure(plan: &Plan, folder: &Path, only: &[String]) -> Result<Vec<Program>> {
    let inputs = plan.target.join("bench/inputs");
    std::fs::create_dir_all(&inputs)?;
    let place = Place { target: &plan.target, inputs: &inputs, quick: plan.quick };
    let launcher = launcher::build(folder)?;
    let bench = Bench { launcher: &launcher, scratch: &folder.join("sampled") };
    let interposer = launcher::compile_workload("interposer", "libinterposer.so", INTERPOSER, folder)?;
    let paths = Paths { heapwise: plan.target.join("release/heapwise"), interposer };
    let programs = chosen(&place, only)?;
    let mut results: Vec<Program> = programs
        .iter()
        .map(|program| Program {
            name: program.name,
            alone: Vec::new(),
            interposed: Vec::new(),
            sampled: Vec::new(),
        })
        .collect();
    for turn in Rounds::new(WITH.len() * programs.len(), plan.pairs as u32, SEED) {
        let (at, with) = (turn.who / WITH.len(), WITH[turn.who % WITH.len()]);
        let program = &programs[at];
        let run =
            once(&bench, program, with, &paths).with_context(|| format!("{}, {with:?}", program.name))?;
        if turn.round == 0 {
            continue;
        }
        eprintln!(
            "bench:   round {}: {}, {with:?}: {:.3} s of processor time",
            turn.round,
            program.name,
            seconds(&run.program)
        );
        results[at].of(with).push(run);
    }
    Ok(results)
}

fn chosen(place: &Place<'_>, only: &[String]) -> Result<Vec<Candidate>> {
    let mut programs = Vec::new();
    let is_wanted = |name: &str| only.is_empty() || only.iter().any(|only| only == name);
    for server in servers::ALL {
        if is_wanted(server.name) {
            let prepared = (server.prepare)(place).with_context(|| format!("program {}", server.name))?;
            programs.push(Candidate { name: server.name, prepared, read: server.read });
        }
    }
    let others: Vec<String> =
        OTHERS.iter().filter(|name| is_wanted(name)).map(|name| (*name).to_owned()).collect();
    if !others.is_empty() {
        for workload in workloads::chosen(&others)? {
            programs.push(Candidate {
                name: workload.name,
                prepared: workload.prepare(place)?,
                read: |_| Vec::new(),
            });
        }
    }
    if programs.is_empty() {
        let all = servers::ALL.iter().map(|server| server.name).chain(OTHERS);
        bail!("there is no program {}, only {}", only.join(", "), all.collect::<Vec<_>>().join(", "));
    }
    Ok(programs)
}

/// Processor time of a program and of the processes that it has started.
pub(super) fn seconds(measured: &Measured) -> f64 {
    measured.tree_cpu_us as f64 / 1e6
}

/// What programs are run with.
struct Paths {
    heapwise: PathBuf,
    interposer: PathBuf,
}

/// Runs it once, with a launcher around it, and another one around heapwise.
fn once(bench: &Bench<'_>, program: &Candidate, with: With, paths: &Paths) -> Result<Run> {
    let path = |name: &str| bench.scratch.join(name).into_os_string();
    let launcher = bench.launcher.as_os_str();
    let mut before: Vec<OsString> = vec![launcher.to_owned(), path("whole"), path("log")];
    match with {
        With::Nothing => {}
        With::Interposer => {
            let mut variable = OsString::from("LD_PRELOAD=");
            variable.push(&paths.interposer);
            before.extend(["env".into(), variable]);
        }
        With::Sample => {
            before.push(paths.heapwise.clone().into_os_string());
            let options = ["run", "--sample", "--force", "--no-report", "-o"].map(OsString::from);
            before.extend(options.into_iter().chain([path("sampled.hw"), "--".into()]));
        }
    }
    before.extend([launcher.to_owned(), path("program"), path("output")]);
    let said = real::run_within(bench, &program.prepared, &before)?;
    let read = |name: &str| Measured::read(&bench.scratch.join(name));
    let (whole, program_alone) = (read("whole")?, read("program")?);
    let beside = seconds(&whole) - seconds(&program_alone);
    let served = said.iter().flat_map(|text| (program.read)(text)).collect();
    Ok(Run { program: program_alone, beside, served })
}

//! `bench record`: what recording a program costs, compared with a run without and a run under heaptrack.
//! `bench analyze`: what analysing a recording costs, compared with `heaptrack_print`.
//! `bench environment`: what the things cost that `heapwise doctor` looks for, compared with a plain run.
//! `bench replay`: how well a replay predicts what programs really do under each allocator.
//! `bench tune`: whether what `heapwise tune` promises is what its fix does in a fresh project.
//! `bench peers`: the same programs with each tool that says where a program allocates: its costs, and whether it is right.
//! `bench sampled`: what a sample costs, beside all calls and jemalloc's own profiler.
//! `bench library`: what wrappers of the global allocator add to a call: the library's, compared with others.
//!
//! `cargo xtask bench record` builds what is measured in release mode and calls this.

#![forbid(unsafe_code)]

mod aims;
mod analyze;
mod environment;
mod launcher;
mod library;
mod machine;
mod pauses;
mod peers;
mod replay;
mod run;
mod sampled;
mod series;
mod tables;
mod tools;
mod tuned;
mod waiting;
mod ways;
mod workloads;

use anyhow::{Context, Result, bail};
use lexopt::prelude::*;
use machine::Machine;
use series::Plan;
use std::path::PathBuf;

const HELP: &str = "\
Measures what recording costs: native, heapwise and heaptrack, interleaved; or what it costs to analyse the recording
of a hundred million events; or what slows a heap from outside, each thing that `heapwise doctor` looks for; or how well
`heapwise replay` predicts what real programs do under each allocator; or whether the fix of `heapwise tune` does in a
fresh project what was promised; or what a sample costs; or what other tools that say where a program allocates cost, and whether they are right; or
what the library's wrapper of the allocator adds to a call, beside others' wrappers.

Usage: bench record [--pairs N] [--only WORKLOAD] [--quick] [--target-dir DIR]
       bench analyze [--pairs N] [--quick] [--target-dir DIR]
       bench environment [--pairs N] [--quick] [--target-dir DIR]
       bench replay [--pairs N] [--only WORKLOAD] [--quick] [--real-only] [--after-load] [--target-dir DIR]
       bench tune [--pairs N] [--only SERVICE] [--quick] [--target-dir DIR]
       bench peers [--pairs N] [--only PROGRAM] [--quick] [--target-dir DIR]
       bench sampled [--only NAME] [--pairs N] [--quick] [--target-dir DIR]
       bench library [--pairs N] [--only CANDIDATE] [--quick] [--target-dir DIR]

  --pairs N         rounds of all tools (default 5, and 7 of all allocators after a warm-up round, 3 of all peers, and 10
                    of each layout of `bench library`; 2 with --quick)
  --only WORKLOAD   only this one, or `ways` or `pauses`, or `pairs` of `bench sampled`; may be given several times
  --quick           a tenth of the usual sizes, to see that all works
  --real-only       only run the programs, without a recording and its replay
  --after-load      what services keep twelve seconds after their load, instead of peaks and processor time
  --target-dir DIR  where release/heapwise and release/poetry-contest are (default target)
";

#[derive(Debug)]
struct Request {
    pairs: Option<usize>,
    only: Vec<String>,
    quick: bool,
    real_only: bool,
    after_load: bool,
    target: PathBuf,
    task: Task,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Task {
    Record,
    Analyze,
    Environment,
    Replay,
    Tune,
    Peers,
    Sampled,
    Library,
}

fn main() -> Result<()> {
    let Some(request) = parse(lexopt::Parser::from_env())? else {
        print!("{HELP}");
        return Ok(());
    };
    let plan = Plan {
        pairs: request.pairs.unwrap_or(match request.task {
            _ if request.quick => 2,
            Task::Replay => 7,
            Task::Peers => 3,
            Task::Library => 10,
            _ => 5,
        }),
        quick: request.quick,
        target: request.target.canonicalize().with_context(|| format!("{}", request.target.display()))?,
    };
    let folder = plan.target.join("bench");
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let before = Machine::look();
    let tools = tools::present(&plan.target)?;
    if request.task == Task::Analyze {
        let plan =
            analyze::Plan { rounds: plan.pairs, quick: plan.quick, target: &plan.target, folder: &folder };
        let table = analyze::measure(&plan, &tools)?;
        print!("{}\n{table}", machine::describe(&before, &Machine::look(), &tools));
        return Ok(());
    }
    if request.task == Task::Environment {
        let table = environment::measure(plan.pairs, plan.quick, &folder)?;
        print!("{}\n{table}", machine::describe(&before, &Machine::look(), &tools));
        return Ok(());
    }
    if request.task == Task::Replay {
        let plan = replay::Plan {
            rounds: plan.pairs,
            quick: plan.quick,
            only: &request.only,
            real_only: request.real_only,
            after_load: request.after_load,
            target: &plan.target,
            folder: &folder,
        };
        let text = replay::measure(&plan, &plan.target.join("release/heapwise"))?;
        print!("{}\n{text}", machine::describe(&before, &Machine::look(), &tools));
        return Ok(());
    }
    if request.task == Task::Tune {
        let plan = tuned::Plan {
            rounds: plan.pairs,
            quick: plan.quick,
            only: &request.only,
            target: &plan.target,
            folder: &folder,
        };
        let text = tuned::measure(&plan)?;
        print!("{}\n{text}", machine::describe(&before, &Machine::look(), &tools));
        return Ok(());
    }
    if request.task == Task::Peers {
        let plan = peers::Plan {
            rounds: plan.pairs,
            quick: plan.quick,
            only: &request.only,
            target: &plan.target,
            folder: &folder,
        };
        let text = peers::measure(&plan)?;
        print!("{}\n{text}", machine::describe(&before, &Machine::look(), &[]));
        return Ok(());
    }
    if request.task == Task::Sampled {
        let text = sampled::measure(&plan, &folder, &request.only)?;
        print!("{}\n{text}", machine::describe(&before, &Machine::look(), &[]));
        return Ok(());
    }
    if request.task == Task::Library {
        let plan =
            library::Plan { rounds: plan.pairs, only: &request.only, target: &plan.target, folder: &folder };
        let text = library::measure(&plan)?;
        print!("{}\n{text}", machine::describe(&before, &Machine::look(), &tools));
        return Ok(());
    }
    let is_all = request.only.is_empty();
    let is_wanted = |name: &str| is_all || request.only.iter().any(|only| only == name);
    let is_workload = |name: &&String| ![ways::NAME, pauses::NAME].contains(&name.as_str());
    let others: Vec<_> = request.only.iter().filter(is_workload).cloned().collect();
    let chosen = if is_all || !others.is_empty() { workloads::chosen(&others)? } else { Vec::new() };
    // Each part as soon as it is measured: all of them together take most of an hour.
    let results = series::measure(&plan, &folder, &chosen, &tools)?;
    if !results.is_empty() {
        println!("{}\n{}", tables::measurements(&results), aims::table(&results));
    }
    let ways = is_wanted(ways::NAME).then(|| ways::measure(&plan, &folder)).transpose()?;
    if let Some(ways) = &ways {
        println!("{}", ways::table(ways));
    }
    let pauses = is_wanted(pauses::NAME).then(|| pauses::measure(&plan, &folder)).transpose()?;
    if let Some(pauses) = &pauses {
        println!("{}", pauses::sentence(pauses));
    }
    let after = Machine::look();
    print!("{}", machine::describe(&before, &after, &tools));
    let raw = folder.join("record.json");
    let document = serde_json::json!({
        "machine": { "before": before, "after": after },
        "tools": tools.iter().map(tools::Tool::version).collect::<Vec<_>>(),
        "workloads": results,
        "ways": ways,
        "pauses": pauses,
    });
    std::fs::write(&raw, serde_json::to_vec_pretty(&document)?)
        .with_context(|| format!("cannot write {}", raw.display()))?;
    println!("\nAll runs, one by one: {}", raw.display());
    Ok(())
}

/// Returns what to do, or `None` for help.
fn parse(mut parser: lexopt::Parser) -> Result<Option<Request>> {
    let mut request = Request {
        pairs: None,
        only: Vec::new(),
        quick: false,
        real_only: false,
        after_load: false,
        target: "target".into(),
        task: Task::Record,
    };
    let mut task = None;
    while let Some(argument) = parser.next()? {
        match argument {
            Long("pairs") => request.pairs = Some(parser.value()?.parse()?),
            Long("only") => request.only.push(parser.value()?.string()?),
            Long("quick") => request.quick = true,
            Long("real-only") => request.real_only = true,
            Long("after-load") => request.after_load = true,
            Long("target-dir") => request.target = parser.value()?.into(),
            Short('h') | Long("help") => return Ok(None),
            Value(what) if task.is_none() && what == "record" => task = Some(Task::Record),
            Value(what) if task.is_none() && what == "analyze" => task = Some(Task::Analyze),
            Value(what) if task.is_none() && what == "environment" => task = Some(Task::Environment),
            Value(what) if task.is_none() && what == "replay" => task = Some(Task::Replay),
            Value(what) if task.is_none() && what == "tune" => task = Some(Task::Tune),
            Value(what) if task.is_none() && what == "peers" => task = Some(Task::Peers),
            Value(what) if task.is_none() && what == "sampled" => task = Some(Task::Sampled),
            Value(what) if task.is_none() && what == "library" => task = Some(Task::Library),
            _ => return Err(argument.unexpected().into()),
        }
    }
    match task {
        Some(task) => request.task = task,
        None => bail!(
            "say what to measure: `bench record`, `bench analyze`, `bench environment`, `bench replay`, `bench tune`, `bench \
             peers`, `bench sampled` or `bench library`"
        ),
    }
    if (request.real_only || request.after_load) && request.task != Task::Replay {
        bail!("--real-only and --after-load are for `bench replay`");
    }
    if request.pairs == Some(0) {
        bail!("--pairs must be at least 1");
    }
    Ok(Some(request))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &[&str]) -> Result<Option<Request>> {
        parse(lexopt::Parser::from_args(line))
    }

    #[test]
    fn options_are_read() {
        let request = parsed(&["record", "--pairs", "7", "--only", "mt", "--quick"]).unwrap().unwrap();
        assert_eq!((request.pairs, request.quick), (Some(7), true));
        assert_eq!(request.only, ["mt"]);
        assert_eq!(parsed(&["analyze"]).unwrap().unwrap().task, Task::Analyze);
        assert_eq!(parsed(&["environment"]).unwrap().unwrap().task, Task::Environment);
        let replay = parsed(&["replay", "--real-only", "--only", "git"]).unwrap().unwrap();
        assert_eq!((replay.task, replay.real_only), (Task::Replay, true));
        assert_eq!(parsed(&["library", "--only", "inert"]).unwrap().unwrap().task, Task::Library);
        assert_eq!(parsed(&["peers", "--quick"]).unwrap().unwrap().task, Task::Peers);
        assert_eq!(parsed(&["tune", "--only", "batch"]).unwrap().unwrap().task, Task::Tune);
    }

    #[test]
    fn nonsense_is_refused() {
        for line in [
            &["record", "--pairs", "0"][..],
            &["--quick"],
            &["repeat"],
            &["record", "record"],
            &["analyze", "--real-only"],
        ] {
            assert!(parsed(line).is_err(), "{line:?}");
        }
    }
}

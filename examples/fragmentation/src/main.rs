//! Experiments on what an allocator keeps of the memory that a program freed.
//!
//! The program does not bring its own allocator, so that any can be preloaded. What it prints on standard output is the same in
//! every run with the same options; what an allocator changes is printed on standard error.

#![forbid(unsafe_code)]

mod experiments;
mod memory;
mod random;
mod report;
mod service;

use experiments::{DEFAULT, Experiment, Settings};
use lexopt::prelude::*;
use report::Report;
use std::process::ExitCode;

const HELP: &str = "\
Experiments on what an allocator keeps of the memory that a program freed.

Usage: fragmentation EXPERIMENT [OPTIONS] [--json]
       fragmentation service [--port N] [--threads N] [--keep PERCENT] [--seed N]
       fragmentation load [--port N] [--count N]
       fragmentation memory|stop [--port N]

  --threads N      threads that allocate
  --count N        allocations of each; steps for async-pattern and load, texts for batch
  --live N         blocks that each holds at a time
  --keep PERCENT   what stays when the rest is dropped
  --seconds N      how long to look on after that
  --trickle N      allocations of each thread in a second of that time (default 0)
  --same, --cross  who frees; with both, one after the other
  --seed N         where the random numbers begin (default 1)
  --json           phases as JSON on standard output, instead of a table on standard error
  --port N         of the service, on this machine (default 7117)

The service stays and takes the steps of async-pattern when `load` tells it to.

";

/// What to do.
#[derive(Debug)]
enum Task {
    Experiment(&'static Experiment, Settings),
    Service(Settings),
    /// A request to the service.
    Ask(String),
}

#[derive(Debug)]
struct Request {
    task: Task,
    json: bool,
    port: u16,
}

/// What the service does by default; a load's steps are in `count`.
const SERVICE: Settings = Settings { threads: 4, count: 100_000, keep_percent: 1.0, ..DEFAULT };

fn main() -> ExitCode {
    let request = match parse(lexopt::Parser::from_env()) {
        Ok(Some(request)) => request,
        Ok(None) => {
            print!("{HELP}");
            experiments::ALL.iter().for_each(|e| println!("{}", line(e)));
            return ExitCode::SUCCESS;
        }
        Err(error) => {
            eprintln!("fragmentation: {error}");
            return ExitCode::from(2);
        }
    };
    match run(&request) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("fragmentation: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(request: &Request) -> std::io::Result<()> {
    match &request.task {
        Task::Experiment(experiment, settings) => {
            let mut report = Report::begin()?;
            let work = (experiment.run)(settings, &mut report)?;
            if request.json {
                println!("{}", report.json(experiment.name, work));
            } else {
                println!("{}: {} allocations, checksum {}", experiment.name, work.allocations, work.checksum);
                eprint!("{}", report.table());
            }
        }
        Task::Service(settings) => service::serve(settings, request.port)?,
        Task::Ask(question) => println!("{}", service::ask(request.port, question)?),
    }
    Ok(())
}

/// An experiment, its options and their defaults.
fn line(experiment: &Experiment) -> String {
    let Experiment { name, about, options, default, .. } = experiment;
    let shown = options.iter().filter_map(|option| {
        Some(match *option {
            "threads" => format!("--threads {}", default.threads),
            "count" => format!("--count {}", default.count),
            "live" => format!("--live {}", default.live),
            "keep" => format!("--keep {}", default.keep_percent),
            "seconds" => format!("--seconds {}", default.seconds),
            _ => return None,
        })
    });
    format!("  {name:<14} {about}\n{:17}{}", "", shown.collect::<Vec<_>>().join(" "))
}

/// Returns what to do, or `None` when help is asked for.
fn parse(mut parser: lexopt::Parser) -> Result<Option<Request>, lexopt::Error> {
    let name = match parser.next()? {
        Some(Short('h') | Long("help")) => return Ok(None),
        Some(Value(name)) => name.string()?,
        Some(other) => return Err(other.unexpected()),
        None => return Err("say which experiment; --help lists them".into()),
    };
    let experiment = experiments::ALL.iter().find(|experiment| experiment.name == name);
    let (mut settings, allowed): (_, &[&str]) = match (experiment, name.as_str()) {
        (Some(experiment), _) => (experiment.default, experiment.options),
        (None, "service") => (SERVICE, &["port", "threads", "keep", "seed"]),
        (None, "load") => (SERVICE, &["port", "count"]),
        (None, "memory" | "stop") => (SERVICE, &["port"]),
        (None, _) => return Err(format!("there is no experiment {name:?}; --help lists them").into()),
    };
    let (mut json, mut port) = (false, 7117);
    while let Some(argument) = parser.next()? {
        let Long(option) = argument else {
            match argument {
                Short('h') => return Ok(None),
                _ => return Err(argument.unexpected()),
            }
        };
        match option {
            "help" => return Ok(None),
            "json" if experiment.is_some() => json = true,
            option if !allowed.contains(&option) => {
                return Err(format!("{name} has no option --{option}; --help lists them").into());
            }
            "threads" => settings.threads = parser.value()?.parse()?,
            "count" => settings.count = parser.value()?.parse()?,
            "live" => settings.live = parser.value()?.parse()?,
            "keep" => settings.keep_percent = parser.value()?.parse()?,
            "seconds" => settings.seconds = parser.value()?.parse()?,
            "trickle" => settings.trickle = parser.value()?.parse()?,
            "seed" => settings.seed = parser.value()?.parse()?,
            "port" => port = parser.value()?.parse()?,
            "same" => settings.same = true,
            "cross" => settings.cross = true,
            _ => return Err(argument.unexpected()),
        }
    }
    if settings.threads == 0 || settings.live == 0 {
        return Err("--threads and --live must be at least 1".into());
    }
    if !(0.0..=100.0).contains(&settings.keep_percent) {
        return Err("--keep is a percentage, from 0 to 100".into());
    }
    let task = match (experiment, name.as_str()) {
        (Some(experiment), _) => Task::Experiment(experiment, settings),
        (None, "service") => Task::Service(settings),
        (None, "load") => Task::Ask(format!("load {}", settings.count)),
        (None, _) => Task::Ask(name),
    };
    Ok(Some(Request { task, json, port }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &[&str]) -> Result<Option<Request>, lexopt::Error> {
        parse(lexopt::Parser::from_args(line))
    }

    #[test]
    fn options_take_the_places_of_defaults() {
        let request = parsed(&["server", "--threads", "3", "--keep", "0.5", "--json"]).unwrap().unwrap();
        let Task::Experiment(experiment, settings) = request.task else { panic!("{request:?}") };
        assert_eq!((experiment.name, settings.threads, settings.keep_percent), ("server", 3, 0.5));
        assert_eq!(settings.count, experiment.default.count);
        assert!(request.json);
        let request = parsed(&["load", "--port", "99", "--count", "5"]).unwrap().unwrap();
        assert!(matches!(request.task, Task::Ask(question) if question == "load 5"));
        assert_eq!(request.port, 99);
    }

    #[test]
    fn nonsense_is_refused() {
        let lines: [&[&str]; 7] = [
            &[],
            &["servant"],
            &["server", "--same"],
            &["server", "--threads", "0"],
            &["server", "--keep", "101"],
            &["stop", "--count", "1"],
            &["load", "--json"],
        ];
        for line in lines {
            assert!(parsed(line).is_err(), "{line:?}");
        }
    }

    #[test]
    fn options_of_experiments_are_options_that_exist() {
        for experiment in &experiments::ALL {
            for option in experiment.options {
                let flag = matches!(*option, "same" | "cross");
                let option = format!("--{option}");
                let mut line = vec![experiment.name, &option];
                line.extend((!flag).then_some("1"));
                assert!(parsed(&line).is_ok(), "{line:?}");
            }
        }
    }
}

//! The registry of real programs that are run under each allocator: how each is prepared, started, loaded and ended.

use super::inputs;
use crate::workloads::python;
use anyhow::{Context, Result, bail, ensure};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// A program to run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Workload {
    pub(crate) name: &'static str,
    /// How far a prediction of its memory may be off on average.
    pub(crate) mean_error: f64,
    prepare: fn(&Place<'_>) -> Result<Prepared>,
}

/// Where to find things, and how much of them to make.
#[derive(Debug)]
pub(crate) struct Place<'a> {
    /// Where programs of this workspace are.
    pub(crate) target: &'a Path,
    /// Where inputs are kept.
    pub(crate) inputs: &'a Path,
    pub(crate) quick: bool,
}

impl Place<'_> {
    /// A tenth of the usual size, if it has to be quick.
    pub(crate) fn size(&self, usual: usize) -> usize {
        if self.quick { usual / 10 } else { usual }
    }

    pub(crate) fn input(
        &self,
        name: &str,
        size: usize,
        make: impl FnOnce(&Path, usize) -> Result<()>,
    ) -> Result<PathBuf> {
        inputs::once(self.inputs, &format!("{name}-{size}"), |path| make(path, size))
    }

    /// A program of this workspace.
    fn built(&self, name: &str) -> Result<PathBuf> {
        let path = self.target.join("release").join(name);
        ensure!(path.is_file(), "{} is missing: `cargo xtask bench replay` builds it", path.display());
        Ok(path)
    }
}

/// A program that can be run.
#[derive(Debug)]
pub(crate) struct Prepared {
    /// The command line. In it, and in those of a service, `{port}` stands for a free port.
    pub(crate) command: Vec<OsString>,
    pub(crate) environment: Vec<(&'static str, &'static str)>,
    /// What a service is given, when it listens. The last command ends it.
    pub(crate) load: Vec<Vec<OsString>>,
    pub(crate) output: Output,
}

/// What a program prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Output {
    /// The same each time: a run that prints something else did something else.
    Same,
    /// The same lines, in the order in which threads come to it.
    SameLines,
    /// Something that depends on time.
    Differs,
}

/// What stands for a free port.
pub(crate) const PORT: &str = "{port}";

/// Those that are looked at some seconds after their load, before they are ended.
pub(crate) const SERVICES: [Workload; 3] = [
    Workload { name: "async_server", mean_error: 0.05, prepare: async_server },
    Workload { name: "redis", mean_error: 0.05, prepare: redis_burst },
    Workload { name: "service", mean_error: 0.05, prepare: service },
];

const ALL: [Workload; 8] = [
    Workload { name: "python_json", mean_error: 0.05, prepare: python_json },
    Workload { name: "sqlite", mean_error: 0.05, prepare: sqlite },
    Workload { name: "async_server", mean_error: 0.05, prepare: async_server },
    Workload { name: "ripgrep", mean_error: 0.05, prepare: ripgrep },
    Workload { name: "redis", mean_error: 0.05, prepare: redis },
    // Its windows into files are large blocks of which only a part is ever touched.
    Workload { name: "git", mean_error: 0.10, prepare: git },
    Workload { name: "contest", mean_error: 0.05, prepare: contest },
    Workload { name: "batch", mean_error: 0.05, prepare: batch },
];

/// The workloads with these names, or all of them.
pub(crate) fn chosen(names: &[String]) -> Result<Vec<Workload>> {
    of(&ALL, names)
}

/// The services with these names, or all of them.
pub(crate) fn chosen_services(names: &[String]) -> Result<Vec<Workload>> {
    of(&SERVICES, names)
}

fn of(all: &[Workload], names: &[String]) -> Result<Vec<Workload>> {
    if let Some(name) = names.iter().find(|name| !all.iter().any(|workload| workload.name == *name)) {
        let known: Vec<_> = all.iter().map(|workload| workload.name).collect();
        bail!("there is no workload {name}, only {}", known.join(", "));
    }
    let wanted = |name: &str| names.is_empty() || names.iter().any(|wanted| wanted == name);
    Ok(all.iter().copied().filter(|workload| wanted(workload.name)).collect())
}

impl Workload {
    /// Makes its inputs and looks for its program.
    pub(crate) fn prepare(&self, place: &Place<'_>) -> Result<Prepared> {
        (self.prepare)(place).with_context(|| format!("workload {}", self.name))
    }
}

/// A program that ends by itself and always prints the same.
fn program(command: Vec<OsString>) -> Prepared {
    Prepared { command, environment: Vec::new(), load: Vec::new(), output: Output::Same }
}

/// A command line.
pub(crate) fn words(program: impl Into<OsString>, arguments: &[&str]) -> Vec<OsString> {
    std::iter::once(program.into()).chain(arguments.iter().map(OsString::from)).collect()
}

fn python_json(place: &Place<'_>) -> Result<Prepared> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("workloads/json_load.py");
    let mut command = words(python()?, &[]);
    command.extend([script.into(), place.size(40_000).to_string().into()]);
    // Python seeds its hashes at random, and every run has to do the same work.
    let environment = vec![("PYTHONMALLOC", "malloc"), ("PYTHONHASHSEED", "0")];
    Ok(Prepared { environment, ..program(command) })
}

fn sqlite(place: &Place<'_>) -> Result<Prepared> {
    let rows = place.input("rows", place.size(400_000), inputs::csv)?.join("rows.csv");
    let mut command = words("sqlite3", &[":memory:"]);
    command.push("create table t(id integer, name text, filler text, day text, note text)".into());
    command.push(".mode csv".into());
    // Single quotes keep sqlite3's own command line from taking a backslash for something else.
    command.push(format!(".import '{}' t", rows.display()).into());
    command.push("create index by_name on t(name, day); create index by_note on t(note)".into());
    command
        .push("select count(*), sum(length(note)), count(distinct name) from t group by day limit 3".into());
    Ok(program(command))
}

fn async_server(place: &Place<'_>) -> Result<Prepared> {
    let load = place.built("async-server-load")?;
    let (keys, rounds) = (place.size(3_000).to_string(), "3");
    let burst = ["--port", PORT, "--connections", "6", "--keys", &keys, "--rounds", rounds];
    let stop = words(&load, &["--port", PORT, "--connections", "0", "--stop"]);
    let load = words(&load, &burst);
    let command = words(place.built("async-server")?, &["4", PORT]);
    // It prints its port.
    Ok(Prepared { load: vec![load, stop], output: Output::Differs, ..program(command) })
}

fn ripgrep(place: &Place<'_>) -> Result<Prepared> {
    let tree = place.input("tree", place.size(6_000), inputs::tree)?;
    let mut command = words("rg", &["--no-config", "-j4", "-n", r"(buffer|token)_[0-9]*7 +\w+_4"]);
    command.push(tree.into());
    Ok(Prepared { output: Output::SameLines, ..program(command) })
}

fn redis(place: &Place<'_>) -> Result<Prepared> {
    let benchmark = redis_benchmark(place.size(200_000));
    redis_under(vec![benchmark("set", "200"), benchmark("lpush,hset", "40"), benchmark("set", "600")])
}

/// Many keys, most of which are gone again when it becomes quiet.
fn redis_burst(place: &Place<'_>) -> Result<Prepared> {
    let benchmark = redis_benchmark(place.size(200_000));
    let flush = words("redis-cli", &["-p", PORT, "flushall", "sync"]);
    redis_under(vec![benchmark("set", "600"), benchmark("lpush,hset", "40"), flush])
}

/// The server, which commands load before it is ended.
pub(crate) fn redis_under(mut load: Vec<Vec<OsString>>) -> Result<Prepared> {
    let command = words(
        "redis-server",
        &["--bind", "127.0.0.1", "--port", PORT, "--save", "", "--appendonly", "no", "--daemonize", "no"],
    );
    load.push(words("redis-cli", &["-p", PORT, "shutdown", "nosave"]));
    // It prints the time.
    Ok(Prepared { load, output: Output::Differs, ..program(command) })
}

/// A command that sends so many requests of some kind with values of so many bytes.
fn redis_benchmark(requests: usize) -> impl Fn(&str, &str) -> Vec<OsString> {
    let requests = requests.to_string();
    move |test, bytes| {
        let fixed = ["-p", PORT, "-q", "-n", &requests, "-r", "100000", "-P", "16", "-t", test, "-d", bytes];
        words("redis-benchmark", &fixed)
    }
}

fn git(place: &Place<'_>) -> Result<Prepared> {
    let repository = place.input("repository", place.size(600), inputs::repository)?;
    let mut command = words("git", &["-C"]);
    command.push(repository.into());
    command.extend(words(
        "pack-objects",
        &[
            "--all",
            "--no-reuse-delta",
            "--no-reuse-object",
            "--threads=4",
            "--window=20",
            "--stdout",
            "--quiet",
        ],
    ));
    let environment = inputs::GIT_ENVIRONMENT.to_vec();
    // Which deltas it finds depends on which thread comes first.
    Ok(Prepared { environment, output: Output::Differs, ..program(command) })
}

fn contest(place: &Place<'_>) -> Result<Prepared> {
    let generate = place.built("poetry-generate")?;
    let rounds = place.size(30);
    let data = inputs::once(place.inputs, &format!("poems-{rounds}"), |path| {
        let status = std::process::Command::new(&generate)
            .args(["--rounds", &rounds.to_string(), "--out"])
            .arg(path)
            .stdout(std::process::Stdio::null())
            .status()?;
        ensure!(status.success(), "poetry-generate ended with {status}");
        Ok(())
    })?;
    let mut command = words(place.built("poetry-contest")?, &["v01", "--data"]);
    command.push(data.into());
    Ok(program(command))
}

fn service(place: &Place<'_>) -> Result<Prepared> {
    let program = place.built("fragmentation")?;
    let steps = place.size(100_000).to_string();
    let command = words(&program, &["service", "--port", PORT]);
    let load = vec![
        words(&program, &["load", "--port", PORT, "--count", &steps]),
        words(&program, &["stop", "--port", PORT]),
    ];
    // It prints its port.
    Ok(Prepared { command, environment: Vec::new(), load, output: Output::Differs })
}

fn batch(place: &Place<'_>) -> Result<Prepared> {
    let texts = place.size(1_500).to_string();
    Ok(program(words(place.built("fragmentation")?, &["batch", "--count", &texts])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_name_is_answered_with_the_known_ones() {
        assert_eq!(chosen(&[]).unwrap().len(), ALL.len());
        assert_eq!(chosen_services(&["service".into()]).unwrap().len(), 1);
        assert!(chosen_services(&["git".into()]).is_err());
        assert_eq!(chosen(&["git".into()]).unwrap()[0].name, "git");
        let error = chosen(&["svn".into()]).unwrap_err().to_string();
        assert!(error.contains("no workload svn") && error.contains("ripgrep"), "{error}");
    }
}

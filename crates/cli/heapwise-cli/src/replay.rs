//! `heapwise replay`: replays a recording's allocations with other allocators; and the process that does it.

use crate::args::{Format, ReplayArgs};
use crate::progress::{Progress, rounded};
use crate::{Failure, exit, interrupt, report, result};
use anyhow::{Context, anyhow};
use bytesize::ByteSize;
use heapwise_allocators::{Candidate, GLIBC, Libraries, by_library};
use heapwise_analysis::{Analysis, Warning};
use heapwise_environment::MachineDescription;
use heapwise_report::replay::{Replay, html, json, markdown, text};
use heapwise_report::say;
use heapwise_trace::file::Reader;
use heapwise_trial::replay::trial::{Options, Timed, Trial, try_all};
use heapwise_trial::replay::{Script, ScriptError, compile, worker};
use std::collections::HashSet;
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;
use std::time::Duration;

/// How long a replay with pauses may take if no time is given.
const LONGEST: Duration = Duration::from_secs(30);
/// Determines the order of rounds: any number.
const SEED: u64 = 0x5eed;

/// Replays and does not return if this process was started for that. It comes before everything else, since all allocations of
/// this process would lie on the heap that is measured.
pub(crate) fn work_if_asked() {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().is_some_and(|first| first == worker::COMMAND) {
        let rest: Vec<String> = arguments.map(|a| a.to_string_lossy().into_owned()).collect();
        if let [parent, shared, records] = rest.as_slice() {
            worker::work(parent, shared, records);
        }
    }
}

/// Replays a recording.
pub(crate) fn replay(args: &ReplayArgs) -> Result<u8, Failure> {
    result::check_page(args.form, &args.destination, &[&args.recording], Path::new("replay.html"))?;
    // A script that exceeds the file size limit must become an error message, not a signal.
    heapwise_collector::signals::survive_size_limit();
    let asked = asked(args.with.as_deref())?;
    let analysis = report::load(&args.recording)?;
    let ready = Ready::new(&args.recording, &analysis, args.pid, asked, args.memory)?;
    let timed = args.timed.then(|| Timed {
        compression: args
            .compress
            .unwrap_or_else(|| compression(Duration::from_nanos(ready.script.duration().0))),
        settle: args.settle.unwrap_or_default(),
    });
    let trial = ready.replay(args.runs, timed, args.stall_timeout)?;
    let (process, now) = (ready.process, ready.now);
    let machine = MachineDescription::look();
    let found = Replay { trial: &trial, analysis: &analysis, process, now: &now, machine: &machine };
    result::write_page(args.form, &args.destination, |style| match args.form.format {
        Format::Text => text(&found, style),
        Format::Json => json(&found),
        Format::Markdown => markdown(&found),
        Format::Html => html(&found),
    })?;
    if trial.is_interrupted {
        return Ok(exit::INTERRUPTED);
    }
    let failed = |t: &heapwise_trial::replay::trial::Tried| {
        t.results.as_ref().map_or(true, |results| results.failure().is_some())
    };
    Ok(if trial.tried.iter().any(failed) { exit::FOUND } else { exit::SUCCESS })
}

/// A recording that can be replayed.
pub(crate) struct Ready {
    /// The process whose part of it is replayed.
    process: usize,
    script: Script,
    /// The allocator that it had, or what stands for that.
    pub(crate) now: Candidate,
    candidates: Vec<Candidate>,
    memory: Option<u64>,
}

impl Ready {
    /// With candidates that were asked for, or with all that are there; the same for the process and the memory.
    pub(crate) fn new(
        path: &Path,
        analysis: &Analysis,
        pid: Option<u32>,
        asked: Option<Vec<Candidate>>,
        memory: Option<ByteSize>,
    ) -> Result<Self, Failure> {
        refuse_claims(analysis, path)?;
        let process = process_of(analysis, pid)?;
        let now = recorded(analysis.called_main(&analysis.processes[process]), RecordedBy::Others)?;
        let candidates = candidates(asked, &now, crate::bundled::libraries())?;
        let script = script_of(path, analysis, process)?;
        let memory = memory_for(&script, memory)?;
        Ok(Self { process, script, now, candidates, memory })
    }

    pub(crate) fn replay(
        &self,
        rounds: u32,
        timed: Option<Timed>,
        patience: Duration,
    ) -> Result<Trial, Failure> {
        let candidates = self.candidates.clone();
        let options =
            Options { candidates, rounds, fast: true, timed, patience, seed: SEED, memory: self.memory };
        trial(&self.script, crate::bundled::libraries(), &options)
    }
}

/// Tries all candidates, with a progress bar.
fn trial(script: &Script, libraries: &Libraries, options: &Options) -> Result<Trial, Failure> {
    let program = std::env::current_exe().context("cannot find out where heapwise itself is")?;
    let progress = Progress::new();
    let interrupted = interrupt::flag()?;
    let trial = try_all(script, program, libraries, options, &interrupted, &|step| {
        let left = step.left.map(|left| format!(", about {} left", rounded(left)));
        let what = format!("{}{}", step.what, left.unwrap_or_default());
        progress.at_step(&what, step.done, step.total);
    });
    drop(progress);
    Ok(trial)
}

/// The candidates of the command line.
fn asked(list: Option<&str>) -> Result<Option<Vec<Candidate>>, Failure> {
    list.map(Candidate::parse_list).transpose().map_err(|error| Failure::new(exit::USAGE, error))
}

/// The candidates: those of the command line, or the recorded program's allocator and each one that is available.
fn candidates(
    asked: Option<Vec<Candidate>>,
    now: &Candidate,
    libraries: &Libraries,
) -> Result<Vec<Candidate>, Failure> {
    let all = match asked {
        Some(asked) => asked,
        None => {
            let there = heapwise_allocators::all().iter().filter(|allocator| libraries.has(**allocator));
            let parse =
                |name: &str| Candidate::parse(name).map_err(|error| Failure::new(exit::UNEXPECTED, error));
            let others: Result<Vec<_>, _> = there.map(|allocator| parse(allocator.name())).collect();
            std::iter::once(now.clone()).chain(others?).collect()
        }
    };
    // `default` means the recorded program's allocator.
    let all = all.into_iter().map(|c| if c.is_as_it_is() { now.clone() } else { c });
    let mut seen = HashSet::new();
    Ok(all.filter(|candidate| seen.insert(candidate.clone())).collect())
}

/// The recorded program's allocator: from the path of the object that had its `malloc`, or, if the program recorded itself, from
/// the name of the type below its wrapper.
pub(crate) fn recorded(object: &str, by: RecordedBy) -> Result<Candidate, Failure> {
    let name = match candidate_of(object) {
        Some(path)
            if path.contains('/') && by == RecordedBy::Others && !is_of_the_system(Path::new(path)) =>
        {
            say!(
                "heapwise: the recording names {object} as the program's allocator, which is not loaded for that: it is not a library \
                 of the system; glibc takes its place, or name it yourself"
            );
            "glibc"
        }
        Some(name) => name,
        None => {
            say!(
                "heapwise: the program's own allocator ({object}) cannot be used in a replay; glibc takes its place, or name another one"
            );
            "glibc"
        }
    };
    Candidate::parse(name).map_err(|error| Failure::new(exit::UNEXPECTED, error))
}

/// Who has made a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RecordedBy {
    /// This process, of a program that its user has named.
    Us,
    /// Perhaps another user. A program or library that the recording names must not be run because of it.
    Others,
}

/// Whether a library lies where only the system's administrator puts libraries.
fn is_of_the_system(library: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    const FOLDERS: &[&str] = &["/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib"];
    let Ok(real) = library.canonicalize() else { return false };
    let is_below =
        |folder: &&str| Path::new(folder).canonicalize().is_ok_and(|folder| real.starts_with(folder));
    let is_roots =
        |path: &Path| path.metadata().is_ok_and(|facts| facts.uid() == 0 && facts.mode() & 0o002 == 0);
    FOLDERS.iter().any(is_below) && real.ancestors().all(is_roots)
}

/// The candidate for what a recording calls an allocator; `None` if there is none.
fn candidate_of(object: &str) -> Option<&str> {
    let file = object.rsplit('/').next().unwrap_or_default();
    let is_c_library = by_library(file).is_some_and(|family| family.name == GLIBC);
    if object.contains('/') && !is_c_library {
        return Some(object);
    }
    // A program that is linked statically has the C library's in itself.
    if file.is_empty()
        || is_c_library
        || ["malloc", GLIBC].contains(&file)
        || object.contains("std::alloc::System")
    {
        return Some(GLIBC);
    }
    let family = heapwise_allocators::by_type(object)?;
    let all = heapwise_allocators::all().iter();
    all.filter(|allocator| std::ptr::eq(allocator.family(), family)).map(|allocator| allocator.name()).next()
}

/// The process that the command line names, or the one that allocates most.
pub(crate) fn process_of(analysis: &Analysis, pid: Option<u32>) -> Result<usize, Failure> {
    let all = &analysis.processes;
    match pid {
        Some(pid) => all.iter().position(|p| p.pid == pid).ok_or_else(|| {
            let known: Vec<String> = all.iter().map(|p| p.pid.to_string()).collect();
            let error = anyhow!("the recording has no process {pid}; it has {}", known.join(", "));
            Failure::new(exit::USAGE, error)
        }),
        None => (0..all.len()).max_by_key(|&i| all[i].totals.allocations).ok_or_else(|| {
            Failure::new(
                exit::UNREADABLE,
                anyhow!("there is no process in the recording, so nothing to replay"),
            )
        }),
    }
}

/// The memory that all replays together may use, if the available memory is known; enough for one of them.
pub(crate) fn memory_for(script: &Script, asked: Option<ByteSize>) -> Result<Option<u64>, Failure> {
    // The other half is for the rest of the machine, and for what an allocator takes besides.
    let half = || heapwise_environment::available_memory().map(|available| available / 2);
    let Some(most) = asked.map(|asked| asked.as_u64()).or_else(half) else { return Ok(None) };
    let needed = script.memory().0;
    if needed > most {
        let error = anyhow!(
            "a replay would touch {} MiB of memory, and may take {} MiB{}; --memory allows another amount, or replay it on a \
             machine with more",
            needed.div_ceil(1 << 20),
            most >> 20,
            if asked.is_none() { ", half of what is available" } else { "" },
        );
        return Err(Failure::new(exit::UNREADABLE, error));
    }
    Ok(Some(most))
}

/// A recording that claims more than a file of its size can hold is of no real program: what precedes the claim is not replayed.
pub(crate) fn refuse_claims(analysis: &Analysis, path: &Path) -> Result<(), Failure> {
    let mut warnings = analysis.warnings.iter();
    let claims = warnings.find(|warning| matches!(warning, Warning::Damaged { claim: Some(_), .. }));
    claims.map_or(Ok(()), |warning| {
        let error = anyhow!("cannot replay {}: {warning}", path.display());
        Err(Failure::new(exit::UNREADABLE, error))
    })
}

/// Compiles the script of a process.
pub(crate) fn script_of(path: &Path, analysis: &Analysis, process: usize) -> Result<Script, Failure> {
    let file = report::open(path)?;
    compile_from(BufReader::with_capacity(1 << 20, &file), &file, path, analysis, process)
}

/// The same for a given reader of the file.
pub(crate) fn compile_from(
    input: impl Read + Send,
    file: &File,
    path: &Path,
    analysis: &Analysis,
    process: usize,
) -> Result<Script, Failure> {
    let name = || format!("cannot read {}", path.display());
    let unreadable = |error: anyhow::Error| Failure::new(exit::UNREADABLE, error);
    let total = file.metadata().map_or(0, |m| m.len());
    let reader = Reader::new(input).with_context(name).map_err(unreadable)?;
    let progress = Progress::new();
    let script = compile(reader, analysis, process, |at| progress.at("compiling", at, total));
    let script = script.map_err(|error| match error {
        ScriptError::Recording(error) => unreadable(anyhow!(error).context(name())),
        error @ ScriptError::Sampled { .. } => unreadable(anyhow!(error)),
        error => Failure::new(exit::UNEXPECTED, error),
    })?;
    if script.counts().calls() == 0 {
        let error = anyhow!(
            "the process allocates nothing that was recorded, so there is nothing to replay; --pid names another one"
        );
        return Err(Failure::new(exit::UNREADABLE, error));
    }
    Ok(script)
}

/// How much pauses have to be compressed for a replay that takes `LONGEST` at most.
pub(crate) fn compression(duration: Duration) -> u32 {
    u32::try_from(duration.as_nanos().div_ceil(LONGEST.as_nanos())).unwrap_or(1000).clamp(1, 1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recording_has_no_library_loaded_but_those_of_the_system() {
        let folder = tempfile::tempdir().unwrap();
        let library = folder.path().join("evil.so");
        std::fs::write(&library, "").unwrap();
        let name = library.to_str().unwrap();
        assert_eq!(recorded(name, RecordedBy::Others).unwrap(), Candidate::parse("glibc").unwrap());
        assert_eq!(recorded(name, RecordedBy::Us).unwrap(), Candidate::parse(name).unwrap());
        let up = format!("/usr/lib/../..{name}");
        assert_eq!(recorded(&up, RecordedBy::Others).unwrap(), Candidate::parse("glibc").unwrap());
        assert!(!is_of_the_system(Path::new("/usr/lib/no/such/library.so")));
        assert!(!is_of_the_system(Path::new("/dev/null")));
    }

    #[test]
    fn what_a_recording_calls_an_allocator_is_a_candidate() {
        assert_eq!(candidate_of(""), Some("glibc"));
        assert_eq!(candidate_of("/lib/x86_64-linux-gnu/libc.so.6"), Some("glibc"));
        assert_eq!(candidate_of("malloc"), Some("glibc"));
        assert_eq!(candidate_of("/usr/lib/libjemalloc.so.2"), Some("/usr/lib/libjemalloc.so.2"));
        assert_eq!(candidate_of("tikv_jemallocator::Jemalloc"), Some("jemalloc"));
        assert_eq!(candidate_of("mimalloc::MiMalloc"), Some("mimalloc"));
        assert_eq!(candidate_of("app::Counting<snmalloc_rs::SnMalloc>"), Some("snmalloc"));
        assert_eq!(candidate_of("app::Counting<std::alloc::System>"), Some("glibc"));
        assert_eq!(candidate_of("app::Arena"), None);
    }
}

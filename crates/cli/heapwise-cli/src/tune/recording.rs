//! The recording for a search: an existing one, or one of the program that is made for it.
//!
//! A recording that is made has a name only until it is opened, so nothing is left behind however tune ends. The recorded program
//! ends with its recorder, which ends with tune.

use super::interruptible::Interruptible;
use crate::progress::Progress;
use crate::replay::RecordedBy;
use crate::{Failure, compare, exit, replay, report};
use anyhow::{Context, anyhow};
use heapwise_analysis::Analysis;
use heapwise_trial::compare::{Candidate, Error, Outcome, Program, Sample, Service, measure};
use heapwise_trial::replay::Script;
use std::fs::File;
use std::io::{self, Seek};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How often to check whether the recorder has created its file.
const LOOK: Duration = Duration::from_millis(1);

/// How long a recorder may take to write the rest after a server was requested to stop.
const STOP_LIMIT: Duration = Duration::from_secs(60);

/// A recording that can be read.
#[derive(Debug)]
pub(super) struct Recording {
    file: File,
    /// Its name in error messages.
    name: PathBuf,
    /// How the program was recorded, if it was recorded for this.
    made: Option<Sample>,
}

impl Recording {
    /// An existing one.
    pub(super) fn open(path: &Path) -> Result<Self, Failure> {
        let file = report::open(path)?;
        Ok(Self { file, name: path.to_owned(), made: None })
    }

    /// Records the program once, driven as it will be later.
    pub(super) fn make(
        program: &Program,
        own: &Path,
        interrupted: &Arc<AtomicBool>,
    ) -> Result<Self, Failure> {
        // Recordings hold names of the program; only the owner can read a temporary folder.
        let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
        let path = folder.path().join("tune.hw");
        let mut command = vec![own.into(), "run".into(), "--no-report".into(), "--end-together".into()];
        command.extend(["-o".into(), path.clone().into(), "--".into()]);
        command.extend(program.command.iter().cloned());
        let service = program.service.clone().map(|service| Service { stop_limit: STOP_LIMIT, ..service });
        let recorded = Program { command, service, ..program.clone() };
        let progress = Progress::new();
        progress.at_step("recording the program", 0, 1);
        let limits = measure::Limits { timeout: None, interrupted };
        let is_over = AtomicBool::new(false);
        let (sample, file) = std::thread::scope(|scope| {
            let opening = scope.spawn(|| open_without_name(&path, &is_over));
            let sample = measure::measure(&recorded, &Candidate::default(), &limits);
            is_over.store(true, Ordering::Relaxed);
            (sample, opening.join().ok().flatten())
        });
        drop(progress);
        let sample = sample.map_err(|error| match error {
            Error::Interrupted => interrupted_early(),
            error => compare::failure(error),
        })?;
        if let Some(what) = not_driven(&sample) {
            return Err(Failure::new(exit::UNEXPECTED, anyhow!("{} {what}", name(program))));
        }
        let Some(file) = file else { return Err(not_recorded(program, &sample)) };
        Ok(Self { file, name: "the recording".into(), made: Some(sample) })
    }

    /// Who made it.
    pub(super) fn made_by(&self) -> RecordedBy {
        if self.made.is_some() { RecordedBy::Us } else { RecordedBy::Others }
    }

    /// What makes the recording of the program less useful than it should be, in a sentence.
    pub(super) fn caveat(&self) -> Option<String> {
        let sample = self.made.as_ref()?;
        let is_odd = match sample.outcome {
            Outcome::Exited(code) => code != 0 && sample.load.is_none(),
            Outcome::Killed(_) | Outcome::TimedOut => true,
            Outcome::NotReady | Outcome::Died { .. } | Outcome::Stopped => false,
        };
        is_odd.then(|| format!("When the program was recorded, it ended with {}.", sample.outcome.words()))
    }

    /// Analyses it, and compiles the script of the process with this id, or of the one that allocates most.
    pub(super) fn script(
        &self,
        program: Option<&Program>,
        pid: Option<u32>,
        interrupted: &AtomicBool,
    ) -> Result<(Analysis, usize, Script), Failure> {
        let early = |failure: Failure| match interrupted.load(Ordering::Relaxed) {
            true => interrupted_early(),
            false => failure,
        };
        let read = || -> io::Result<_> {
            (&self.file).rewind()?;
            Ok(Interruptible::new(&self.file, interrupted))
        };
        // Symbols are not needed: they are for reports.
        let analysis = report::read_from(read()?, &self.file, &self.name).map(|read| read.named([]));
        let analysis = analysis.map_err(|error| early(Failure::new(exit::UNREADABLE, error)))?;
        if let (Some(sample), Some(program), true) = (&self.made, program, analysis.processes.is_empty()) {
            return Err(not_recorded(program, sample));
        }
        replay::refuse_claims(&analysis, &self.name)?;
        let process = replay::process_of(&analysis, pid)?;
        let script = replay::compile_from(read()?, &self.file, &self.name, &analysis, process);
        let script = script.map_err(early)?;
        if interrupted.load(Ordering::Relaxed) {
            return Err(interrupted_early());
        }
        Ok((analysis, process, script))
    }
}

/// Opens a file as soon as it exists, and removes its name and its folder.
fn open_without_name(path: &Path, is_over: &AtomicBool) -> Option<File> {
    loop {
        let was_over = is_over.load(Ordering::Relaxed);
        if let Ok(file) = File::open(path) {
            let _ = std::fs::remove_file(path);
            let _ = path.parent().map(std::fs::remove_dir);
            return Some(file);
        }
        if was_over {
            return None;
        }
        std::thread::sleep(LOOK);
    }
}

/// Why a server was not recorded under its load: a search would be about something else.
fn not_driven(sample: &Sample) -> Option<String> {
    let load =
        sample.load.as_ref().map(|load| &load.outcome).filter(|outcome| **outcome != Outcome::Exited(0));
    match (&sample.outcome, load) {
        (Outcome::NotReady, _) => Some(
            "did not become ready in time when it was recorded; look at --ready, and at what it says when it is started alone"
                .to_owned(),
        ),
        // The recorder's own codes; its message is reported elsewhere.
        (Outcome::Died { code: Some(125..=127), .. }, _) => None,
        (Outcome::Died { .. }, _) => Some(format!(
            "ended when it was recorded ({}); a program that ends by itself is tuned without --ready and --load",
            sample.outcome.words()
        )),
        (_, Some(load)) => Some(format!(
            "was recorded under a load that ended with {}; try the command of --load by itself",
            load.words()
        )),
        _ => None,
    }
}

fn name(program: &Program) -> String {
    program.command.first().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

fn interrupted_early() -> Failure {
    let error = anyhow!("interrupted before anything was replayed: there is nothing to show");
    Failure::new(exit::INTERRUPTED, error)
}

/// The recorder's message, with the exit code that stands for it.
fn not_recorded(program: &Program, sample: &Sample) -> Failure {
    let said = String::from_utf8_lossy(&sample.stderr.start);
    let said = said.lines().filter_map(|line| line.strip_prefix("heapwise: error: ")).next_back();
    match (sample.outcome.code(), said) {
        (Some(code @ 125..=127), Some(said)) => {
            let code = match code {
                126 => exit::NOT_EXECUTABLE,
                127 => exit::NO_SUCH_PROGRAM,
                _ => exit::UNEXPECTED,
            };
            Failure::new(code, anyhow!("{}", heapwise_report::escape::terminal::escape(said)))
        }
        (_, said) => {
            let said = said.map_or_else(String::new, |said| {
                format!(": {}", heapwise_report::escape::terminal::escape(said))
            });
            let error = anyhow!(
                "{} could not be recorded ({}){said}; see what heapwise run says about it",
                name(program),
                sample.outcome.words()
            );
            Failure::new(exit::UNEXPECTED, error)
        }
    }
}

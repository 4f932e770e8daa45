//! Whether a candidate is really what a program gets.
//!
//! If a library does not load, the loader goes on after a line that is easily missed, and the program runs with the C library's
//! allocator. A setting whose name or variable is wrong is ignored without even that. So before anything is measured, this
//! program is started once more with the candidate, and reports which object has its `malloc`, whose numbers grow when it
//! allocates, and which values its settings have.

mod answer;
mod own;
mod symbols;
mod tunables;

use crate::libraries::Prepared;
use crate::registry::{self, Origin};
use answer::Answer;
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::process::{Command, ExitStatus, Output};
use std::time::Duration;

pub use own::{OwnStatistics, own_object, own_statistics, purge_own};
pub(crate) use symbols::object_of;

/// The command of this program that answers; see [`answer_here`].
pub const COMMAND: &str = "allocator-identity";
/// A process that has not answered by then will not.
const PATIENCE: Duration = Duration::from_secs(5);
/// Variables that would make an allocator write files.
const WRITERS: &[&str] = &["HEAPPROFILE", "HEAPCHECK", "CPUPROFILE", "MALLOC_TRACE"];

/// The allocator that a process really has.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Identity {
    /// What the allocator calls itself; a library of the user's may not report that.
    pub name: Option<String>,
    /// The exact version that it reports; always there for glibc and the allocators of the registry.
    pub version: Option<String>,
    /// The path of the object that has `malloc`.
    pub object: String,
    /// The usable size of a block for a request of 100 bytes.
    pub usable_of_100: u64,
    /// Resident memory of this program under the candidate, with 1 MB allocated and freed, in bytes.
    pub rss_bytes: u64,
    /// Settings that were chosen, with the value that the allocator reports as in force; `None` if it does not report it.
    pub settings: BTreeMap<String, Option<String>>,
}

/// Why a candidate is not what it is called.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IdentityError {
    /// The loader passed the library over.
    #[error("{candidate} does not load: {message}")]
    DoesNotLoad {
        /// As on the command line.
        candidate: String,
        /// The loader's own line, without its beginning.
        message: String,
    },
    /// It loads, and another allocator is in use.
    #[error("{candidate} is not in use: malloc is that of {object} (has the library a malloc?)")]
    NotInUse {
        /// As on the command line.
        candidate: String,
        /// The object that has it instead.
        object: String,
    },
    /// It has malloc, and is not the allocator that its name promises.
    #[error("{candidate} is not what it is called: {found}")]
    Another {
        /// As on the command line.
        candidate: String,
        found: String,
    },
    /// A setting did not arrive.
    #[error("{candidate}: the settings are not understood: {message}")]
    Settings {
        /// As on the command line.
        candidate: String,
        /// What the allocator printed, or which value it has.
        message: String,
    },
    /// The process that was to answer did not.
    #[error("a program with {candidate} {what}")]
    NoAnswer {
        /// As on the command line.
        candidate: String,
        /// What it did instead, with what it printed.
        what: String,
    },
    /// Nothing could be started.
    #[error("cannot start {program} to try {candidate}: {reason}")]
    Start {
        program: String,
        /// As on the command line.
        candidate: String,
        reason: std::io::Error,
    },
}

/// Answers for this process, as one line of JSON, about its allocator and these settings. What [`identify`] starts prints
/// it.
pub fn answer_here(settings: &[String]) -> String {
    serde_json::to_string(&answer::here(settings)).unwrap_or_default()
}

/// Starts this program with a candidate, and compares what it reports with what the candidate promises. Takes some milliseconds,
/// and 5 seconds at most.
///
/// # Errors
/// [`IdentityError`]. If there is none, the candidate is in use, and each of its settings that the allocator reports has the
/// value that was chosen.
pub fn identify(prepared: &Prepared, run: Run<'_>) -> Result<Identity, IdentityError> {
    identify_with(Path::new("/proc/self/exe"), prepared, run)
}

/// The same with another program that has the command, for tests.
///
/// # Errors
/// As [`identify`].
pub fn identify_with(program: &Path, prepared: &Prepared, run: Run<'_>) -> Result<Identity, IdentityError> {
    let names = prepared.candidate().settings().iter().map(|(name, _)| name);
    let mut command = Command::new(program);
    command.arg(COMMAND).args(names);
    prepared.apply(&mut command);
    // A value that it cannot read is otherwise silently ignored.
    command.env("MIMALLOC_SHOW_ERRORS", "1");
    for variable in WRITERS {
        command.env_remove(variable);
    }
    let candidate = prepared.candidate().to_string();
    let probe = run(&mut command, PATIENCE).map_err(|reason| IdentityError::Start {
        program: program.display().to_string(),
        candidate: candidate.clone(),
        reason,
    })?;
    let probe = ProbeOutput::from(probe.ok_or_else(|| IdentityError::NoAnswer {
        candidate: candidate.clone(),
        what: format!("did not end within {} s", PATIENCE.as_secs()),
    })?);
    let mut identity = judge(prepared, &candidate, &probe)?;
    if prepared.candidate().allocator().is_some_and(|a| a.origin() == Origin::CLibrary) {
        tunables::prove(prepared, &mut identity, &probe.loader(), run)?;
    }
    Ok(identity)
}

/// What a process left.
struct ProbeOutput {
    status: ExitStatus,
    output: String,
    errors: String,
}

impl ProbeOutput {
    fn answer(&self) -> Option<Answer> {
        self.output.lines().find_map(|line| serde_json::from_str(line).ok())
    }

    fn loader(&self) -> String {
        self.answer().unwrap_or_default().loader
    }
}

/// Runs a command to its end, for so long at most, and keeps what it printed: `None` if it took longer. Processes are started and
/// ended elsewhere.
pub type Run<'a> = &'a dyn Fn(&mut Command, Duration) -> io::Result<Option<Output>>;

impl From<Output> for ProbeOutput {
    fn from(Output { status, stdout, stderr }: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Self { status, output: text(stdout), errors: text(stderr) }
    }
}

/// What the loader prints about a library that it does not load: `ERROR: ld.so: object '…' from LD_PRELOAD cannot be preloaded
/// (reason): ignored.`
fn loader_message(errors: &str, preload: &Path) -> Option<String> {
    let object = format!("object '{}' from LD_PRELOAD ", preload.display());
    let line = errors.lines().find(|line| line.contains("ld.so: ") && line.contains(&object))?;
    let (_, message) = line.split_once(&object)?;
    Some(message.trim_end_matches('.').trim_end_matches(": ignored").to_owned())
}

/// What allocators print about settings that they do not understand. What they print about outdated names of settings is no
/// complaint.
fn complaint(errors: &str) -> Option<&str> {
    let complains =
        |line: &&str| registry::families().any(|family| family.complaints.iter().any(|one| one.fits(line)));
    errors.lines().find(complains)
}

fn judge(prepared: &Prepared, candidate: &str, probe: &ProbeOutput) -> Result<Identity, IdentityError> {
    let name = candidate.to_owned();
    if let Some(message) = prepared.preload().and_then(|p| loader_message(&probe.errors, p)) {
        return Err(IdentityError::DoesNotLoad { candidate: name, message });
    }
    if let Some(line) = complaint(&probe.errors) {
        return Err(IdentityError::Settings { candidate: name, message: line.to_owned() });
    }
    let Some(answer) = probe.answer().filter(|_| probe.status.success()) else {
        let said = probe.errors.lines().find(|line| !line.trim().is_empty());
        let said = said.map_or_else(|| "it said nothing".to_owned(), |line| format!("it said: {line}"));
        return Err(IdentityError::NoAnswer {
            candidate: name,
            what: format!("ended with {}; {said}", probe.status),
        });
    };
    if let Some(preload) = prepared.preload()
        && Path::new(&answer.object) != preload
    {
        return Err(IdentityError::NotInUse { candidate: name, object: answer.object });
    }
    let another = |found: String| Err(IdentityError::Another { candidate: name.clone(), found });
    if answer.usable_of_100 < 100 {
        return another(format!("it says that a block of 100 bytes has {}", answer.usable_of_100));
    }
    if let Some(allocator) = prepared.candidate().allocator() {
        if answer.name.as_deref() != Some(allocator.name()) {
            return another(format!("it reports the name {:?}", answer.name.unwrap_or_default()));
        }
        let version = answer.version.as_deref().unwrap_or_default();
        let is_bundled = !matches!(allocator.origin(), Origin::Installed { .. });
        // jemalloc adds where in its history it is: 5.3.1-0-g81034ce.
        if is_bundled && version.split('-').next() != Some(allocator.version().as_str()) {
            return another(format!("it is {version}, and not {}", allocator.version()));
        }
        // The count of the C library's allocator gives a library away that hands calls on to it.
        let (grew, allocated) = (answer.c_library_grew_bytes, answer.allocated_bytes);
        let is_right =
            if allocator.origin() == Origin::CLibrary { grew >= allocated } else { grew < allocated / 10 };
        if !is_right {
            return another(format!(
                "the C library's own allocator grew by {grew} bytes while {allocated} were allocated"
            ));
        }
    }
    let settings = prove(prepared, candidate, &answer)?;
    Ok(Identity {
        name: answer.name,
        version: answer.version,
        object: answer.object,
        usable_of_100: answer.usable_of_100,
        rss_bytes: answer.rss_bytes,
        settings,
    })
}

/// Compares the values that are in force with those that were chosen.
fn prove(
    prepared: &Prepared,
    candidate: &str,
    answer: &Answer,
) -> Result<BTreeMap<String, Option<String>>, IdentityError> {
    let known = prepared.candidate().allocator().map_or(&[][..], |a| a.settings());
    let mut proven = BTreeMap::new();
    for (name, chosen) in prepared.candidate().settings().iter() {
        let actual = answer.settings.get(name);
        let setting = known.iter().find(|s| s.name == name);
        let actual =
            actual.map(|value| setting.and_then(|s| s.accept(value)).unwrap_or_else(|| value.clone()));
        if let Some(actual) = actual.as_deref().filter(|actual| *actual != chosen) {
            let message = format!("{name} is {actual} in the program instead of {chosen}");
            return Err(IdentityError::Settings { candidate: candidate.to_owned(), message });
        }
        proven.insert(name.to_owned(), actual);
    }
    Ok(proven)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_loader_says_is_found() {
        let errors = "noise\nERROR: ld.so: object '/a/b.so' from LD_PRELOAD cannot be preloaded (file too short): ignored.\n";
        let found = loader_message(errors, Path::new("/a/b.so"));
        assert_eq!(found.as_deref(), Some("cannot be preloaded (file too short)"));
        assert_eq!(loader_message(errors, Path::new("/a/c.so")), None);
    }

    #[test]
    fn complaints_of_allocators_are_found() {
        assert!(complaint("<jemalloc>: Invalid conf pair: bogus:1\n").is_some());
        assert!(
            complaint("x\nmimalloc: warning: environment option mimalloc_purge_delay has an invalid value.")
                .is_some()
        );
        assert!(
            complaint(
                "mimalloc: warning: environment option \"mimalloc_x\" is deprecated\n<jemalloc>: statistics"
            )
            .is_none()
        );
    }
}

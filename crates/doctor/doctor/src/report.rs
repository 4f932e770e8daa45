//! The results of a survey, and what collects them.

use crate::edit::{self, Change, Edit, Fix};
use crate::given::{Given, Mistake};
use crate::places::{Owner, Places};
use crate::source::{MOST_BYTES, Refused, Source};
use heapwise_environment::{Finding, Severity};
use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};

/// Whether a launch has a checking heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    Yes,
    No,
    /// It depends on something that is in no file.
    Unknown,
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Yes => "yes",
            Self::No => "no",
            Self::Unknown => "unknown",
        })
    }
}

/// Whether a launch has a checking heap, and why: that of Windows or, for Xcode, malloc with checks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DebugHeap {
    pub answer: Answer,
    /// Why, in a few words.
    pub why: String,
}

impl DebugHeap {
    pub(crate) fn yes(why: impl Into<String>) -> Self {
        Self { answer: Answer::Yes, why: why.into() }
    }

    pub(crate) fn no(why: impl Into<String>) -> Self {
        Self { answer: Answer::No, why: why.into() }
    }

    pub(crate) fn unknown(why: impl Into<String>) -> Self {
        Self { answer: Answer::Unknown, why: why.into() }
    }
}

/// A way to start a program that a configuration describes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    /// The debugger or editor.
    pub tool: String,
    /// What the configuration is called.
    pub name: String,
    /// The file that it is in.
    pub file: PathBuf,
    /// The line that it begins in.
    pub line: usize,
    /// Whether the program will have a checking heap.
    pub debug_heap: DebugHeap,
}

/// What is wrong, and what would set it right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposal {
    pub finding: Finding,
    /// What sets it right, if heapwise can do it. It stands on its own; [`Survey::edits`] puts those of a file together.
    pub fix: Option<Fix>,
}

/// Everything that was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Survey {
    /// The launches that configurations describe.
    pub launches: Vec<Launch>,
    pub proposals: Vec<Proposal>,
    /// Files that were not understood, and are left alone.
    pub refused: Vec<Refused>,
}

impl Survey {
    /// One edit for each file that would be changed.
    ///
    /// Two proposals that contradict each other cannot both be followed at once; the later one is then still there in the
    /// next survey.
    pub fn edits(&self) -> Vec<Edit> {
        edit::edits(self.proposals.iter().filter_map(|proposal| proposal.fix.as_ref()))
    }
}

/// More launches, and more findings, than any file has that was written by hand.
const MOST_IN_A_FILE: usize = 5_000;
const MOST_IN_ALL: usize = 20_000;

/// How many launches and findings there are.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    launches: usize,
    findings: usize,
}

/// What is collected while files are read.
#[derive(Debug)]
pub(crate) struct Report<'p> {
    /// Where it was looked.
    pub(crate) places: &'p Places,
    /// How many bytes of configuration may still be read.
    pub(crate) room: u64,
    /// Launches that a settings file can help all at once, by the settings' place: a line of evidence each.
    wanted: HashMap<PathBuf, Vec<String>>,
    /// Files of variables that configurations named, and the values they set; none if they were refused.
    env_files: HashMap<PathBuf, Option<Given>>,
    counts: HashMap<PathBuf, Count>,
    pub(crate) survey: Survey,
}

/// What the debug heap costs, with sources.
pub(crate) const COST: &str = "a map of a million strings took 0.4 s to build and 0.2 s to drop, and 2.1 s and 52 s under CodeLLDB \
    with the debug heap (Rust release build, Windows, 2025); LLVM reports 10 times (llvm-project#201690), wasmtime 65 times \
    (wasmtime#6963)";

impl<'p> Report<'p> {
    pub(crate) fn new(places: &'p Places) -> Self {
        Self {
            places,
            room: MOST_BYTES,
            wanted: HashMap::new(),
            env_files: HashMap::new(),
            counts: HashMap::new(),
            survey: Survey::default(),
        }
    }

    /// The worst first.
    pub(crate) fn finish(mut self) -> Survey {
        self.survey.proposals.sort_by_key(|proposal| std::cmp::Reverse(proposal.finding.severity));
        self.survey
    }

    pub(crate) fn launch(
        &mut self,
        tool: &str,
        name: &str,
        source: &Source,
        at: usize,
        debug_heap: DebugHeap,
    ) {
        let in_all = self.survey.launches.len();
        if self.has_room(&source.file, in_all, |count| &mut count.launches) {
            self.survey.launches.push(Launch {
                tool: tool.to_owned(),
                name: crate::text::plain(name),
                file: source.file.clone(),
                line: source.line(at),
                debug_heap,
            });
        }
    }

    pub(crate) fn propose(&mut self, source: &Source, finding: Finding, fix: Option<Fix>) {
        self.propose_at(&source.file, finding, fix);
    }

    /// The same of a file that is no configuration.
    pub(crate) fn propose_at(&mut self, file: &Path, mut finding: Finding, fix: Option<Fix>) {
        let in_all = self.survey.proposals.len();
        if self.has_room(file, in_all, |count| &mut count.findings) {
            finding.fixable = fix.is_some();
            self.survey.proposals.push(Proposal { finding, fix });
        }
    }

    /// Counts something of a file, and reports it once if it is too much.
    fn has_room(&mut self, file: &Path, in_all: usize, part: impl Fn(&mut Count) -> &mut usize) -> bool {
        if !self.counts.contains_key(file) {
            self.counts.insert(file.to_owned(), Count::default());
        }
        let Some(count) = self.counts.get_mut(file).map(part) else { return false };
        // Once a file had too much, nothing more of this kind is reported.
        if *count > MOST_IN_A_FILE {
            return false;
        }
        *count += 1;
        let why = if *count > MOST_IN_A_FILE {
            format!("has more than {MOST_IN_A_FILE} launches or findings: the rest was not examined")
        } else if in_all >= MOST_IN_ALL {
            format!(
                "was not examined completely: there are more than {MOST_IN_ALL} launches or findings in all files"
            )
        } else {
            return true;
        };
        *count = usize::MAX;
        if self.survey.refused.last().is_none_or(|last| last.file != file || last.why != why) {
            self.survey.refused.push(Refused::whole(file, why));
        }
        false
    }

    /// Notes a launch that settings of a place can help.
    pub(crate) fn want(&mut self, place: &Path, evidence: String) {
        self.wanted.entry(place.to_owned()).or_default().push(evidence);
    }

    /// The launches that settings of a place can help.
    pub(crate) fn wanted(&mut self, place: &Path) -> Vec<String> {
        self.wanted.get_mut(place).map(std::mem::take).unwrap_or_default()
    }

    /// What a file of variables sets that a configuration names; nothing is known if it is refused. Each is read once, however
    /// many configurations name it.
    pub(crate) fn env_file(&mut self, path: PathBuf) -> Option<Given> {
        if let Some(known) = self.env_files.get(&path) {
            return known.clone();
        }
        let given = match Source::read(&path, Owner::Project, self.places, &mut self.room) {
            Ok(Some(file)) => Some(Given::in_lines(&file, file.text(), 0)),
            // A file that is not there sets nothing.
            Ok(None) => Some(Given::Absent),
            Err(refused) => {
                self.survey.refused.push(refused);
                None
            }
        };
        self.env_files.entry(path).or_insert(given).clone()
    }

    /// Where something is, for a line of evidence.
    pub(crate) fn at(&self, source: &Source, byte: usize) -> String {
        format!("{}:{}", self.places.shown(&source.file), source.line(byte))
    }

    /// Proposes to keep the debug heap off for a launch that has it.
    pub(crate) fn debug_heap(
        &mut self,
        source: &Source,
        title: String,
        evidence: Vec<String>,
        remedy: &str,
        changes: Vec<Change>,
    ) {
        // On other systems than Windows, the settings of a user do not matter.
        if source.owner == Owner::User && self.places.debug_heap_severity() == Severity::Low {
            return;
        }
        let mut finding = Finding::new("ide-debug-heap", self.places.debug_heap_severity(), title, remedy);
        finding.evidence = evidence;
        self.propose(source, finding.costs(COST), Fix::new(source, changes));
    }

    /// Proposes to correct a value that does nothing.
    pub(crate) fn mistake(&mut self, source: &Source, of: &str, mistake: &Mistake) {
        // It may be in another file than the one that was read, which is then not changed.
        let change = mistake.change.clone().filter(|_| mistake.file == source.file);
        self.correct(source, of, mistake, change.into_iter().collect());
    }

    /// Proposes to make up for a value that does nothing.
    pub(crate) fn correct(&mut self, source: &Source, of: &str, mistake: &Mistake, changes: Vec<Change>) {
        let Mistake { shown, why, file, line, .. } = mistake;
        let title = format!("_NO_DEBUG_HEAP is {shown} in {of}, and the debug heap stays on");
        let remedy = "write \"1\": only a number other than zero counts";
        let finding = Finding::new("no-debug-heap-value", self.places.mistake_severity(), title, remedy)
            .because(format!("{}:{line}: {shown} {why}", self.places.shown(file)))
            .costs(COST);
        self.propose(source, finding, Fix::new(source, changes));
    }

    /// What editors inherit, if they are started from here.
    pub(crate) fn inherited(&self) -> Given {
        match self.places.inherited.as_deref().map(crate::rule::effect) {
            Some(crate::rule::Effect::Off) => Given::Off {
                at: "the environment here, which editors that are started from it inherit".to_owned(),
            },
            _ => Given::Absent,
        }
    }
}

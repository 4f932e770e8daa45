//! Facts about a run that are few: stored as JSON, one section each, so that they can grow new fields.

use super::limits::MOST_LISTED;
use crate::event::Epoch;
use serde::de::{IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

macro_rules! index {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub u32);
    };
}

index! {
    /// A recorded process: the n-th program image that joined the session.
    ProcessIndex
}
index! {
    /// A recorded thread, unique over all processes of the recording.
    ThreadIndex
}

/// How the allocations are seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "&'static str")]
pub enum Interception {
    /// By the preload library.
    Preload,
    /// The program records itself through its own allocator, under `heapwise run`.
    Wrapper,
    /// The recorder was written into the program when that started.
    Ptrace,
    /// The recorder was written into the program while that ran: the recording begins in the middle.
    Attach,
    /// The program records itself without `heapwise run`: the recording begins when the program says so.
    Inside,
    /// The file does not say, or in a word that only later versions know.
    #[default]
    Unknown,
}

impl Interception {
    const ALL: [Self; 6] =
        [Self::Preload, Self::Wrapper, Self::Ptrace, Self::Attach, Self::Inside, Self::Unknown];

    /// Whether the recording begins in the middle of a process's life.
    pub fn begins_late(self) -> bool {
        matches!(self, Self::Attach | Self::Inside)
    }

    /// Its word in files and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Preload => "preload",
            Self::Wrapper => "wrapper",
            Self::Ptrace => "ptrace",
            Self::Attach => "attach",
            Self::Inside => "inside",
            Self::Unknown => "unknown",
        }
    }
}

impl From<String> for Interception {
    fn from(name: String) -> Self {
        Self::ALL.into_iter().find(|way| way.name() == name).unwrap_or_default()
    }
}

impl From<Interception> for &'static str {
    fn from(way: Interception) -> Self {
        way.name()
    }
}

/// The first section: what was recorded, where and how.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Meta {
    /// Version of heapwise that wrote the file.
    pub heapwise: String,
    /// The command as it was given.
    pub command: Vec<String>,
    /// When it began, in nanoseconds since 1970.
    pub started_unix_ns: u64,
    /// The host's name; empty if it is not known.
    pub host: String,
    /// Kernel name and release.
    pub system: String,
    /// Processor architecture.
    pub architecture: String,
    /// Bytes of a page of memory.
    pub page_bytes: u64,
    /// Processors that the program could use.
    pub processors: u32,
    /// The C library that heapwise itself runs with.
    pub c_library: CLibrary,
    /// How the allocations are seen.
    pub interception: Interception,
    /// Environment variables that concern the heap, and only these.
    pub environment: BTreeMap<String, String>,
    /// What was known before the program started to be invisible.
    #[serde(deserialize_with = "few")]
    pub blind_spots: Vec<BlindSpot>,
    /// What was known before the program started to slow its heap from outside of its code.
    #[serde(deserialize_with = "few")]
    pub environment_findings: Vec<EnvironmentFinding>,
    /// How long recording was held off, in nanoseconds.
    pub delay_ns: u64,
    /// After how long it was to stop, in nanoseconds; 0 for never.
    pub duration_limit_ns: u64,
    /// At which size of the file it was to stop, in bytes; 0 for never.
    pub size_limit_bytes: u64,
    /// Whether child processes were recorded.
    pub follow: bool,
    /// At most how many bytes lie between two recorded blocks, a power of two; 0 or 1 if all blocks were recorded. Each one
    /// stands for as many as [`weight`](crate::sampling::weight) says.
    pub sample_bytes: u64,
    /// Which file of a recording in several files it is, from 1; 0 if there is only one.
    pub part: u32,
}

/// A C library.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CLibrary {
    /// Its path, as the loader has it.
    pub path: String,
    /// Its version, such as "2.36".
    pub version: String,
}

/// Something that could not be seen, and what to do about it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct BlindSpot {
    /// A stable name, such as `static-executable`.
    pub id: String,
    pub what: String,
    pub remedy: String,
    /// The allocator whose blocks are not recorded; empty if it is something else that could not be seen.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub allocator: String,
    /// The file that contains it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub file: String,
}

impl BlindSpot {
    /// The name of a program that is linked statically, and has no allocator that could be recorded.
    pub const STATIC_EXECUTABLE: &str = "static-executable";
    /// The name of an allocator inside the program.
    pub const OWN_ALLOCATOR: &str = "own-allocator";
    /// The name of an allocator inside a library that the program has loaded.
    pub const LIBRARY_ALLOCATOR: &str = "library-allocator";

    /// Whether another one is about the same allocator in the same file.
    pub fn is_of(&self, other: &BlindSpot) -> bool {
        !self.allocator.is_empty() && (&self.allocator, &self.file) == (&other.allocator, &other.file)
    }
    /// The name of what no program's own allocator sees: a blind spot that is no reason to worry.
    pub const BESIDE_THE_WRAPPER: &str = "beside-the-wrapper";
}

/// Something outside of a program's code that slowed its heap.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct EnvironmentFinding {
    /// Which check found it, such as `malloc-check`.
    pub check: String,
    /// `low`, `medium` or `high`.
    pub severity: String,
    pub title: String,
    /// Where that could be seen.
    pub evidence: Vec<String>,
    pub cost: String,
    pub remedy: String,
}

/// A program image joined.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProcessInfo {
    pub index: ProcessIndex,
    /// Its process id.
    pub pid: u32,
    /// Its parent's process id.
    pub parent_pid: u32,
    /// The process of which it is a fork and whose blocks it inherited; none after an `exec`.
    pub forked_from: Option<ProcessIndex>,
    /// Its command line.
    pub command: Vec<String>,
    /// Path of the object that provides its `malloc`; or what the allocator is called that the executable has inside.
    pub allocator: String,
    /// Path of the library whose `malloc` is found by its name, if that is another one.
    pub by_name: String,
    /// The clock when it joined.
    pub start_epoch: Epoch,
    /// What slowed its heap from outside of its code, as far as that was not known before the start.
    #[serde(deserialize_with = "few")]
    pub environment_findings: Vec<EnvironmentFinding>,
}

/// A thread made its first event.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ThreadInfo {
    pub index: ThreadIndex,
    /// Whose thread it is.
    pub process: ProcessIndex,
    /// Its kernel id.
    pub tid: u32,
    /// Its `pthread_t`.
    pub handle: u64,
    /// Its name when it was first seen.
    pub name: String,
    /// The clock at its first event.
    pub start_epoch: Epoch,
}

/// A thread was found to be gone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ThreadEnd {
    pub index: ThreadIndex,
    /// Its last name.
    pub name: String,
    /// The clock when its end was noticed; it ended after its last event and before this.
    pub epoch: Epoch,
    /// Events that it dropped.
    pub lost_events: u64,
}

/// An object file that occurs in stacks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ModuleInfo {
    /// Whose address space.
    pub process: ProcessIndex,
    /// From which generation of modules on it is there.
    pub generation: u32,
    /// First address.
    pub start: u64,
    /// First address behind.
    pub end: u64,
    /// Run-time address minus link-time address.
    pub bias: u64,
    /// Build id in hexadecimal digits, empty if it has none.
    pub build_id: String,
    /// Path as the process saw it.
    pub path: String,
}

/// A process ended, or the recording did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProcessEnd {
    pub index: ProcessIndex,
    /// The clock when its end was noticed.
    pub epoch: Epoch,
    /// Whether it was still running when the recording ended.
    pub still_running: bool,
    /// Events that its threads and the process dropped.
    pub lost_events: u64,
    /// Stacks compared with a full unwind.
    pub verified: u64,
    /// Of these, how many differed.
    pub verify_failed: u64,
    /// Whether it had forbidden itself the processor's clock, so that its calls were not timed.
    pub no_clock: bool,
}

/// How it ended: the last section of the recording itself, followed by symbols only. A file without one was cut off.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunEnd {
    /// Exit code of the command, if it exited.
    pub exit_code: Option<i32>,
    /// Signal that ended it.
    pub signal: Option<i32>,
    /// Nanoseconds from the start of the command to its end.
    pub duration_ns: u64,
    /// Why recording stopped before the program did, if it did.
    pub stopped_early: Option<String>,
    /// What was found out during the run to be invisible.
    #[serde(deserialize_with = "few")]
    pub blind_spots: Vec<BlindSpot>,
    /// Processes that found the session but could not join it.
    pub refused_processes: u32,
    /// Highest resident set size of the command's processes together, in bytes.
    pub peak_rss_bytes: u64,
    /// Whether pages that they share count once in it (PSS). Older recordings count them for each process, and so do those of
    /// processes for which the kernel could not be queried often enough.
    pub shared_pages_count_once: bool,
    /// Processor time of the command and of what it started and waited for, with that of recording, in nanoseconds; 0 if it is
    /// not known.
    pub cpu_ns: u64,
    /// The part of it that they were in the kernel; 0 if that is not known.
    pub system_ns: u64,
    /// Ticks of the processor's clock in a second, as far as events have ticks.
    pub ticks_per_second: u64,
    /// Ticks between two readings of that clock with nothing in between.
    pub ticks_overhead: u64,
    /// What recorded processes had written to the shared memory and was not believed.
    pub refusals: Vec<Refusal>,
    /// Allocators inside of files that processes had mapped whose functions were entered through the recorder.
    #[serde(deserialize_with = "few")]
    pub allocators_inside: Vec<AllocatorInside>,
    /// Whether the recording goes on in another file.
    pub goes_on: bool,
}

/// An allocator inside of a file that is recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AllocatorInside {
    /// What it is called; empty if only its `malloc` is known.
    pub allocator: String,
    /// The file that contains it.
    pub file: String,
    /// How many of its functions were entered through the recorder.
    pub functions: u64,
    /// Its number in events, an [`AllocatorNumber`](crate::event::AllocatorNumber).
    pub number: u8,
}

/// What was not believed of what recorded processes say, or not done for them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Refusal {
    /// What it was about.
    pub what: String,
    /// Why, the first time.
    pub why: String,
    /// How often.
    pub count: u64,
}

/// A list of which only the first elements are kept.
fn few<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Vec<T>, D::Error> {
    struct Few<T>(PhantomData<T>);

    impl<'de, T: Deserialize<'de>> Visitor<'de> for Few<T> {
        type Value = Vec<T>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a list")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
            let mut kept = Vec::new();
            while kept.len() < MOST_LISTED
                && let Some(element) = list.next_element()?
            {
                kept.push(element);
            }
            while list.next_element::<IgnoredAny>()?.is_some() {}
            Ok(kept)
        }
    }

    deserializer.deserialize_seq(Few(PhantomData))
}

impl Serialize for Epoch {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(self.0)
    }
}

impl<'de> Deserialize<'de> for Epoch {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        u64::deserialize(deserializer).map(Epoch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_way_of_interception_is_a_word_in_files_and_any_other_word_is_unknown() {
        for way in Interception::ALL {
            let word = serde_json::to_string(&way).expect("JSON");
            assert_eq!(word, format!("{:?}", way.name()));
            assert_eq!(serde_json::from_str::<Interception>(&word).expect("a word"), way);
        }
        for word in ["\"\"", "\"by-magic\""] {
            assert_eq!(serde_json::from_str::<Interception>(word).expect("a word"), Interception::Unknown);
        }
    }
}

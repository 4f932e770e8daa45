//! What is to be recorded, and what came of it.

use crate::collect::Stops;
use crate::command::Exit;
use crate::hooks::EnteredByFile;
use crate::inject::image::Image;
use crate::rotation::Rotation;
use crate::session::Settings;
use crate::usable::Build;
use heapwise_trace::file::Error as FileError;
use heapwise_trace::file::records::{BlindSpot, CLibrary, EnvironmentFinding};
use heapwise_trace::live::plan::{FilePlan, InFront};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

/// Bounds of a recording.
pub type Limits = Stops;

/// What is to be recorded.
#[derive(Debug)]
pub struct Request {
    /// The program and its arguments; not empty.
    pub command: Vec<OsString>,
    /// The file; by default one named after the program in the current folder.
    pub output: Option<PathBuf>,
    /// Replace an existing file.
    pub force: bool,
    /// Record the program's children, too.
    pub follow: bool,
    /// Wait for recorded processes that outlive the program.
    pub wait: bool,
    /// The program does not outlive its recorder, however that ends.
    pub end_together: bool,
    /// When to stop by itself.
    pub limits: Limits,
    /// Where the file goes as soon as it is there, to be read while it grows: not one of several. Its position is the writer's.
    pub reader: Option<Sender<File>>,
    /// Whether the recording is in several files, of which the last are kept. Their names are that of `output`, or one after the
    /// program, with a number.
    pub rotation: Option<Rotation>,
    /// Compare every n-th stack with a full unwind; 0 for never.
    pub verify_every: u32,
    /// At most so many bytes lie between two recorded blocks, as [`distance`](heapwise_trace::sampling::distance) has it; 0 if all are
    /// recorded. Resident pages are not looked at then: which blocks are in them is not known.
    pub sample_bytes: u64,
    /// Programs that have wrapped their allocator leave the recording to the preload library.
    pub through_preload: bool,
    /// Whether the program has wrapped its allocator, and records itself.
    pub records_itself: bool,
    /// What is known to be invisible.
    pub blind_spots: Vec<BlindSpot>,
    /// Explains why a program that recorded nothing could not be seen.
    pub explain: fn(&Path) -> Vec<BlindSpot>,
    /// Finds allocators inside of files that processes have mapped as code. Those that are recorded are named, by the paths of
    /// their files or their types.
    /// So are those inside of files, with what came of it.
    pub look_inside: fn(&[PathBuf], &BTreeSet<String>, &EnteredByFile) -> Vec<BlindSpot>,
    /// Plans which functions of allocators inside of a file are entered through the recorder; nothing for what is no program or
    /// library.
    pub plan: fn(&Path, InFront) -> Option<FilePlan>,
    /// The builds of allocators by which those inside of programs are measured, by their families.
    pub build: fn(&str) -> Option<Build>,
    /// The environment variables that concern the heap, and no others.
    pub environment: BTreeMap<String, String>,
    /// What is known to slow the program's heap from outside of its code.
    pub environment_findings: Vec<EnvironmentFinding>,
    /// Finds the same for a process that has just joined.
    pub examine: fn(u32) -> Vec<EnvironmentFinding>,
    /// Has the program start with what heapwise was started with: ignored signals, closed descriptors.
    pub prepare: fn(&mut Command),
    /// Ends this program, which was interrupted twice and does not come to its end by itself. What was recorded until then is
    /// in the file.
    pub give_up: fn(&Path),
    /// Version of the program that records.
    pub version: String,
    /// The C library of the program that records: a recorded program that has loaded the same file has its version.
    pub c_library: CLibrary,
    /// The preload library.
    pub preload: &'static [u8],
    /// What is written into a program that no library can be preloaded into.
    pub image: Option<Image>,
}

impl Request {
    /// Those for the recorder, but for whether threads are traced.
    pub(crate) fn settings(&self) -> Settings {
        Settings {
            verify_every: self.verify_every,
            paused: self.limits.delay.is_some(),
            plans_hooks: true,
            traces: false,
            sample_bytes: self.sample_bytes,
        }
    }
}

/// What came of it.
#[derive(Debug)]
pub struct Recorded {
    /// Where the recording is.
    pub path: PathBuf,
    /// The recording, open for reading and writing at its end.
    pub file: File,
    /// How the program ended; `None` if the user did not wait for it.
    pub exit: Option<Exit>,
    /// When the program ended.
    pub ended: Instant,
    /// Why the recording lacks its end: the disk was full, say.
    pub error: Option<FileError>,
    /// Events in the file.
    pub events: u64,
    /// Processes that were still running.
    pub still_running: u32,
    /// Stacks that differed from a full unwind, and where one did.
    pub verify_failed: Option<(u64, u64)>,
    /// What it was to leave processes that go on; of attached ones.
    pub left: Left,
}

/// What it was to leave processes that go on without the recorder.
#[derive(Clone, Debug, Default)]
pub struct Left {
    /// Processes that go on with its memory in them, where it does nothing.
    pub behind: usize,
    /// What went wrong.
    pub errors: Vec<String>,
    /// How long threads stood still, stop by stop.
    pub stops: Vec<Duration>,
}

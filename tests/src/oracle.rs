//! An independent count of what a recorded program calls: a library that is preloaded in addition to the recorder.
//!
//! It counts in a file, by atomics in shared memory, so its counts include threads, forks and images, and are as complete as the
//! recording when a process is killed. Its counts are compared with the report of the same run.

use crate::build::{FlagSet, build};
use crate::recording::Recording;
use crate::report::{Report, Totals};
use crate::victim::Victim;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The functions, in the order of the library's table.
const FUNCTIONS: [&str; 9] = [
    "malloc",
    "calloc",
    "realloc",
    "posix_memalign",
    "aligned_alloc",
    "memalign",
    "valloc",
    "pvalloc",
    "free",
];
const COUNTS: usize = 6;

/// The library's place in the preload order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Behind the recorder: it counts what the recorder passes on.
    Behind,
    /// In front of it: it counts what the program calls.
    Front,
}

/// The library and its file.
#[derive(Debug)]
pub struct Oracle {
    library: PathBuf,
    counters: PathBuf,
}

/// Sums, in the words of a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// Blocks that were handed out, but for reallocations.
    pub allocations: u64,
    /// Blocks that were resized.
    pub reallocations: u64,
    /// Requested bytes of both.
    pub bytes: u64,
    /// Blocks that were freed, which includes those that were resized to zero. NULL does not count.
    pub frees: u64,
    /// Requests that were refused.
    pub refused: u64,
}

impl Oracle {
    /// One with a separate file in `folder`.
    pub fn new(folder: &Path) -> Self {
        let all = Victim::all_in("victims/odd");
        let plugin = all.iter().find(|victim| victim.name == "oracle").expect("the library is a plugin");
        let counters = folder.join("oracle");
        let made = std::fs::File::create(&counters).and_then(|file| file.set_len(4096));
        made.unwrap_or_else(|e| panic!("cannot make {}: {e}", counters.display()));
        Self { library: build(plugin, FlagSet::Release), counters }
    }

    /// The command that records a program together with this.
    ///
    /// `LD_PRELOAD` names the library, which heapwise keeps behind its own. It can only be in front in an image whose predecessor
    /// was recorded: a shell sets this up.
    pub fn command(
        &self,
        recording: &Recording,
        place: Place,
        program: &Path,
        arguments: &[&str],
    ) -> Command {
        let mut command = match place {
            Place::Behind => recording.command(program, arguments),
            Place::Front => {
                let script = "LD_PRELOAD=\"$HEAPWISE_ORACLE_LIBRARY:$LD_PRELOAD\" exec \"$0\" \"$@\"";
                let name = program.to_string_lossy();
                recording.command("sh", &[&["-c", script, &name], arguments].concat())
            }
        };
        command.env("LD_PRELOAD", &self.library).env("HEAPWISE_ORACLE_LIBRARY", &self.library);
        command.env("HEAPWISE_ORACLE", &self.counters);
        command
    }

    fn numbers(&self) -> Vec<[u64; COUNTS]> {
        let bytes = std::fs::read(&self.counters).expect("the file is the test's own");
        let mut words =
            bytes.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().unwrap_or_default()));
        let mut row = || std::array::from_fn(|_| words.next().unwrap_or_default());
        FUNCTIONS.map(|_| row()).to_vec()
    }

    /// The counts so far.
    pub fn sums(&self) -> Sums {
        let mut sums = Sums::default();
        for (name, [blocks, bytes, resized, released, failed, _]) in FUNCTIONS.iter().zip(self.numbers()) {
            if *name == "free" {
                sums.frees += blocks;
            } else {
                sums.allocations += blocks;
            }
            sums.bytes += bytes;
            sums.reallocations += resized;
            sums.frees += released;
            sums.refused += failed;
        }
        sums
    }

    /// The same for people, function by function.
    pub fn table(&self) -> String {
        let rows = FUNCTIONS.iter().zip(self.numbers()).filter(|(_, row)| row.iter().any(|&n| n > 0));
        let rows = rows.map(|(name, [blocks, bytes, resized, released, failed, nothing])| {
            format!(
                "{name}: {blocks} blocks, {bytes} bytes, {resized} resized, {released} released, {failed} failed, {nothing} of NULL"
            )
        });
        rows.collect::<Vec<_>>().join("\n")
    }
}

impl Sums {
    /// The sums of a report, without those of its last `uncounted` processes.
    pub fn of(report: &Report, uncounted: usize) -> Self {
        let others =
            report.processes.iter().rev().take(uncounted).map(|process| Self::of_totals(&process.totals));
        others.fold(Self::of_totals(&report.totals), |sums, other| Self {
            allocations: sums.allocations - other.allocations,
            reallocations: sums.reallocations - other.reallocations,
            bytes: sums.bytes - other.bytes,
            frees: sums.frees - other.frees,
            refused: sums.refused - other.refused,
        })
    }

    fn of_totals(totals: &Totals) -> Self {
        Self {
            allocations: totals.allocations,
            reallocations: totals.reallocations,
            bytes: totals.allocated_bytes,
            frees: totals.deallocations,
            refused: totals.failed_allocations,
        }
    }

    /// The largest difference between the numbers of calls in two counts.
    pub fn most_apart(&self, other: &Self) -> u64 {
        let pairs = [
            (self.allocations, other.allocations),
            (self.reallocations, other.reallocations),
            (self.frees, other.frees),
            (self.refused, other.refused),
        ];
        pairs.into_iter().map(|(a, b)| a.abs_diff(b)).max().unwrap_or_default()
    }
}

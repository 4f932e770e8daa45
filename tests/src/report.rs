//! The parts of `heapwise.report/1` that tests look at.
//!
//! Fields that a report may leave out have a default; a field that a test needs and that has another name or type makes
//! the parsing fail, since scripts rely on them in the same way.

use crate::functions;
use serde::Deserialize;
use std::path::Path;

/// A report.
#[derive(Clone, Debug, Deserialize)]
pub struct Report {
    /// Its kind and version.
    pub schema: String,
    /// What was recorded.
    pub command: Vec<String>,
    /// How it ended.
    pub exit: Exit,
    /// Sums over everything.
    pub totals: Totals,
    /// What was seen, and what could not be.
    pub interception: Interception,
    /// Each recorded program image.
    pub processes: Vec<Process>,
    /// Each recorded thread.
    pub threads: Vec<Thread>,
    /// Call sites.
    pub sites: Vec<Site>,
    /// How far the stacks can be trusted.
    pub stacks: Stacks,
    /// Whether the threads' events fit together.
    pub order: Order,
    /// What makes it less than the whole truth.
    pub warnings: Vec<Warning>,
}

/// How the program ended.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub struct Exit {
    /// Its exit code, if it exited.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
}

/// Sums.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub struct Totals {
    /// Blocks that were handed out, but for resizes.
    pub allocations: u64,
    /// Resizes.
    pub reallocations: u64,
    /// Blocks that were given back.
    pub deallocations: u64,
    /// Requested bytes of both.
    pub allocated_bytes: u64,
    /// The most that were live at one time.
    pub peak_live_bytes: u64,
    /// Blocks that were live then.
    #[serde(default)]
    pub peak_live_blocks: u64,
    /// Blocks that were never given back.
    pub live_at_exit_blocks: u64,
    /// Their bytes.
    pub live_at_exit_bytes: u64,
    /// Blocks that were given back before anything else was allocated.
    pub temporary_allocations: u64,
    /// Events that are missing in the other numbers.
    #[serde(default)]
    pub lost_events: u64,
}

impl Totals {
    /// What valgrind calls allocs: it counts a resize as one.
    pub fn blocks(&self) -> u64 {
        self.allocations + self.reallocations
    }
}

/// What was seen.
#[derive(Clone, Debug, Deserialize)]
pub struct Interception {
    /// How.
    pub mode: String,
    /// The allocator in use.
    pub allocator: serde_json::Value,
    /// What could not be seen.
    pub blind_spots: Vec<BlindSpot>,
}

/// Something that could not be seen.
#[derive(Clone, Debug, Deserialize)]
pub struct BlindSpot {
    /// Its stable name.
    pub id: String,
    /// What to do about it.
    pub remedy: String,
}

/// A program image.
#[derive(Clone, Debug, Deserialize)]
pub struct Process {
    /// Its process id.
    pub pid: u32,
    /// Its parent's.
    pub parent: Option<u32>,
    /// Its command line.
    pub command: Vec<String>,
    /// Its sums.
    pub totals: Totals,
}

/// A thread.
#[derive(Clone, Debug, Deserialize)]
pub struct Thread {
    /// Its last name.
    pub name: String,
    /// Its sums.
    pub totals: Totals,
}

/// A call site.
#[derive(Clone, Debug, Deserialize)]
pub struct Site {
    /// Its frames from the innermost outwards.
    pub stack: Vec<Frame>,
    /// Blocks that were handed out, but for resizes.
    pub allocations: u64,
    /// Resizes.
    pub reallocations: u64,
    /// Requested bytes of both.
    pub allocated_bytes: u64,
    /// Blocks that were given back before anything else was allocated.
    pub temporary_allocations: u64,
    /// Bytes that were never given back.
    pub live_at_exit_bytes: u64,
    /// Blocks that were never given back.
    pub live_at_exit_blocks: u64,
}

/// A frame.
#[derive(Clone, Debug, Deserialize)]
pub struct Frame {
    /// Name of the function, if it is known.
    pub function: Option<String>,
    /// Source file.
    pub file: Option<String>,
    /// Line in it.
    pub line: Option<u32>,
}

/// How far the stacks can be trusted.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub struct Stacks {
    /// Captured stacks.
    pub captures: u64,
    /// Of these, how many ended early.
    pub cut_captures: u64,
    /// How many were compared with a full unwind.
    pub verified: u64,
    /// Of these, how many differed.
    pub verify_failed: u64,
}

/// Whether the threads' events fit together.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub struct Order {
    /// Frees of blocks that were not known.
    pub unknown_frees: u64,
    /// Blocks that were handed out again without a free.
    pub implicit_frees: u64,
}

/// Something to know before the numbers are trusted.
#[derive(Clone, Debug, Deserialize)]
pub struct Warning {
    /// Its stable name.
    pub id: String,
}

impl Report {
    /// Reads a report from a file.
    ///
    /// # Errors
    /// A line that says what is wrong with it.
    pub fn read(path: &Path) -> Result<Self, String> {
        let text =
            std::fs::read_to_string(path).map_err(|e| format!("no report in {}: {e}", path.display()))?;
        Self::parse(&text)
    }

    /// Parses a report.
    ///
    /// # Errors
    /// A line that says what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let report: Self =
            serde_json::from_str(text).map_err(|e| format!("the report is not as promised: {e}"))?;
        if report.schema == "heapwise.report/1" {
            Ok(report)
        } else {
            Err(format!("schema {}", report.schema))
        }
    }

    /// Whether a warning or blind spot has this name.
    pub fn mentions(&self, id: &str) -> bool {
        self.warnings.iter().any(|w| w.id == id) || self.interception.blind_spots.iter().any(|b| b.id == id)
    }

    /// Sums over the sites that `wanted` accepts by their function names, innermost first.
    pub fn sum(&self, wanted: impl Fn(&[&str]) -> bool) -> Sum {
        let mut sum = Sum::default();
        for site in &self.sites {
            if wanted(&site.functions()) {
                sum.blocks += site.allocations + site.reallocations;
                sum.bytes += site.allocated_bytes;
                sum.live += site.live_at_exit_blocks;
                sum.live_bytes += site.live_at_exit_bytes;
                sum.temporary += site.temporary_allocations;
            }
        }
        sum
    }
}

impl Site {
    /// Plain names of its functions, innermost first; `?` where there is none.
    pub fn functions(&self) -> Vec<&str> {
        self.stack.iter().map(|f| f.function.as_deref().map_or("?", functions::plain)).collect()
    }
}

/// Sums over some sites.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    /// Blocks, resizes included.
    pub blocks: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Blocks that were never given back.
    pub live: u64,
    /// Their bytes.
    pub live_bytes: u64,
    /// Blocks that were given back at once.
    pub temporary: u64,
}

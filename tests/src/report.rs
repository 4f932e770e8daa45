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
    /// Memory over time, and what it consists of.
    pub memory: Memory,
    /// Call sites.
    pub sites: Vec<Site>,
    /// What is wrong, the most rewarding first.
    pub insights: Vec<Insight>,
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
    /// Requests that were refused.
    #[serde(default)]
    pub failed_allocations: u64,
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
    /// What it is.
    pub what: String,
    /// What to do about it.
    pub remedy: String,
}

/// Memory over time, and what it consists of.
#[derive(Clone, Debug, Deserialize)]
pub struct Memory {
    /// The highest resident set.
    pub peak_rss_bytes: Option<u64>,
    /// At the highest resident set.
    pub at_peak: Option<Breakdown>,
    /// At the end.
    pub at_end: Option<Breakdown>,
    /// Whenever somebody asked.
    pub snapshots: Vec<Breakdown>,
    /// Sites that keep mostly empty pages.
    pub pinned: Vec<Pinned>,
    /// What dominates.
    pub verdict: Option<Verdict>,
}

/// What resident memory consists of.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub struct Breakdown {
    /// When.
    pub time_ns: u64,
    /// The sum.
    pub rss_bytes: u64,
    /// Requested bytes of live blocks.
    pub live_bytes: u64,
    /// What the allocator adds to them.
    pub rounding_bytes: u64,
    /// Free bytes in pages with live blocks.
    pub holes_bytes: u64,
    /// Free pages.
    pub retained_bytes: u64,
    /// The allocator's own.
    pub metadata_bytes: u64,
    /// Everything else that is known.
    pub not_heap_bytes: u64,
    /// What is not.
    pub unaccounted_bytes: u64,
}

impl Breakdown {
    /// The sum of all parts.
    pub fn sum(&self) -> u64 {
        let heap = self.live_bytes + self.rounding_bytes + self.holes_bytes + self.retained_bytes;
        heap + self.metadata_bytes + self.not_heap_bytes + self.unaccounted_bytes
    }
}

/// What a site keeps resident.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Pinned {
    /// Its index.
    pub site: usize,
    /// Free bytes in its pages.
    pub bytes: u64,
    /// Blocks that keep them.
    pub blocks: u64,
}

/// What dominates resident memory.
#[derive(Clone, Debug, Deserialize)]
pub struct Verdict {
    /// Its stable name.
    pub kind: String,
    /// In a sentence.
    pub sentence: String,
    /// What to do.
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
    /// Its name in the report.
    pub id: u32,
    /// Which frame of the stack is the user's nearest one.
    pub user_frame: Option<usize>,
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

/// A finding.
#[derive(Clone, Debug, Deserialize)]
pub struct Insight {
    /// Which rule found it.
    pub id: String,
    /// How much it matters.
    pub severity: String,
    /// What is wrong, and where.
    pub title: String,
    /// The call site with the largest share in it.
    pub site: Option<u32>,
    /// What was seen.
    pub evidence: Vec<String>,
    /// What following it would save.
    pub estimate: Estimate,
    /// What to do.
    pub remedy: String,
}

/// What following a remedy would save.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Estimate {
    /// Allocations and resizes.
    pub allocations: u64,
    /// Requested bytes.
    pub allocated_bytes: u64,
}

/// A frame.
#[derive(Clone, Debug, Deserialize)]
pub struct Frame {
    /// Name of the function, if it is known.
    pub function: Option<String>,
    /// The object file that it belongs to.
    #[serde(default)]
    pub module: Option<String>,
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
    /// What is so.
    pub what: String,
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

    /// The file's name and the line that an insight is about.
    pub fn line_of(&self, insight: &Insight) -> Option<(&str, u32)> {
        let site = self.sites.iter().find(|site| Some(site.id) == insight.site)?;
        let frame = site.stack.get(site.user_frame?)?;
        Some((frame.file.as_deref()?.rsplit('/').next()?, frame.line?))
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

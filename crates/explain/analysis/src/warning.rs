//! What makes a report incomplete or inexact.

use crate::heap::{Sampled, interval};
use crate::totals::Totals;
use crate::units::bytes;
use heapwise_trace::file::Claim;
use std::fmt;

/// Something the reader of a report should know before trusting its numbers.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Warning {
    /// The file ends within a section.
    Truncated,
    /// The rest of the file, from this byte on, is not readable.
    Damaged {
        offset: u64,
        /// What it claims there, if that is the damage.
        claim: Option<Claim>,
    },
    /// Sections whose content made no sense were skipped.
    SkippedSections {
        count: u64,
        /// What the first of them was.
        first: String,
    },
    /// Events of this many threads were cut off where they made no sense.
    DamagedEvents {
        threads: u64,
    },
    /// The file does not say how the run ended.
    NoEnd,
    /// Recording stopped before the program did.
    StoppedEarly {
        reason: String,
    },
    /// Processes were still running when the recording ended.
    StillRunning {
        pids: Vec<u32>,
    },
    LostEvents {
        count: u64,
    },
    /// Processes could not join the recording.
    RefusedProcesses {
        count: u32,
    },
    /// What recorded processes had written to the recorder's memory was not believed.
    Distrusted {
        /// What, why and how often, separated by semicolons.
        what: String,
    },
    /// Captured stacks that a full unwind contradicted.
    WrongStacks {
        failed: u64,
        /// Of how many that were compared.
        verified: u64,
    },
    /// Processes that have forbidden themselves the processor's clock.
    NoClock {
        processes: u64,
    },
    /// Frees without an allocation, or allocations on top of live blocks, in a recording that should have neither.
    UncertainOrder {
        /// Frees of unknown blocks.
        unknown_frees: u64,
        /// Blocks whose free was not seen.
        implicit_frees: u64,
    },
    /// Threads whose record is missing.
    UnknownThreads {
        count: u64,
    },
    /// Only a sample of the blocks was recorded.
    Sampled {
        /// Which, and how far the totals may be off.
        sample: Sampled,
        /// What the totals are.
        totals: Totals,
    },
    /// Something outside of the code slowed the heap.
    Environment {
        /// What was found, separated by semicolons.
        what: String,
    },
    /// Places have functions or addresses and no lines of source.
    NoLines {
        /// Which, and how much they matter.
        what: String,
        /// What to do about it on the machine of the recording.
        remedy: String,
    },
}

impl Warning {
    /// A stable name, for machines.
    pub fn id(&self) -> &'static str {
        match self {
            Warning::Truncated => "truncated",
            Warning::Damaged { .. } => "damaged",
            Warning::SkippedSections { .. } => "skipped-sections",
            Warning::DamagedEvents { .. } => "damaged-events",
            Warning::NoEnd => "no-end",
            Warning::StoppedEarly { .. } => "stopped-early",
            Warning::StillRunning { .. } => "still-running",
            Warning::LostEvents { .. } => "lost-events",
            Warning::RefusedProcesses { .. } => "refused-processes",
            Warning::Distrusted { .. } => "distrusted",
            Warning::WrongStacks { .. } => "wrong-stacks",
            Warning::NoClock { .. } => "no-clock",
            Warning::UncertainOrder { .. } => "uncertain-order",
            Warning::UnknownThreads { .. } => "unknown-threads",
            Warning::Sampled { .. } => "sampled",
            Warning::Environment { .. } => "debug-environment",
            Warning::NoLines { .. } => "no-lines",
        }
    }

    /// Whether a part of the file could not be read, so that events are missing, be it all of them.
    pub fn is_of_a_part_that_is_missing(&self) -> bool {
        matches!(
            self,
            Warning::Truncated
                | Warning::Damaged { .. }
                | Warning::SkippedSections { .. }
                | Warning::DamagedEvents { .. }
        )
    }

    /// Whether the recording was not read to its end because that would have taken more memory than there was.
    pub fn is_for_lack_of_memory(&self) -> bool {
        matches!(self, Warning::Damaged { claim: Some(Claim::Machine { .. }), .. })
    }

    /// What it means for the numbers, or what to do.
    pub fn hint(&self) -> &str {
        match self {
            Warning::Damaged { claim: Some(Claim::Machine { .. }), .. } => {
                "everything before that point is in this report; a machine with more memory reads all of it"
            }
            Warning::Truncated | Warning::Damaged { .. } => "everything before that point is in this report",
            Warning::SkippedSections { .. } | Warning::DamagedEvents { .. } => "the numbers are too low",
            Warning::NoEnd => "exit status and the last events are missing",
            Warning::StoppedEarly { .. } => "what came afterwards is not in this report",
            Warning::StillRunning { .. } => "their live blocks are not leaks",
            Warning::LostEvents { .. } => "counts are too low, and some blocks seem live that are not",
            Warning::RefusedProcesses { .. } => "their allocations are not in this report",
            Warning::Distrusted { .. } => "that is left out; other data from that process may be wrong",
            Warning::WrongStacks { .. } => "some call sites may be wrong; please report this",
            Warning::NoClock { .. } => {
                "their calls of the allocator were not timed from then on; counts are not affected"
            }
            Warning::UncertainOrder { .. } => {
                "blocks from before the recording, from a parent process, of a heap that was destroyed, from a copy of an allocator's function that a compiler has put into its caller, or of lost events"
            }
            Warning::UnknownThreads { .. } => "their events are counted under an unnamed process",
            Warning::Sampled { .. } => {
                "the truth is within these bounds 19 times out of 20; temporary blocks and growing buffers cannot be seen in a sample"
            }
            Warning::Environment { .. } => {
                "times, and what the allocator adds to blocks, are not those of the program alone"
            }
            Warning::NoLines { remedy, .. } => remedy,
        }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Warning::Truncated => write!(f, "the recording is cut off"),
            Warning::Damaged { offset, claim: None } => {
                write!(f, "the recording is damaged from byte {offset} on")
            }
            Warning::Damaged { offset, claim: Some(claim @ Claim::Machine { .. }) } => {
                write!(f, "the recording is read up to byte {offset}: {claim}")
            }
            Warning::Damaged { offset, claim: Some(claim) } => {
                write!(f, "the recording is damaged from byte {offset} on: {claim}")
            }
            Warning::SkippedSections { count, first } => {
                write!(f, "{count} damaged section(s) of the recording were skipped ({first})")
            }
            Warning::DamagedEvents { threads } => write!(f, "events of {threads} thread(s) are damaged"),
            Warning::NoEnd => write!(f, "the recording has no end"),
            Warning::StoppedEarly { reason } => {
                write!(f, "recording stopped before the program did: {reason}")
            }
            Warning::StillRunning { pids } => {
                let pids: Vec<_> = pids.iter().map(u32::to_string).collect();
                write!(f, "still running when the recording ended: process {}", pids.join(", "))
            }
            Warning::LostEvents { count } => write!(f, "{count} events were lost"),
            Warning::RefusedProcesses { count } => write!(f, "{count} process(es) could not be recorded"),
            Warning::Distrusted { what } => {
                write!(f, "invalid data from a recorded process: {what}")
            }
            Warning::WrongStacks { failed, verified } => {
                write!(f, "{failed} of {verified} compared stacks were wrong")
            }
            Warning::NoClock { processes } => {
                write!(
                    f,
                    "{processes} process(es) turned the processor's clock off for themselves (PR_SET_TSC)"
                )
            }
            Warning::UncertainOrder { unknown_frees, implicit_frees } => {
                if *unknown_frees > 0 {
                    write!(f, "{unknown_frees} frees of blocks whose allocation was not seen")?;
                }
                if *unknown_frees > 0 && *implicit_frees > 0 {
                    f.write_str(", ")?;
                }
                if *implicit_frees > 0 {
                    write!(f, "{implicit_frees} blocks whose free was not seen")?;
                }
                Ok(())
            }
            Warning::UnknownThreads { count } => write!(f, "{count} thread(s) without a record"),
            Warning::Sampled { sample, totals } => {
                let of = |variance, estimate| match interval(variance, estimate).around(estimate) {
                    Some(around) => around,
                    None if estimate == 0 => "none seen".to_owned(),
                    None => "exact".to_owned(),
                };
                let variances = &sample.variances;
                write!(
                    f,
                    "sampled: one block for every {}, {} in all; the figures are estimates: allocations {}, \
                     requested bytes {}, peak {}, never freed {}",
                    bytes(sample.every.0),
                    sample.requests,
                    of(variances.allocations, totals.allocations),
                    of(variances.allocated_bytes, totals.allocated_bytes.0),
                    of(variances.peak_bytes, totals.peak_live_bytes.0),
                    of(variances.live_at_exit_bytes, totals.never_freed_bytes.0),
                )
            }
            Warning::Environment { what } => {
                write!(f, "recorded in an environment that slows the heap: {what}")
            }
            Warning::NoLines { what, .. } => f.write_str(what),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_of_nothing_is_not_exact() {
        let sample = Sampled {
            every: crate::Bytes(512 << 10),
            requests: 0,
            requests_error: 0,
            allocated_bytes_error: crate::Bytes(0),
            peak_live_bytes_error: crate::Bytes(0),
            live_at_exit_bytes_error: crate::Bytes(0),
            variances: crate::Variances::default(),
        };
        let text = |totals| Warning::Sampled { sample, totals }.to_string();
        assert!(text(Totals::default()).contains("allocations none seen"));
        // Large blocks are all recorded.
        assert!(text(Totals { allocations: 3, ..Totals::default() }).contains("allocations exact"));
    }

    #[test]
    fn only_what_was_is_counted() {
        let text = |unknown_frees, implicit_frees| {
            Warning::UncertainOrder { unknown_frees, implicit_frees }.to_string()
        };
        assert_eq!(text(3, 0), "3 frees of blocks whose allocation was not seen");
        assert_eq!(text(0, 4), "4 blocks whose free was not seen");
        assert_eq!(
            text(1, 2),
            "1 frees of blocks whose allocation was not seen, 2 blocks whose free was not seen"
        );
    }
}

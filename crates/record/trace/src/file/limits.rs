//! Limits on what a recording may claim, which protect its readers.
//!
//! Packing makes next to nothing of what repeats itself: 64 MiB of zeros take 2 KiB. So a file of some kilobytes can claim
//! gigabytes, and nothing is unpacked or reserved before it was compared with what real recordings contain. Three limits do
//! that: how much a file of its size unpacks to, how many entries one section has, and how long a record of facts is. They are
//! the same on every machine. What memory the entries take afterwards is a matter of the reader; see `heapwise-analysis`.

use super::cursor::Cursor;
use super::kind;
use std::fmt;

/// What a recording claims too much of. Reading ends there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Claim {
    /// It unpacks to more than recordings of its size do.
    Unpacked,
    /// A section has more of these than any writer writes.
    Entries(&'static str),
    /// A section has blocks of events without events.
    EmptyBlocks,
    /// To read it takes more memory than recordings of its size need.
    Memory,
    /// To read it takes more than this many bytes of memory, which the machine does not have to spare.
    Machine {
        /// The memory.
        bytes: u64,
    },
}

impl fmt::Display for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Claim::Unpacked => write!(f, "it unpacks to far more than a recording of its size"),
            Claim::Entries(what) => write!(f, "one section claims more {what} than heapwise writes into one"),
            Claim::EmptyBlocks => write!(f, "a section has blocks of events without events"),
            Claim::Memory => write!(f, "it claims far more memory than a recording of its size needs"),
            Claim::Machine { bytes } => {
                write!(f, "reading on takes more memory than the {} MiB that are free for it", bytes >> 20)
            }
        }
    }
}

/// Decoded bytes that any file may have, of events and of everything else.
const FREE_BYTES: u64 = 64 << 20;
/// Decoded bytes of events for each byte of the file. The highest ratio of a real recording is 467 in a section and 378 in the
/// file: 30 million blocks of one size that are never freed. On a faster machine there are fewer readings of the clock in
/// between, which are most of what such a file holds.
const EVENTS_PER_BYTE: u64 = 4096;
/// Decoded bytes of everything else for each byte of the file. It was 3 at most: a program that builds trees by recursion,
/// whose stacks pack to a hundredth and come with events that do not.
const OTHERS_PER_BYTE: u64 = 64;

/// Entries of a section. Writers begin another one far below: they write at most 2^20 nodes, 24 MiB of events, and what came
/// together in a fifth of a second of everything else.
pub(crate) const MOST_NODES: usize = 1 << 21;
pub(crate) const MOST_BLOCKS: usize = 1 << 16;
pub(crate) const MOST_EVENTS: usize = 1 << 24;
pub(crate) const MOST_READINGS: usize = 1 << 20;
pub(crate) const MOST_SAMPLES: usize = 1 << 20;
pub(crate) const MOST_USABLE_SIZES: usize = 1 << 20;
pub(crate) const MOST_MAPPINGS: usize = 1 << 20;
pub(crate) const MOST_CARRIED: usize = 1 << 18;
pub(crate) const MOST_RUNS: usize = 1 << 23;
/// Of names there is one section for the whole recording. Those of a browser have 200,000 strings and a million frames.
pub(crate) const MOST_STRINGS: usize = 1 << 22;
pub(crate) const MOST_FRAMES: usize = 1 << 22;
pub(crate) const MOST_ADDRESSES: usize = 1 << 22;
pub(crate) const MOST_IMAGES: usize = 1 << 16;
/// Bytes of facts in JSON: several times the longest command line.
pub(crate) const MOST_FACTS: usize = 16 << 20;
/// Elements of a list of findings or blind spots; the rest is ignored. An empty one takes two bytes in the file and 140 in
/// memory.
pub(crate) const MOST_LISTED: usize = 4096;

/// What was unpacked so far.
#[derive(Debug, Default)]
pub(crate) struct Unpacked {
    events: u64,
    others: u64,
}

impl Unpacked {
    /// Asks whether a section may be unpacked to `bytes`, if `file_bytes` of the file were read with it.
    pub(crate) fn allow(&mut self, kind: u16, bytes: usize, file_bytes: u64) -> Result<(), Claim> {
        let is_facts = matches!(
            kind,
            kind::META
                | kind::PROCESS
                | kind::THREAD
                | kind::MODULE
                | kind::PROCESS_END
                | kind::THREAD_END
                | kind::RUN_END
        );
        if is_facts && bytes > MOST_FACTS {
            return Err(Claim::Entries("bytes of facts"));
        }
        let (sum, per_byte) = match kind {
            kind::EVENTS => (&mut self.events, EVENTS_PER_BYTE),
            _ => (&mut self.others, OTHERS_PER_BYTE),
        };
        *sum = sum.saturating_add(bytes as u64);
        let most = file_bytes.saturating_mul(per_byte).saturating_add(FREE_BYTES);
        if *sum > most { Err(Claim::Unpacked) } else { Ok(()) }
    }
}

/// What one section claims too much of, noted while it is decoded.
#[derive(Debug, Default)]
pub(crate) struct Excess(pub(crate) Option<Claim>);

impl Excess {
    /// A count of entries that take at least one byte each, at most `most` of them. `None` otherwise.
    pub(crate) fn count(&mut self, c: &mut Cursor<'_>, most: usize, what: &'static str) -> Option<usize> {
        let count = c.count()?;
        self.more(count, most, what)?;
        Some(count)
    }

    /// `None`, and noted, if there are more entries than a section has.
    pub(crate) fn more(&mut self, count: usize, most: usize, what: &'static str) -> Option<()> {
        if count > most {
            self.0 = Some(Claim::Entries(what));
            return None;
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_file_may_unpack_to_grows_with_it() {
        let mut unpacked = Unpacked::default();
        let section = 64 << 20;
        assert_eq!(unpacked.allow(kind::NODES, section, 2000), Ok(()), "so much is free");
        assert_eq!(unpacked.allow(kind::CLOCK, section, 4000), Err(Claim::Unpacked));
        assert_eq!(unpacked.allow(kind::EVENTS, section, 4000), Ok(()), "events are counted apart");
        assert_eq!(unpacked.allow(kind::EVENTS, section, 6000), Err(Claim::Unpacked));
        assert_eq!(unpacked.allow(kind::EVENTS, section, 1 << 20), Ok(()), "a larger file may hold more");
        assert_eq!(
            unpacked.allow(kind::META, MOST_FACTS + 1, 1 << 30),
            Err(Claim::Entries("bytes of facts"))
        );
    }
}

//! Reads a recording, section by section.

use super::carried::Carried;
use super::columns::EventsSection;
use super::error::{Error, ErrorKind};
use super::kind;
use super::limits::{Excess, Unpacked};
use super::pages::{Snapshot, UsableSizes};
use super::records::{Meta, ModuleInfo, ProcessEnd, ProcessInfo, RunEnd, ThreadEnd, ThreadInfo};
use super::section::{self, fill};
pub use super::section::{FRAME_BYTES, Tail, section_bytes};
use super::tables::{ClockReadings, MarkNames, Nodes, Samples, Symbols};
use super::{HEADER_BYTES, MAGIC, MAJOR};
use serde::de::DeserializeOwned;
use std::io::Read;

/// A decoded section.
#[derive(Debug)]
#[non_exhaustive]
pub enum Section {
    /// What was recorded.
    Meta(Meta),
    /// A process joined.
    Process(ProcessInfo),
    /// A thread joined.
    Thread(ThreadInfo),
    /// An object file occurs in stacks.
    Module(ModuleInfo),
    Events(EventsSection),
    /// Nodes of a trie.
    Nodes(Nodes),
    Clock(ClockReadings),
    /// Memory samples.
    Samples(Samples),
    /// A process is gone.
    ProcessEnd(ProcessEnd),
    /// A thread is gone.
    ThreadEnd(ThreadEnd),
    /// Names of addresses.
    Symbols(Symbols),
    /// The run is over.
    RunEnd(RunEnd),
    /// Which pages were resident.
    Snapshot(Snapshot),
    /// How large an allocator's blocks are.
    UsableSizes(UsableSizes),
    MarkNames(MarkNames),
    /// Blocks from an earlier file of the recording.
    Carried(Carried),
    /// A kind that this version does not know.
    Unknown(u16),
}

/// Reads sections from a stream.
#[derive(Debug)]
pub struct Reader<R: Read> {
    input: R,
    offset: u64,
    tail: Option<Tail>,
    unpacked: Unpacked,
}

impl<R: Read> Reader<R> {
    /// Checks that the stream is a recording that this version reads.
    ///
    /// # Errors
    /// [`ErrorKind::Foreign`], [`ErrorKind::TooNew`], or the stream's.
    pub fn new(mut input: R) -> Result<Self, Error> {
        let mut header = [0u8; HEADER_BYTES];
        let got = fill(&mut input, &mut header)?;
        if got < HEADER_BYTES || header[..8] != MAGIC {
            return Err(ErrorKind::Foreign.into());
        }
        let major = u16::from_le_bytes([header[8], header[9]]);
        let minor = u16::from_le_bytes([header[10], header[11]]);
        if major > MAJOR {
            return Err(ErrorKind::TooNew { found: format!("{major}.{minor}"), supported: MAJOR }.into());
        }
        Ok(Self { input, offset: HEADER_BYTES as u64, tail: None, unpacked: Unpacked::default() })
    }

    /// How the file ended, once [`Reader::next_section`] has returned `None`.
    pub fn tail(&self) -> Option<Tail> {
        self.tail
    }

    /// Bytes of whole sections read so far.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// The next section; `None` at the end, or where the rest is cut, damaged or claims too much ([`Reader::tail`] says which).
    ///
    /// # Errors
    /// [`ErrorKind::Damaged`] for a section whose checksum is right and whose content is not, or the stream's.
    pub fn next_section(&mut self) -> Result<Option<Section>, Error> {
        if self.tail.is_some() {
            return Ok(None);
        }
        let frame = match section::read(&mut self.input, &mut self.unpacked, self.offset)? {
            Ok(frame) => frame,
            Err(tail) => {
                self.tail = Some(tail);
                return Ok(None);
            }
        };
        let at = self.offset;
        self.offset += frame.stored;
        let mut excess = Excess::default();
        match decode(frame.kind, frame.payload, &mut excess) {
            Ok(section) => Ok(Some(section)),
            Err(what) => match excess.0 {
                // Content that makes no sense is skipped. What claims too much would do so again in the next section.
                Some(claim) => {
                    self.offset = at;
                    self.tail = Some(Tail::Excessive(claim));
                    Ok(None)
                }
                None => Err(ErrorKind::Damaged { offset: at, what }.into()),
            },
        }
    }
}

/// Decodes a payload, or says what it is that makes no sense.
fn decode(kind: u16, p: Vec<u8>, excess: &mut Excess) -> Result<Section, &'static str> {
    Ok(match kind {
        kind::META => Section::Meta(json(&p).ok_or("run facts")?),
        kind::PROCESS => Section::Process(json(&p).ok_or("a process")?),
        kind::THREAD => Section::Thread(json(&p).ok_or("a thread")?),
        kind::MODULE => Section::Module(json(&p).ok_or("a module")?),
        kind::EVENTS => Section::Events(EventsSection::decode(p, excess).ok_or("events")?),
        kind::NODES => Section::Nodes(Nodes::decode(&p, excess).ok_or("stacks")?),
        kind::CLOCK => Section::Clock(ClockReadings::decode(&p, excess).ok_or("clock readings")?),
        kind::SAMPLES => Section::Samples(Samples::decode(&p, excess).ok_or("memory samples")?),
        kind::PROCESS_END => Section::ProcessEnd(json(&p).ok_or("a process's end")?),
        kind::THREAD_END => Section::ThreadEnd(json(&p).ok_or("a thread's end")?),
        kind::SYMBOLS => Section::Symbols(Symbols::decode(&p, excess).ok_or("symbols")?),
        kind::RUN_END => Section::RunEnd(json(&p).ok_or("the run's end")?),
        kind::SNAPSHOT => Section::Snapshot(Snapshot::decode(&p, excess).ok_or("pages")?),
        kind::USABLE_SIZES => Section::UsableSizes(UsableSizes::decode(&p, excess).ok_or("sizes of blocks")?),
        kind::MARK_NAMES => Section::MarkNames(MarkNames::decode(&p).ok_or("names of marks")?),
        kind::CARRIED => Section::Carried(Carried::decode(&p, excess).ok_or("blocks from before")?),
        other => Section::Unknown(other),
    })
}

fn json<T: DeserializeOwned>(payload: &[u8]) -> Option<T> {
    serde_json::from_slice(payload).ok()
}

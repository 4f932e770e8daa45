//! Writes a recording.

use super::carried::Carried;
use super::error::Error;
use super::pages::{Snapshot, UsableSizes};
use super::records::{Meta, ModuleInfo, ProcessEnd, ProcessInfo, RunEnd, ThreadEnd, ThreadInfo};
use super::tables::{ClockReadings, MarkNames, Nodes, Samples, Symbols};
use super::{HEADER_BYTES, MAGIC, MAJOR, MINOR};
use super::{kind, section};
use serde::Serialize;
use std::io::Write;

/// Appends sections to a stream. Whatever it was given is on its way to the stream when a method returns.
#[derive(Debug)]
pub struct Writer<W: Write> {
    out: W,
    written: u64,
}

impl<W: Write> Writer<W> {
    /// Begins a recording.
    ///
    /// # Errors
    /// The stream's.
    pub fn new(mut out: W, meta: &Meta) -> Result<Self, Error> {
        let mut header = [0u8; HEADER_BYTES];
        header[..8].copy_from_slice(&MAGIC);
        header[8..10].copy_from_slice(&MAJOR.to_le_bytes());
        header[10..12].copy_from_slice(&MINOR.to_le_bytes());
        out.write_all(&header)?;
        let mut writer = Self { out, written: HEADER_BYTES as u64 };
        writer.json(kind::META, meta)?;
        Ok(writer)
    }

    /// Goes on with a recording whose whole sections are in the stream already.
    pub fn append(out: W) -> Self {
        Self { out, written: 0 }
    }

    /// Bytes written so far.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// The underlying stream.
    pub fn get_ref(&self) -> &W {
        &self.out
    }

    /// Returns the underlying stream.
    pub fn into_inner(self) -> W {
        self.out
    }

    /// Flushes the stream.
    ///
    /// # Errors
    /// The stream's.
    pub fn flush(&mut self) -> Result<(), Error> {
        Ok(self.out.flush()?)
    }

    fn section(&mut self, kind: u16, payload: &[u8]) -> Result<(), Error> {
        self.written += section::write(&mut self.out, kind, payload)?;
        Ok(())
    }

    fn json(&mut self, kind: u16, record: &impl Serialize) -> Result<(), Error> {
        let payload = serde_json::to_vec(record).map_err(std::io::Error::from)?;
        self.section(kind, &payload)
    }

    /// A payload of [`super::columns::EventsEncoder::finish`].
    ///
    /// # Errors
    /// The stream's, as of all the following.
    pub fn events(&mut self, payload: &[u8]) -> Result<(), Error> {
        self.section(kind::EVENTS, payload)
    }

    /// A process joined.
    pub fn process(&mut self, record: &ProcessInfo) -> Result<(), Error> {
        self.json(kind::PROCESS, record)
    }

    /// A thread joined.
    pub fn thread(&mut self, record: &ThreadInfo) -> Result<(), Error> {
        self.json(kind::THREAD, record)
    }

    /// A thread is gone.
    pub fn thread_end(&mut self, record: &ThreadEnd) -> Result<(), Error> {
        self.json(kind::THREAD_END, record)
    }

    /// An object file occurs.
    pub fn module(&mut self, record: &ModuleInfo) -> Result<(), Error> {
        self.json(kind::MODULE, record)
    }

    /// A process is gone.
    pub fn process_end(&mut self, record: &ProcessEnd) -> Result<(), Error> {
        self.json(kind::PROCESS_END, record)
    }

    /// The run is over.
    pub fn run_end(&mut self, record: &RunEnd) -> Result<(), Error> {
        self.json(kind::RUN_END, record)
    }

    /// Nodes of a trie.
    pub fn nodes(&mut self, nodes: &Nodes) -> Result<(), Error> {
        self.section(kind::NODES, &nodes.encode())
    }

    pub fn clock(&mut self, readings: &ClockReadings) -> Result<(), Error> {
        self.section(kind::CLOCK, &readings.encode())
    }

    /// Memory samples.
    pub fn samples(&mut self, samples: &Samples) -> Result<(), Error> {
        self.section(kind::SAMPLES, &samples.encode())
    }

    /// Which pages were resident.
    pub fn snapshot(&mut self, snapshot: &Snapshot) -> Result<(), Error> {
        self.section(kind::SNAPSHOT, &snapshot.encode())
    }

    /// How large an allocator's blocks are.
    pub fn usable_sizes(&mut self, sizes: &UsableSizes) -> Result<(), Error> {
        self.section(kind::USABLE_SIZES, &sizes.encode())
    }

    /// Names of marks.
    ///
    /// # Errors
    /// The stream's.
    pub fn mark_names(&mut self, names: &MarkNames) -> Result<(), Error> {
        self.section(kind::MARK_NAMES, &names.encode())
    }

    /// Blocks from an earlier file of the recording; [`Carried::MOST_BLOCKS`] at most.
    pub fn carried(&mut self, carried: &Carried) -> Result<(), Error> {
        self.section(kind::CARRIED, &carried.encode())
    }

    /// Names of addresses.
    pub fn symbols(&mut self, symbols: &Symbols) -> Result<(), Error> {
        self.section(kind::SYMBOLS, &symbols.encode())
    }
}

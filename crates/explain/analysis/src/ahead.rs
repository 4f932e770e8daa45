//! The analysis of a recording that is still being written: what is left at its end is little.

use crate::analysis::Analysis;
use crate::analyze::{Options, Run};
use crate::budget::Budget;
use crate::error::Error;
use crate::unnamed::Unnamed;
use heapwise_trace::file::Reader;
use std::io::Read;

/// Reads a whole recording and makes the tables. `progress` gets the bytes that were read, after each section.
///
/// # Errors
/// Only if the stream cannot be read. Whatever is wrong with the recording itself is in [`Analysis::warnings`].
pub fn analyze<R: Read + Send>(
    reader: Reader<R>,
    options: &Options,
    progress: impl FnMut(u64),
) -> Result<Analysis, Error> {
    Ok(Ahead::new(reader, options).finish(options, progress)?.named([]))
}

/// An analysis up to what was read of a recording.
#[derive(Debug)]
pub struct Ahead<R: Read> {
    pub(crate) reader: Reader<R>,
    pub(crate) run: Run,
}

impl<R: Read> Ahead<R> {
    /// Begins with nothing read but the header.
    pub fn new(reader: Reader<R>, options: &Options) -> Self {
        Self { reader, run: Run::new(Budget::new(options.memory)) }
    }

    /// Goes on by a section, which may wait for the stream. `false` where the stream ends, or cannot be read any further.
    ///
    /// # Errors
    /// The stream's.
    pub fn step(&mut self) -> Result<bool, Error> {
        self.run.next(&mut self.reader)
    }

    /// Bytes of whole sections that were read.
    pub fn offset(&self) -> u64 {
        self.reader.offset()
    }

    /// Reads the rest, as [`analyze`] does, up to the names.
    ///
    /// # Errors
    /// Only if the stream cannot be read.
    pub fn finish(self, options: &Options, progress: impl FnMut(u64)) -> Result<Unnamed, Error>
    where
        R: Send,
    {
        self.run.read(self.reader, options, progress)
    }
}

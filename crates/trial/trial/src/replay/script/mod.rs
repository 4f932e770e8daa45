//! A *script*: what each thread of a program did with its heap, in a form that can be done again at once.
//!
//! A recording names blocks by address, and another allocator will not repeat addresses. In a script every block has a *slot*, a
//! place in a table, and the records that free the block or resize it name the slot. Each thread has a stream of records of 16
//! bytes ([`record`]); streams of all threads lie in pieces in one temporary file ([`streams`]).
//!
//! The order across threads is kept where it matters: a record whose block comes from another thread is marked, with the
//! *generation* of the slot that it means, so that the replay can wait for it. All waiting goes backwards in the one order that
//! the analysis found for the recording, so it ends.

mod block;
mod compile;
mod contents;
mod epochs;
mod overlap;
pub(crate) mod record;
mod slots;
pub(crate) mod streams;
#[cfg(test)]
mod tests;
mod threads;

pub use compile::CompileError;
pub use contents::{Counts, Script};
pub use overlap::Overlap;

use heapwise_analysis::{Analysis, Error as AnalysisError, Options, observe};
use heapwise_trace::file::Reader;
use std::io::Read;

/// Why there is no script.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The recording cannot be read.
    #[error(transparent)]
    Recording(#[from] AnalysisError),
    /// The script cannot be written.
    #[error(transparent)]
    Script(#[from] CompileError),
    /// A replay needs every event.
    #[error(
        "the recording holds a sample of the blocks (one for every {} KiB) and cannot be replayed: record all of them, \
         with `heapwise run` without `--sample`, or with `sample_every_bytes(1)`",
        sample_bytes / 1024
    )]
    Sampled {
        /// At most how many bytes lie between two recorded blocks.
        sample_bytes: u64,
    },
}

/// Compiles the script of a process, by its place in [`Analysis::processes`] of an earlier analysis of the same recording.
/// `progress` is called with the number of bytes read so far.
///
/// # Errors
/// The recording cannot be read or holds a sample only, or the script not be written. A recording that is damaged or was cut off gives the script
/// of what is there.
pub fn compile<R: Read + Send>(
    reader: Reader<R>,
    analysis: &Analysis,
    process: usize,
    progress: impl FnMut(u64),
) -> Result<Script, Error> {
    if let Some(sampled) = &analysis.sampled {
        return Err(Error::Sampled { sample_bytes: sampled.every.0 });
    }
    let of = analysis.processes.get(process);
    let mut compiler = compile::Compiler::new(of.map_or(process, |of| of.place), analysis.memory.peak_rss)?;
    let mut options = Options::default();
    options.ignore_symbols = true;
    observe(reader, &options, &mut compiler, progress)?;
    let end = of.and_then(|of| of.end);
    Ok(compiler.finish(end)?)
}

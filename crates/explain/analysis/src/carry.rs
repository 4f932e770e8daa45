//! What one file of a recording leaves to the next one.

use crate::analyze::{Options, Run};
use crate::budget::Budget;
use crate::error::{Error, ErrorKind};
use heapwise_trace::file::carried::{Carried, CarriedBlock};
use heapwise_trace::file::reader::{Reader, Tail};
use std::io::Read;

/// Goes through a file, and returns the blocks that are live at its end in processes that go on, in sections of bounded size.
///
/// # Errors
/// If the stream cannot be read, or not all of it: then which blocks are live is not known.
pub fn live_blocks<R: Read + Send>(mut reader: Reader<R>, options: &Options) -> Result<Vec<Carried>, Error> {
    let mut run = Run::<()>::new(Budget::new(options.memory));
    run.takes_live = true;
    run.go_through(&mut reader, |_| {})?;
    run.sequence_held();
    if reader.tail() != Some(Tail::Clean) || run.skipped > 0 || !run.warnings.is_empty() {
        return Err(ErrorKind::Incomplete.into());
    }
    run.sequencer.settle();
    let now_ns = run.sequencer.clock.last_ns();
    let mut all = Vec::new();
    for slot in 0..run.processes.len() {
        if run.processes[slot].end.as_ref().is_some_and(|end| !end.still_running) {
            continue;
        }
        let threads = &run.threads;
        let index = |thread: u32| threads[thread as usize].info.index;
        let blocks: Vec<CarriedBlock> = run.sequencer.ledger.take_live(slot as u32, now_ns, index);
        let process = run.processes[slot].info.index;
        let pieces = blocks.chunks(Carried::MOST_BLOCKS);
        all.extend(pieces.map(|piece| Carried { process, blocks: piece.to_vec() }));
    }
    Ok(all)
}

//! What a heapwise that was killed has left in a process: its recorder does nothing any more, and its memory is still there. Whoever
//! attaches next returns it first.

use super::Refused;
use super::attached::{Attached, SHOWN_NAME};
use super::guest::Image;
use super::tracee::Tracee;
use crate::joins::Memory;
use crate::maps;
use heapwise_trace::live::layout::{SESSION_HEADER_BYTES, SESSION_MAGIC, SessionHeader, WrittenRecorder};
use heapwise_trace::versions::LIVE_VERSION;
use std::mem::offset_of;

/// A recorder that is in a process, and its shared memory.
#[derive(Debug)]
pub(crate) struct Remains {
    pub(super) memory: Memory,
    pub(super) attached: Attached,
}

/// Notes in the shared memory, which begins at an address in the process, where the recorder is.
pub(super) fn note(tracee: &Tracee, session: u64, placed: &Image) -> Result<(), Refused> {
    let words = [placed.image.start, placed.image.end, placed.entry];
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    tracee.write(session + offset_of!(SessionHeader, written) as u64, &bytes)
}

/// What there is in a process, by its mappings. None of it is at work, which was asked before.
///
/// The process could have written anything there. What is done by it is done by a thread of the process, in the process.
pub(super) fn find(lines: &[maps::Line<'_>], read: impl Fn(u64, usize) -> Option<Vec<u8>>) -> Vec<Remains> {
    let headers = lines.iter().filter(|line| line.name == SHOWN_NAME && line.offset == 0);
    let found = headers.filter_map(|line| {
        let bytes = read(line.range.start, size_of::<SessionHeader>())?;
        let word = |at: usize| Some(u64::from_le_bytes(bytes.get(at..)?.first_chunk().copied()?));
        let version = word(offset_of!(SessionHeader, version))? as u32;
        let is_known = word(offset_of!(SessionHeader, magic))? == SESSION_MAGIC && version == LIVE_VERSION;
        let written = offset_of!(SessionHeader, written);
        let start = word(written + offset_of!(WrittenRecorder, start))?;
        let end = word(written + offset_of!(WrittenRecorder, end))?;
        let entry = word(written + offset_of!(WrittenRecorder, entry))?;
        let is_code =
            |line: &&maps::Line<'_>| line.executable && line.inode == 0 && line.range.contains(&entry);
        lines.iter().find(is_code).filter(|line| is_known && start <= line.range.start)?;
        Some(Remains {
            memory: Memory::of_line(line),
            attached: Attached {
                placed: Image::placed_before(start..end, entry)?,
                session: line.range.start..line.range.start + SESSION_HEADER_BYTES,
                // A page or so with code for threads that were in the beginning of a function.
                rooms: Vec::new(),
            },
        })
    });
    found.collect()
}

//! Streams of records in one temporary file, in pieces of 64 KiB.
//!
//! The last record of a full piece has the place of the next one. The call stack of each record is in a separate file, since only
//! those of the slowest operations are ever read.

use super::record::{Operation, PIECE_BYTES, PIECE_RECORDS, RECORD_BYTES, Record};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Bytes of a stack in the file of stacks.
const STACK_BYTES: u64 = 4;

/// Where a record lies in the file of records, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Position(pub(crate) u64);

/// The stream of a thread while it is written.
#[derive(Debug)]
pub(crate) struct Stream {
    /// Where its first piece is.
    pub(crate) first: u64,
    piece: u64,
    records: Vec<Record>,
    stacks: Vec<u32>,
}

/// The files.
#[derive(Debug)]
pub(crate) struct Streams {
    pub(crate) records: File,
    pub(crate) stacks: File,
    end: u64,
}

impl Streams {
    /// Makes the files, which have no name and vanish with their last user.
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self { records: tempfile::tempfile()?, stacks: tempfile::tempfile()?, end: 0 })
    }

    fn reserve(&mut self) -> u64 {
        self.end += PIECE_BYTES;
        self.end - PIECE_BYTES
    }

    pub(crate) fn begin(&mut self) -> Stream {
        let first = self.reserve();
        Stream { first, piece: first, records: Vec::new(), stacks: Vec::new() }
    }

    /// Appends a record.
    pub(crate) fn push(&mut self, stream: &mut Stream, record: Record, stack: u32) -> io::Result<Position> {
        if stream.records.len() == PIECE_RECORDS - 1 {
            let next = self.reserve();
            stream.records.push(Record::plain(Operation::Next, 0, next));
            stream.stacks.push(0);
            self.flush(stream)?;
            stream.piece = next;
            stream.records.clear();
            stream.stacks.clear();
        }
        stream.records.push(record);
        stream.stacks.push(stack);
        Ok(Position(stream.piece + (stream.records.len() as u64 - 1) * RECORD_BYTES))
    }

    /// Writes what is in memory.
    pub(crate) fn flush(&mut self, stream: &Stream) -> io::Result<()> {
        let records: Vec<u8> = stream.records.iter().flat_map(|r| r.0).flat_map(u64::to_ne_bytes).collect();
        let stacks: Vec<u8> = stream.stacks.iter().flat_map(|s| s.to_ne_bytes()).collect();
        self.records.write_all_at(&records, stream.piece)?;
        self.stacks.write_all_at(&stacks, stream.piece / RECORD_BYTES * STACK_BYTES)
    }

    /// Replaces the second word of a record of some stream, all of which are given by their threads.
    pub(crate) fn set_second(&mut self, stream: &mut Stream, at: Position, second: u64) -> io::Result<()> {
        let index = at.0.checked_sub(stream.piece).map(|bytes| (bytes / RECORD_BYTES) as usize);
        match index.and_then(|index| stream.records.get_mut(index)) {
            Some(record) => record.0[1] = second,
            None => self.records.write_all_at(&second.to_ne_bytes(), at.0 + 8)?,
        }
        Ok(())
    }
}

/// The call stack of a record.
pub(crate) fn stack_at(stacks: &File, at: Position) -> io::Result<u32> {
    let mut bytes = [0; STACK_BYTES as usize];
    stacks.read_exact_at(&mut bytes, at.0 / RECORD_BYTES * STACK_BYTES)?;
    Ok(u32::from_ne_bytes(bytes))
}

/// All records of a stream, with the one that ends it.
#[cfg(test)]
pub(crate) fn read_back(records: &File, first: u64) -> Vec<Record> {
    read_back_with_places(records, first).into_iter().map(|(_, record)| record).collect()
}

/// The same with where each lies.
#[cfg(test)]
pub(crate) fn read_back_with_places(records: &File, first: u64) -> Vec<(Position, Record)> {
    let mut all = Vec::new();
    let mut at = first;
    loop {
        let mut bytes = [0; RECORD_BYTES as usize];
        records.read_exact_at(&mut bytes, at).expect("the stream has an end");
        let word = |i: usize| u64::from_ne_bytes(bytes[i..i + 8].try_into().expect("eight bytes"));
        let record = Record([word(0), word(8)]);
        match record.operation() {
            Operation::Next => at = record.0[1],
            Operation::End | Operation::Stay => {
                all.push((Position(at), record));
                return all;
            }
            _ => {
                all.push((Position(at), record));
                at += RECORD_BYTES;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_go_on_over_pieces_beside_each_other() {
        let mut streams = Streams::new().expect("a file");
        let mut two = [streams.begin(), streams.begin()];
        let mut at = Vec::new();
        for n in 0..10_000u32 {
            for (i, stream) in two.iter_mut().enumerate() {
                let record = Record::block(Operation::Malloc, n, i as u16, false, u64::from(n));
                at.push(streams.push(stream, record, n * 2 + i as u32).expect("written"));
            }
        }
        // One that was written long ago, and one that is still in memory.
        streams.set_second(&mut two[0], at[2], 77).expect("changed");
        streams.set_second(&mut two[0], at[2 * 9_999], 78).expect("changed");
        for stream in &mut two {
            streams.push(stream, Record::plain(Operation::End, 0, 0), 0).expect("written");
            streams.flush(stream).expect("written");
        }
        for (i, stream) in two.iter().enumerate() {
            let mut records = read_back(&streams.records, stream.first);
            assert_eq!(records.pop().map(Record::operation), Some(Operation::End));
            assert_eq!(records.len(), 10_000);
            let changed = |n: usize| if i == 0 { [1, 9_999].iter().position(|&c| c == n) } else { None };
            for (n, record) in records.iter().enumerate() {
                let size = changed(n).map_or(n, |which| 77 + which);
                assert_eq!((record.number() as usize, record.generation() as usize), (n, i));
                assert_eq!(record.size(), size);
                let stack = stack_at(&streams.stacks, at[n * 2 + i]).expect("read");
                assert_eq!(stack as usize, n * 2 + i);
            }
        }
    }
}

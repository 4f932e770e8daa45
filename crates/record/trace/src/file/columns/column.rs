//! A column that is being written: variable-length integers, as [`Cursor`](crate::file::cursor::Cursor) reads them.
//!
//! PERF: there is room before anything is written, so that no event waits for a look at it.

use crate::file::cursor::to_unsigned;

/// Bytes that an integer takes at most.
const MOST_BYTES: usize = 10;

/// Bytes, and room behind them.
#[derive(Debug, Default)]
pub(super) struct Column {
    bytes: Vec<u8>,
    len: usize,
}

impl Column {
    /// Forgets what there is.
    pub(super) fn clear(&mut self) {
        self.len = 0;
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    /// Makes room for so many integers.
    pub(super) fn reserve(&mut self, integers: usize) {
        let wanted = self.len + integers * MOST_BYTES;
        if self.bytes.len() < wanted {
            self.bytes.resize(wanted.next_power_of_two(), 0);
        }
    }

    /// Appends a byte. There has to be room for it.
    #[inline(always)]
    pub(super) fn push(&mut self, byte: u8) {
        self.bytes[self.len] = byte;
        self.len += 1;
    }

    /// Appends an integer. There has to be room for it.
    #[inline(always)]
    pub(super) fn put(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.push(value as u8);
    }

    /// The same for a signed integer.
    #[inline(always)]
    pub(super) fn put_signed(&mut self, value: i64) {
        self.put(to_unsigned(value));
    }
}

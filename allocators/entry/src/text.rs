//! A short text without allocation, for the values of settings.

use crate::{DONE, NOT_POSSIBLE};
use core::ffi::{c_char, c_int};
use core::fmt;

/// More than any value of a setting has.
const ROOM: usize = 128;

/// A text of at most 127 bytes.
#[derive(Debug)]
pub struct Text {
    bytes: [u8; ROOM],
    len: usize,
}

impl Text {
    pub const fn new() -> Self {
        Self { bytes: [0; ROOM], len: 0 }
    }

    /// Writes it as a C string.
    ///
    /// # Safety
    ///
    /// There are `room` bytes at `out`.
    pub unsafe fn copy_to(&self, out: *mut c_char, room: usize) -> c_int {
        if self.len >= room {
            return NOT_POSSIBLE;
        }
        // SAFETY: there is room for the bytes and the zero behind them, which `write_str` leaves there, and our own array
        // has no other user.
        unsafe { core::ptr::copy_nonoverlapping(self.bytes.as_ptr().cast(), out, self.len + 1) };
        DONE
    }
}

impl Default for Text {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Write for Text {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = self.len + text.len();
        // One byte stays zero, as the end of a C string.
        let place = self.bytes[..ROOM - 1].get_mut(self.len..end).ok_or(fmt::Error)?;
        place.copy_from_slice(text.as_bytes());
        self.len = end;
        Ok(())
    }
}

//! The recorder as an image: what it gets where it is started, and what it returns.

#[cfg(feature = "file")]
use std::{ops::Range, vec::Vec};

/// Bytes of the longest path of a session.
pub const PATH_BYTES: usize = 96;

/// What the image's first function gets. Only integers: any bytes are valid.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Parameters {
    /// Where the image lies in the process.
    pub start: u64,
    /// First address behind it and what was written with it.
    pub end: u64,
    /// Where the session is, `/proc/<pid>/fd/<n>`.
    pub path: [u8; PATH_BYTES],
    /// Its length.
    pub path_len: u64,
    /// Where a table of the program's frame descriptions is, in the form of `.eh_frame_hdr`; 0 if it has one in its file, or none.
    pub frames_start: u64,
    /// First address behind it.
    pub frames_end: u64,
}

#[cfg(feature = "file")]
impl Parameters {
    /// For a session; `None` if its path is too long.
    pub fn new(image: Range<u64>, session: &str, frames: Range<u64>) -> Option<Self> {
        let mut path = [0; PATH_BYTES];
        path.get_mut(..session.len())?.copy_from_slice(session.as_bytes());
        Some(Self {
            start: image.start,
            end: image.end,
            path,
            path_len: session.len() as u64,
            frames_start: frames.start,
            frames_end: frames.end,
        })
    }

    /// As bytes of the process's memory.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(size_of::<Self>());
        bytes.extend(self.start.to_ne_bytes());
        bytes.extend(self.end.to_ne_bytes());
        bytes.extend(self.path);
        bytes.extend(self.path_len.to_ne_bytes());
        bytes.extend(self.frames_start.to_ne_bytes());
        bytes.extend(self.frames_end.to_ne_bytes());
        bytes
    }
}

/// What came of starting the image.
pub mod outcome {
    /// There is no session to join, or it could not be joined.
    pub const NOT_JOINED: u32 = 0;
    /// The process is recorded.
    pub const JOINED: u32 = 1;
}

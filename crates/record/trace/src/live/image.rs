//! The recorder as an image: what it gets where it is started or has to leave, and what it returns.

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
    /// What it is to do; see [`action`].
    pub action: u64,
    /// Where the process has the session's header mapped; 0 if it is to open the session by its path.
    pub session: u64,
    /// Where the loader's `_dl_find_object` is; 0 without one.
    pub find_object: u64,
    /// Where the loader's `_r_debug` is; 0 without one.
    pub loader_list: u64,
    /// Non-zero if the process has other ids than the collector knows it and its threads by.
    pub has_other_ids: u64,
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
    /// For an image in a part of the process's memory, without a session.
    pub fn new(image: Range<u64>, action: u64) -> Self {
        Self {
            start: image.start,
            end: image.end,
            action,
            session: 0,
            find_object: 0,
            loader_list: 0,
            has_other_ids: 0,
            path: [0; PATH_BYTES],
            path_len: 0,
            frames_start: 0,
            frames_end: 0,
        }
    }

    /// With the path of a session; `None` if that is too long.
    pub fn with_path(mut self, session: &str) -> Option<Self> {
        self.path.get_mut(..session.len())?.copy_from_slice(session.as_bytes());
        self.path_len = session.len() as u64;
        Some(self)
    }

    /// As bytes of the process's memory.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(size_of::<Self>());
        let words = [
            self.start,
            self.end,
            self.action,
            self.session,
            self.find_object,
            self.loader_list,
            self.has_other_ids,
        ];
        words.iter().for_each(|word| bytes.extend(word.to_ne_bytes()));
        bytes.extend(self.path);
        bytes.extend(self.path_len.to_ne_bytes());
        bytes.extend(self.frames_start.to_ne_bytes());
        bytes.extend(self.frames_end.to_ne_bytes());
        bytes
    }
}

/// What the image is to do.
pub mod action {
    /// Join the session, and have functions entered.
    pub const START: u64 = 0;
    /// Return all memory but its own, if no thread is at work in it. Nothing leads to it any more.
    pub const LEAVE: u64 = 1;
}

/// What came of it.
pub mod outcome {
    /// There is no session to join, or it could not be joined.
    pub const NOT_JOINED: u32 = 0;
    /// The process is recorded.
    pub const JOINED: u32 = 1;
    /// A thread is at work in the recorder.
    pub const BUSY: u32 = 2;
    /// The image can be unmapped.
    pub const LEFT: u32 = 3;
    /// The image is still at work.
    pub const OPEN: u32 = 4;
}

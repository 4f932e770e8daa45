//! The recorder as an image: what it gets where it is started, and what it returns.

/// Bytes of the longest path of a session.
pub const PATH_BYTES: usize = 96;

/// What the image's first function gets. Only integers: any bytes are valid.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Parameters {
    /// Where the image lies in the process.
    pub start: u64,
    /// First address behind it.
    pub end: u64,
    /// Where the session is, `/proc/<pid>/fd/<n>`.
    pub path: [u8; PATH_BYTES],
    /// Its length.
    pub path_len: u64,
}

impl Parameters {
    /// As bytes of the process's memory; `None` if the path is too long.
    pub fn bytes(start: u64, end: u64, path: &str) -> Option<[u8; size_of::<Self>()]> {
        let mut bytes = [0; size_of::<Self>()];
        bytes[..8].copy_from_slice(&start.to_ne_bytes());
        bytes[8..16].copy_from_slice(&end.to_ne_bytes());
        bytes[16..16 + PATH_BYTES].get_mut(..path.len())?.copy_from_slice(path.as_bytes());
        bytes[16 + PATH_BYTES..].copy_from_slice(&(path.len() as u64).to_ne_bytes());
        Some(bytes)
    }
}

/// What came of starting the image.
pub mod outcome {
    /// There is no session to join, or it could not be joined.
    pub const NOT_JOINED: u32 = 0;
    /// The process is recorded.
    pub const JOINED: u32 = 1;
}

//! A section as it lies on disk, with a right mark, right lengths and a right checksum.
//!
//! The writer only writes payloads that make sense. This one writes any, so that the decoders behind the checksum are
//! reached: a fuzzer does not find a CRC-32 by chance.

use arbitrary::Arbitrary;
use heapwise_trace::file::{HEADER_BYTES, MAGIC, MAJOR, MINOR};

/// Most bytes of a payload here. Far below what the format allows, since larger ones only make the fuzzer slow; what
/// the largest ones cost is a matter of fixed tests.
pub const MOST_BYTES: usize = 256 << 10;

/// A section of any kind with any payload.
#[derive(Arbitrary, Clone, Debug)]
pub struct RawSection {
    /// Its kind, and whether it is stored or packed.
    pub kind: Kind,
    /// The start of the payload: counts, mostly.
    pub head: Vec<u8>,
    /// What follows the start, several times over. Repetition packs well, so that a short input reaches long payloads.
    pub body: Vec<u8>,
    /// How many times.
    pub times: u16,
}

/// A kind with its encoding.
#[derive(Arbitrary, Clone, Copy, Debug)]
pub struct Kind {
    number: u8,
    packed: bool,
    /// Whether the decoded length in the frame is wrong.
    wrong_length: bool,
}

impl RawSection {
    /// Appends the section to a file.
    pub fn write(&self, file: &mut Vec<u8>) {
        let mut payload = self.head.clone();
        let room = MOST_BYTES.saturating_sub(payload.len()) / self.body.len().max(1);
        for _ in 0..usize::from(self.times).min(room) {
            payload.extend_from_slice(&self.body);
        }
        // Kinds 0 to 15: all that there are and some that no version knows.
        let kind = u16::from(self.kind.number % 16);
        let raw_len = payload.len() + usize::from(self.kind.wrong_length);
        frame(file, kind, &payload, raw_len, self.kind.packed);
    }
}

/// Appends the file header.
pub fn header(file: &mut Vec<u8>) {
    file.extend_from_slice(&MAGIC);
    file.extend_from_slice(&MAJOR.to_le_bytes());
    file.extend_from_slice(&MINOR.to_le_bytes());
    file.resize(HEADER_BYTES, 0);
}

/// Appends a section, whose decoded length is said to be `raw_len`.
pub fn frame(file: &mut Vec<u8>, kind: u16, payload: &[u8], raw_len: usize, packed: bool) {
    let packed = packed.then(|| zstd::bulk::compress(payload, 1).ok()).flatten();
    let (encoding, stored) = match &packed {
        Some(packed) => (1u16, packed.as_slice()),
        None => (0u16, payload),
    };
    let start = file.len();
    file.extend_from_slice(b"HWSE");
    file.extend_from_slice(&kind.to_le_bytes());
    file.extend_from_slice(&encoding.to_le_bytes());
    file.extend_from_slice(&(stored.len() as u32).to_le_bytes());
    file.extend_from_slice(&(raw_len as u32).to_le_bytes());
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&file[start..]);
    hasher.update(stored);
    file.extend_from_slice(&hasher.finalize().to_le_bytes());
    file.extend_from_slice(stored);
}

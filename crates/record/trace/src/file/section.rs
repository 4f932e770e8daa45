//! Framing: how one section lies on disk.
//!
//! | bytes | content (little endian) |
//! |---|---|
//! | 0..4 | `HWSE` |
//! | 4..6 | kind |
//! | 6..8 | encoding: 0 stored, 1 zstd |
//! | 8..12 | bytes of the payload on disk |
//! | 12..16 | bytes of the payload when decoded |
//! | 16..20 | CRC-32 of bytes 0..16 and the payload on disk |
//! | 20.. | payload |

use super::error::{Error, ErrorKind};
use super::kind;
use super::limits::{Claim, Unpacked};
use std::io::{Read, Write};

/// What a section begins with, in front of its payload.
pub const FRAME_BYTES: usize = 20;
const MARK: [u8; 4] = *b"HWSE";
/// A section never holds more, so a damaged length cannot claim much memory.
pub(crate) const MAX_PAYLOAD: usize = 64 << 20;
/// Level 1 is four times as fast as level 3 on event columns and 5 % larger.
const ZSTD_LEVEL: i32 = 1;

/// A decoded frame.
#[derive(Debug)]
pub(crate) struct Frame {
    pub(crate) kind: u16,
    /// Empty if the kind is not known.
    pub(crate) payload: Vec<u8>,
    /// Bytes that the section takes on disk.
    pub(crate) stored: u64,
}

/// Writes one section and returns the bytes that it took.
pub(crate) fn write(out: &mut impl Write, kind: u16, payload: &[u8]) -> Result<u64, Error> {
    if payload.len() > MAX_PAYLOAD {
        return Err(ErrorKind::TooLarge { bytes: payload.len() }.into());
    }
    let packed = if payload.len() < 64 { None } else { Some(zstd::bulk::compress(payload, ZSTD_LEVEL)?) };
    let packed = packed.filter(|p| p.len() < payload.len());
    let (encoding, stored) = match &packed {
        Some(packed) => (1u16, packed.as_slice()),
        None => (0u16, payload),
    };
    let mut frame = [0u8; FRAME_BYTES];
    frame[0..4].copy_from_slice(&MARK);
    frame[4..6].copy_from_slice(&kind.to_le_bytes());
    frame[6..8].copy_from_slice(&encoding.to_le_bytes());
    frame[8..12].copy_from_slice(&(stored.len() as u32).to_le_bytes());
    frame[12..16].copy_from_slice(&(payload.len() as u32).to_le_bytes());
    let crc = checksum(&frame, stored);
    frame[16..20].copy_from_slice(&crc.to_le_bytes());
    out.write_all(&frame)?;
    out.write_all(stored)?;
    Ok((FRAME_BYTES + stored.len()) as u64)
}

fn checksum(frame: &[u8; FRAME_BYTES], stored: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&frame[..16]);
    hasher.update(stored);
    hasher.finalize()
}

/// How many bytes a section takes on disk that begins with this frame. `None` if that is none, or claims more than a section may have.
pub fn section_bytes(frame: &[u8; FRAME_BYTES]) -> Option<u64> {
    let stored = u32::from_le_bytes([frame[8], frame[9], frame[10], frame[11]]) as usize;
    (frame[0..4] == MARK && stored <= MAX_PAYLOAD).then_some((FRAME_BYTES + stored) as u64)
}

/// Why there is no further section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tail {
    /// The file ends where a section ends.
    Clean,
    /// The file ends within a section.
    Truncated,
    /// The bytes are not a section, its checksum is wrong, or it claims to be as long as to contain later ones.
    Damaged,
    /// The rest claims more than recordings do.
    Excessive(Claim),
}

/// Reads the next section, or says why there is none. `before` is how much of the file was read so far.
pub(crate) fn read(
    input: &mut impl Read,
    unpacked: &mut Unpacked,
    before: u64,
) -> Result<Result<Frame, Tail>, Error> {
    let mut frame = [0u8; FRAME_BYTES];
    match fill(input, &mut frame)? {
        0 => return Ok(Err(Tail::Clean)),
        FRAME_BYTES => {}
        _ => return Ok(Err(Tail::Truncated)),
    }
    let word = |at: usize| u32::from_le_bytes([frame[at], frame[at + 1], frame[at + 2], frame[at + 3]]);
    let kind = u16::from_le_bytes([frame[4], frame[5]]);
    let encoding = u16::from_le_bytes([frame[6], frame[7]]);
    let (stored_len, raw_len) = (word(8) as usize, word(12) as usize);
    if frame[0..4] != MARK || stored_len > MAX_PAYLOAD || raw_len > MAX_PAYLOAD {
        return Ok(Err(Tail::Damaged));
    }
    let mut stored = Vec::new();
    input.by_ref().take(stored_len as u64).read_to_end(&mut stored)?;
    if stored.len() < stored_len {
        // What was cut off ends within one section; a length that changed reaches over those behind it.
        return Ok(Err(if holds_a_section(&stored) { Tail::Damaged } else { Tail::Truncated }));
    }
    if checksum(&frame, &stored) != word(16) {
        return Ok(Err(Tail::Damaged));
    }
    let stored_bytes = (FRAME_BYTES + stored_len) as u64;
    if !kind::is_known(kind) {
        return Ok(Ok(Frame { kind, payload: Vec::new(), stored: stored_bytes }));
    }
    if let Err(claim) = unpacked.allow(kind, raw_len.max(stored_len), before + stored_bytes) {
        return Ok(Err(Tail::Excessive(claim)));
    }
    let payload = match encoding {
        0 => stored,
        1 => match zstd::bulk::decompress(&stored, raw_len) {
            Ok(payload) if payload.len() == raw_len => payload,
            _ => return Ok(Err(Tail::Damaged)),
        },
        _ => return Ok(Err(Tail::Damaged)),
    };
    Ok(Ok(Frame { kind, payload, stored: stored_bytes }))
}

/// Whether a whole section lies in these bytes, by all of its frame that has few values: 48 bits and two lengths.
/// Checksums are not compared, so the work grows with the bytes alone, whatever marks there are.
fn holds_a_section(bytes: &[u8]) -> bool {
    bytes.windows(FRAME_BYTES).enumerate().any(|(at, frame)| {
        let length = |at: usize| u32::from_le_bytes([frame[at], frame[at + 1], frame[at + 2], frame[at + 3]]);
        frame[0..4] == MARK
            && u16::from_le_bytes([frame[6], frame[7]]) <= 1
            && length(8) as usize <= bytes.len() - at - FRAME_BYTES
            && length(12) as usize <= MAX_PAYLOAD
    })
}

/// Reads until `buffer` is full or the input ends; returns how much it got.
pub(crate) fn fill(input: &mut impl Read, buffer: &mut [u8]) -> Result<usize, ErrorKind> {
    let mut got = 0;
    while got < buffer.len() {
        match input.read(&mut buffer[got..]) {
            Ok(0) => break,
            Ok(n) => got += n,
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e.into()),
        }
    }
    Ok(got)
}

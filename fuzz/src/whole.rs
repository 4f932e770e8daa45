//! Whole files whose sections were written by the writer and changed afterwards, with their lengths, checksums and frames made
//! right again. A fuzzer that changes bytes of a file ends at the first checksum; this one gets behind all of them.

use crate::frame::frame;
use crate::number::Number;
use crate::recording::Recording;
use arbitrary::Arbitrary;
use heapwise_trace::file::HEADER_BYTES;

/// Bytes of a section's frame in front of its payload.
const FRAME_BYTES: usize = 20;
/// Most bytes of a payload: what larger ones cost is a matter of fixed tests.
const MOST_BYTES: usize = 512 << 10;

/// Most bytes of all payloads.
const MOST_IN_ALL: usize = 4 << 20;

/// A file and what is done to it.
#[derive(Arbitrary, Clone, Debug)]
pub struct Whole {
    recording: Recording,
    changes: Vec<Change>,
    /// Whether sections are packed, one bit each, over and over.
    packed: u8,
}

/// A change of one section.
#[derive(Arbitrary, Clone, Debug)]
struct Change {
    section: Number,
    at: Number,
    damage: Damage,
}

#[derive(Arbitrary, Clone, Debug)]
enum Damage {
    /// A byte becomes another one.
    Flip(u8),
    /// A number is written over what was there.
    Number(Number),
    /// The same byte many times, as packs well.
    Run(u8, u16),
    /// A piece from here on is there twice, or many times.
    Repeat(u8, u8),
    /// The rest of the section is gone.
    Cut,
    /// The section has another kind.
    Kind(u8),
    /// The section comes again, behind all others.
    Again(u8),
    /// The section is gone.
    Without,
}

impl Whole {
    /// The file. `None` if it would be too large to be of use.
    pub fn write(&self) -> Option<Vec<u8>> {
        let (file, _) = self.recording.write().ok()?;
        let mut sections = sections(&file);
        for change in self.changes.iter().take(64) {
            let n = sections.len().max(1);
            let Some(section) = sections.get_mut((change.section.0 % n as u64) as usize) else { break };
            change.apply(section);
            let again = match change.damage {
                Damage::Again(times) => {
                    let room = MOST_IN_ALL / (section.1.len() + FRAME_BYTES);
                    vec![section.clone(); usize::from(times).min(room)]
                }
                _ => Vec::new(),
            };
            sections.extend(again);
            if sections.iter().map(|(_, payload)| payload.len()).sum::<usize>() > MOST_IN_ALL {
                return None;
            }
        }
        let mut whole = file[..HEADER_BYTES].to_vec();
        for (i, (kind, payload)) in sections.iter().enumerate() {
            frame(&mut whole, *kind, payload, payload.len(), self.packed >> (i % 8) & 1 != 0);
        }
        Some(whole)
    }
}

impl Change {
    fn apply(&self, (kind, payload): &mut (u16, Vec<u8>)) {
        let at = (self.at.0 % (payload.len() as u64 + 1)) as usize;
        let room = MOST_BYTES.saturating_sub(payload.len());
        match self.damage {
            Damage::Flip(change) => {
                if let Some(byte) = payload.get_mut(at) {
                    *byte ^= change;
                }
            }
            Damage::Number(number) => {
                let bytes = leb(number.0);
                let end = (at + bytes.len()).min(payload.len());
                payload.splice(at..end, bytes);
            }
            Damage::Run(byte, times) => {
                payload.splice(at..at, std::iter::repeat_n(byte, usize::from(times).min(room)));
            }
            Damage::Repeat(len, times) => {
                let piece = payload[at..payload.len().min(at + usize::from(len))].to_vec();
                let times = usize::from(times).min(room / piece.len().max(1));
                payload.splice(at..at, piece.repeat(times));
            }
            Damage::Cut => payload.truncate(at),
            Damage::Kind(other) => *kind = u16::from(other % 17),
            Damage::Again(_) => {}
            Damage::Without => (*kind, *payload) = (999, Vec::new()),
        }
    }
}

fn leb(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

/// Kinds and payloads of a file, up to where it makes no sense.
fn sections(file: &[u8]) -> Vec<(u16, Vec<u8>)> {
    let mut sections = Vec::new();
    let mut rest = &file[HEADER_BYTES.min(file.len())..];
    while let Some((head, behind)) = rest.split_at_checked(FRAME_BYTES) {
        let word =
            |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]) as usize;
        let Some((stored, behind)) = behind.split_at_checked(word(8)) else { break };
        let is_packed = head[6] == 1;
        let payload = if is_packed {
            zstd::bulk::decompress(stored, MOST_BYTES).unwrap_or_default()
        } else {
            stored.to_vec()
        };
        sections.push((u16::from_le_bytes([head[4], head[5]]), payload));
        rest = behind;
    }
    sections
}

//! The headers of a loaded object file, where they are mapped.

use heapwise_trace::live::layout::BUILD_ID_BYTES;

/// The readable memory from `start` to `end`, which lies in one loaded segment of an object that holds a return
/// address of this thread.
pub fn bytes(start: usize, end: usize) -> Option<&'static [u8]> {
    let len = end.checked_sub(start)?;
    // SAFETY: the object cannot be unloaded while this thread has a frame in it; its pages are mapped, readable and
    // not written to.
    Some(unsafe { core::slice::from_raw_parts(start as *const u8, len) })
}

#[derive(Clone, Copy)]
struct ProgramHeader {
    kind: u32,
    address: usize,
    memory_bytes: usize,
}

const MAGIC: [u8; 4] = *b"\x7fELF";
const PT_LOAD: u32 = 1;
const PT_NOTE: u32 = 4;
const PT_GNU_EH_FRAME: u32 = 0x6474_e550;
const HEADER_BYTES: usize = 56;

/// Whether an object's first byte is mapped at `start`, where something is mapped.
pub fn begins_at(start: usize) -> bool {
    bytes(start, start + MAGIC.len()).is_some_and(|found| found == MAGIC)
}

/// The program headers of an object whose first byte is mapped at `start`; none if that is no object.
fn program_headers(start: usize, end: usize) -> impl Iterator<Item = ProgramHeader> {
    let read = move |at: usize, len: usize| -> u64 {
        let mut value = [0u8; 8];
        if let Some(from) = bytes(at, at + len) {
            value[..len].copy_from_slice(from);
        }
        u64::from_le_bytes(value)
    };
    let (table, count) = if begins_at(start) {
        (start + read(start + 32, 8) as usize, read(start + 56, 2) as usize)
    } else {
        (0, 0)
    };
    let count = if table >= start && table + count * HEADER_BYTES <= end { count } else { 0 };
    (0..count).map(move |i| {
        let at = table + i * HEADER_BYTES;
        ProgramHeader {
            kind: read(at, 4) as u32,
            address: read(at + 16, 8) as usize,
            memory_bytes: read(at + 40, 8) as usize,
        }
    })
}

fn bias(start: usize, end: usize) -> usize {
    let first = program_headers(start, end).find(|p| p.kind == PT_LOAD).map_or(0, |p| p.address & !0xfff);
    start.wrapping_sub(first)
}

/// Load bias and address of `.eh_frame_hdr` (0 if there is none) of an object that the loader does not know.
pub fn locate(start: usize, end: usize) -> (usize, usize) {
    let bias = bias(start, end);
    let header = program_headers(start, end).find(|p| p.kind == PT_GNU_EH_FRAME);
    (bias, header.map_or(0, |p| bias.wrapping_add(p.address)))
}

/// Where the segment ends that holds an address; at least a mapped part of the object.
pub fn segment_end(start: usize, end: usize, at: usize) -> usize {
    let bias = bias(start, end);
    program_headers(start, end)
        .filter(|p| p.kind == PT_LOAD)
        .map(|p| (bias.wrapping_add(p.address), bias.wrapping_add(p.address).wrapping_add(p.memory_bytes)))
        .find(|&(from, to)| from <= at && at < to)
        .map_or(end, |(_, to)| to)
}

/// The build id of an object, and its length.
pub fn build_id(start: usize, end: usize) -> ([u8; BUILD_ID_BYTES], usize) {
    const NT_GNU_BUILD_ID: u32 = 3;
    let mut id = [0; BUILD_ID_BYTES];
    let Some(data) = note(start, end, b"GNU\0", NT_GNU_BUILD_ID) else { return (id, 0) };
    let len = data.len().min(BUILD_ID_BYTES);
    id[..len].copy_from_slice(&data[..len]);
    (id, len)
}

/// What an object's first note of this name (with the zero byte at its end) and kind holds.
pub fn note(start: usize, end: usize, name: &[u8], wanted: u32) -> Option<&'static [u8]> {
    let bias = bias(start, end);
    for note in program_headers(start, end).filter(|p| p.kind == PT_NOTE) {
        let from = bias.wrapping_add(note.address);
        let to = from.wrapping_add(note.memory_bytes);
        if from < start || to > end {
            continue;
        }
        let Some(mut rest) = bytes(from, to) else { continue };
        while let Some((head, body)) = rest.split_at_checked(12) {
            let word = |i: usize| u32::from_le_bytes([head[i], head[i + 1], head[i + 2], head[i + 3]]);
            let (name_len, data_len, kind) = (word(0) as usize, word(4) as usize, word(8));
            let data_at = name_len.next_multiple_of(4);
            let Some(data) = body.get(data_at..).and_then(|b| b.get(..data_len)) else { break };
            if kind == wanted && body.starts_with(name) {
                return Some(data);
            }
            let Some(next) = body.get(data_at + data_len.next_multiple_of(4)..) else { break };
            rest = next;
        }
    }
    None
}

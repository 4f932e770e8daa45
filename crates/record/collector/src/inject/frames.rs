//! A table of a program's frame descriptions in the form of `.eh_frame_hdr` (Linux Standard Base, "Exception Frames"), with addresses of
//! the process.

use heapwise_trace::live::plan::FrameTable;

/// Encodings of DWARF: absolute addresses of eight bytes, and a number of four.
const ADDRESS: u8 = 0x04;
const COUNT: u8 = 0x03;
const VERSION: u8 = 1;

/// The table of a program whose first instruction is at `entry`.
pub(super) fn bytes(table: &FrameTable, entry: u64) -> Vec<u8> {
    let bias = entry.wrapping_sub(table.entry);
    let mut bytes = vec![VERSION, ADDRESS, COUNT, ADDRESS];
    bytes.extend(table.frames.wrapping_add(bias).to_le_bytes());
    bytes.extend(u32::try_from(table.rows.len()).unwrap_or(u32::MAX).to_le_bytes());
    for (function, description) in &table.rows {
        bytes.extend(function.wrapping_add(bias).to_le_bytes());
        bytes.extend(description.wrapping_add(bias).to_le_bytes());
    }
    bytes
}

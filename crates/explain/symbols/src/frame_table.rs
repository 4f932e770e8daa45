//! The frame descriptions of a file that has no table of them (`.eh_frame_hdr`): linkers leave it out of static programs, whose own
//! unwinder reads the descriptions one by one.

use crate::code;
use crate::error::Error;
use gimli::{BaseAddresses, CieOrFde, EhFrame, LittleEndian, UnwindSection};
use heapwise_trace::live::plan::FrameTable;
use std::path::Path;

/// Lists the frame descriptions of a file; nothing if it has a table, or none.
///
/// # Errors
/// If it is missing, unreadable, damaged, or no ELF file for 64-bit x86.
pub fn of(path: &Path) -> Result<Option<FrameTable>, Error> {
    code::read(path, |code| {
        let (address, data) = code.frames_without_table()?;
        let frames = EhFrame::new(data, LittleEndian);
        let bases = BaseAddresses::default().set_eh_frame(address.0);
        let mut entries = frames.entries(&bases);
        let mut rows = Vec::new();
        // What comes behind a damaged entry is not known.
        while let Ok(Some(entry)) = entries.next() {
            let CieOrFde::Fde(partial) = entry else { continue };
            let Ok(fde) = partial.parse(EhFrame::cie_from_offset) else { continue };
            // A description of nothing is that of a function that the linker has thrown away.
            if fde.len() != 0 {
                rows.push((fde.initial_address(), address.0.wrapping_add(fde.offset() as u64)));
            }
        }
        rows.sort_unstable();
        (!rows.is_empty()).then_some(FrameTable { entry: code.entry().0, frames: address.0, rows })
    })
}

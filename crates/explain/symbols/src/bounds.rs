//! Where functions begin of which there are no lines, and maybe no names: the descriptions of frames that unwinders read stay in a file
//! when its symbols are stripped.

use gimli::{BaseAddresses, EhFrame, EhFrameHdr, ParsedEhFrameHdr, Pointer, UnwindSection};
use object::{Object, ObjectSection};

use crate::mmap::Store;
use crate::section::{self, Reader};
use crate::svma::Svma;

/// The frame descriptions of a file that has a table of them.
pub(crate) struct Bounds<'store> {
    found: Option<Found<'store>>,
    bases: BaseAddresses,
}

struct Found<'store> {
    frames: EhFrame<Reader<'store>>,
    table: ParsedEhFrameHdr<Reader<'store>>,
    /// Where the descriptions are.
    frames_at: u64,
}

impl<'store> Bounds<'store> {
    /// Finds them. What is missing or damaged gives no bounds.
    pub(crate) fn load(object: &object::File<'store>, store: &'store Store) -> Self {
        let address = |name| object.section_by_name(name).map_or(0, |section| section.address());
        let frames_at = address(".eh_frame");
        let bases = BaseAddresses::default()
            .set_eh_frame(frames_at)
            .set_eh_frame_hdr(address(".eh_frame_hdr"))
            .set_text(address(".text"));
        let bytes = |name| section::load(object, Some(name), store).ok();
        let found = || {
            let header = EhFrameHdr::from(bytes(".eh_frame_hdr")?);
            let table = header.parse(&bases, if object.is_64() { 8 } else { 4 }).ok()?;
            Some(Found { frames: EhFrame::from(bytes(".eh_frame")?), table, frames_at })
        };
        Self { found: found(), bases }
    }

    /// The first instruction of the function at an address.
    pub(crate) fn start_of(&self, svma: Svma) -> Option<Svma> {
        let Found { frames, table, frames_at } = self.found.as_ref()?;
        let Pointer::Direct(at) = table.table()?.lookup(svma.0, &self.bases).ok()? else { return None };
        // A damaged table may lead to what is in front of the descriptions, or behind.
        let offset = usize::try_from(at.checked_sub(*frames_at)?).ok()?;
        let found = frames.fde_from_offset(&self.bases, offset.into(), EhFrame::cie_from_offset).ok()?;
        found.contains(svma.0).then(|| Svma(found.initial_address()))
    }
}

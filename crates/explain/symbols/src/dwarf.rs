//! Functions, inlined calls, files and lines, from DWARF.

use std::path::Path;

use addr2line::{Context, LookupContinuation, LookupResult};

use crate::mmap::Store;
use crate::section::{self, Reader, Unreadable};
use crate::split::SplitDwarf;
use crate::svma::Svma;

/// The debug information of one module.
///
/// Making it reads the headers of all units; functions and lines of a unit are parsed when an address in it is first
/// looked up, and then kept.
pub(crate) struct DebugInfo<'store> {
    context: Context<Reader<'store>>,
    split: SplitDwarf<'store>,
}

/// One frame as DWARF has it, before names are demangled.
pub(crate) struct RawFrame<'a> {
    pub(crate) name: Option<&'a [u8]>,
    pub(crate) file: Option<&'a str>,
    pub(crate) line: Option<u32>,
}

impl<'store> DebugInfo<'store> {
    /// Reads the debug information in `object`, which lies at `path`, with its supplementary file if it has one.
    pub(crate) fn load(
        path: &Path,
        object: &object::File<'store>,
        supplementary: Option<&object::File<'store>>,
        store: &'store Store,
    ) -> Result<DebugInfo<'store>, Unreadable> {
        let load = |object: &object::File<'store>, id: gimli::SectionId| {
            section::load(object, section::is_needed(id).then_some(id.name()), store)
        };
        let mut dwarf = gimli::Dwarf::load(|id| load(object, id))?;
        if let Some(supplementary) = supplementary {
            dwarf.load_sup(|id| load(supplementary, id))?;
        }
        // PERF: units that share abbreviations (all units of one Rust crate graph often do) parse them once.
        dwarf.populate_abbreviations_cache(gimli::AbbreviationsCacheStrategy::Duplicates);
        let context = Context::from_dwarf(dwarf)?;
        Ok(DebugInfo { context, split: SplitDwarf::find(path, section::endian(object), store) })
    }

    /// Calls `each` for every frame of an address, the innermost one first. The flag says that it is the outermost.
    ///
    /// Damaged debug information ends the frames early; whether there were any is for the caller to see.
    ///
    /// NOTE: the parser follows inlined calls within inlined calls by recursion. Compilers nest them a few dozen deep; a
    /// file made for the purpose could nest them deeper than the stack of this thread.
    pub(crate) fn for_each_frame(&self, svma: Svma, mut each: impl FnMut(RawFrame<'_>, bool)) {
        // The highest address is excluded because look-ups compute the address after it.
        if svma.0 == u64::MAX {
            return;
        }
        let mut lookup = self.context.find_frames(svma.0);
        let frames = loop {
            match lookup {
                LookupResult::Output(frames) => break frames,
                LookupResult::Load { load, continuation } => {
                    lookup = continuation.resume(self.split.load(load));
                }
            }
        };
        let Ok(mut frames) = frames else { return };
        let mut next = frames.next().ok().flatten();
        while let Some(frame) = next {
            next = frames.next().ok().flatten();
            let name = frame.function.as_ref().map(|function| function.name.slice());
            let (file, line) = frame.location.map_or((None, None), |location| (location.file, location.line));
            each(RawFrame { name, file, line }, next.is_none());
        }
    }
}

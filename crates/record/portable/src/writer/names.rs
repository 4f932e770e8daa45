//! Names of addresses: found in this process, since a reader of the recording may not have its files.
//!
//! Names also show which frames are heapwise's own, which is why those of the innermost frames are looked up at once and those
//! of all others every now and then.

use crate::symbols::{Found, look_up};
use crate::system::Module;
use heapwise_trace::file::tables::{ImageSymbols, SymbolFrame, Symbols};
use rustc_hash::FxHashMap;

/// Addresses in one section, which has a largest size.
const MOST_ADDRESSES: usize = 100_000;

#[derive(Debug, Default)]
pub(super) struct Names {
    found: FxHashMap<u64, Found>,
    /// Return addresses whose names are not written yet.
    wanted: Vec<u64>,
}

impl Names {
    /// Whether a frame is heapwise's own.
    pub(super) fn is_own(&mut self, address: u64) -> bool {
        self.found.entry(address).or_insert_with(|| look_up(address)).is_own
    }

    /// Requests that the name of this return address is written.
    pub(super) fn want(&mut self, address: u64) {
        self.wanted.push(address);
    }

    /// The names that were requested since the last time.
    pub(super) fn new_symbols(&mut self, modules: &[Module]) -> Vec<Symbols> {
        let mut wanted: Vec<(usize, u64, u64)> = std::mem::take(&mut self.wanted)
            .into_iter()
            .filter_map(|address| {
                let at = address.wrapping_sub(1);
                let module = modules.iter().position(|m| (m.start..m.end).contains(&at))?;
                Some((module, at.wrapping_sub(modules[module].bias), address))
            })
            .collect();
        // One file after the other: the names of a few are kept in memory at a time.
        wanted.sort_unstable();
        wanted.chunks(MOST_ADDRESSES).map(|chunk| self.symbols(chunk, modules)).collect()
    }

    fn symbols(&mut self, wanted: &[(usize, u64, u64)], modules: &[Module]) -> Symbols {
        let mut symbols = Symbols::default();
        let mut indices: FxHashMap<String, u32> = FxHashMap::default();
        let mut index = |strings: &mut Vec<String>, text: &Option<String>| {
            let text = text.as_ref()?;
            Some(*indices.entry(text.clone()).or_insert_with(|| {
                strings.push(text.clone());
                strings.len() as u32 - 1
            }))
        };
        for of_module in wanted.chunk_by(|a, b| a.0 == b.0) {
            let module = &modules[of_module[0].0];
            let mut addresses = Vec::new();
            for &(_, svma, address) in of_module {
                let found = self.found.entry(address).or_insert_with(|| look_up(address));
                let first = symbols.frames.len() as u32;
                let last = found.frames.len().saturating_sub(1);
                for (i, named) in found.frames.iter().enumerate() {
                    let function = index(&mut symbols.strings, &named.function);
                    let file = index(&mut symbols.strings, &named.file);
                    // Without a file it would be another number.
                    let line = named.line.filter(|_| file.is_some());
                    let frame = SymbolFrame { function, file, line, inlined: i < last };
                    symbols.frames.push(frame);
                }
                addresses.push((svma, first..symbols.frames.len() as u32));
            }
            symbols.images.push(ImageSymbols {
                path: module.path.clone(),
                build_id: module.build_id.clone(),
                addresses,
            });
        }
        symbols
    }
}

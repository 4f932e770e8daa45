//! Names for the addresses of a recording, one object file at a time.

use crate::progress::Progress;
use heapwise_analysis::ImageAddresses;
use heapwise_symbols::{DebugSearch, Frame, Svma, resolve_module};
use heapwise_trace::file::Writer;
use heapwise_trace::file::tables::{ImageSymbols, SymbolFrame, Symbols};
use std::collections::HashMap;
use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Resolves every address that occurs. Also returns what could not be read, in a line each. `may_fetch` allows to start what
/// fetches debug files, if the environment asks for it.
pub(crate) fn symbolize(
    images: Vec<ImageAddresses>,
    may_fetch: bool,
    progress: &Progress,
) -> (Symbols, Vec<String>) {
    let search = DebugSearch::default();
    let search = if may_fetch { search.with_debuginfod() } else { search };
    resolve_all(images, &search, progress)
}

/// Resolves addresses that occur in a recording that is still written; those that cannot be are left out.
pub(crate) fn look_up(images: Vec<ImageAddresses>) -> Symbols {
    resolve_all(images, &DebugSearch::default(), &Progress::hidden()).0
}

fn resolve_all(
    mut images: Vec<ImageAddresses>,
    search: &DebugSearch,
    progress: &Progress,
) -> (Symbols, Vec<String>) {
    // The largest first, so that the last one to finish is a small one.
    images.sort_by_key(|image| std::cmp::Reverse(image.addresses.len()));
    let table = Mutex::new(Table::default());
    let problems = Mutex::new(Vec::new());
    let next = AtomicUsize::new(0);
    let workers = std::thread::available_parallelism().map_or(1, |n| n.get()).min(images.len());
    let total = images.len() as u64;
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some(image) = images.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let mut found = Vec::new();
                    let result =
                        resolve(image, search, |address, frames| found.push((address, frames.to_vec())));
                    lock(&table).add(image, found);
                    if let Err(problem) = result {
                        lock(&problems).push(problem);
                    }
                    progress.step("reading symbols", 1, total);
                }
            });
        }
    });
    let symbols = table.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner).symbols;
    (symbols, problems.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner))
}

/// Appends the names to the recording, so that it can be read on a machine without the program.
pub(crate) fn keep(mut file: &File, symbols: &Symbols) -> anyhow::Result<()> {
    file.seek(SeekFrom::End(0))?;
    let mut writer = Writer::append(std::io::BufWriter::new(file));
    writer.symbols(symbols)?;
    writer.flush()?;
    Ok(())
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn resolve(
    image: &ImageAddresses,
    search: &DebugSearch,
    mut sink: impl FnMut(u64, &[Frame]),
) -> Result<(), String> {
    // A file that was replaced while the program ran is still listed, with this mark behind its name.
    let path = image.path.trim_end_matches(" (deleted)");
    if !path.contains('/') {
        // The kernel's own code, and the recorder's: there is no file to read.
        return Ok(());
    }
    let build_id: Vec<u8> = (0..image.build_id.len() / 2)
        .filter_map(|i| u8::from_str_radix(image.build_id.get(2 * i..2 * i + 2)?, 16).ok())
        .collect();
    let addresses: Vec<Svma> = image.addresses.iter().map(|&a| Svma(a)).collect();
    let summary =
        resolve_module(Path::new(path), &build_id, &addresses, search, |svma, frames| sink(svma.0, frames));
    summary.map(drop).map_err(|e| e.to_string())
}

/// Frames with each string stored once.
#[derive(Default)]
struct Table {
    symbols: Symbols,
    strings: HashMap<String, u32>,
}

impl Table {
    fn add(&mut self, image: &ImageAddresses, found: Vec<(u64, Vec<Frame>)>) {
        let mut addresses = Vec::with_capacity(found.len());
        for (address, frames) in found {
            let start = self.symbols.frames.len() as u32;
            let distance_of = |frame: &Frame| {
                let distance = u32::try_from(address.checked_sub(frame.start?.0)?).ok();
                distance.filter(|distance| *distance != 0)
            };
            if frames.iter().all(|frame| frame.is_unknown() && distance_of(frame).is_none()) {
                continue;
            }
            for frame in frames {
                let distance = distance_of(&frame);
                let function = frame.function.map(|f| self.string(f));
                let file = frame.file.map(|f| self.string(f));
                // Damaged debug information may have a line of nothing.
                let line = if file.is_some() { frame.line } else { distance };
                self.symbols.frames.push(SymbolFrame { function, file, line, inlined: frame.inlined });
            }
            addresses.push((address, start..self.symbols.frames.len() as u32));
        }
        addresses.sort_by_key(|(address, _)| *address);
        let (path, build_id) = (image.path.clone(), image.build_id.clone());
        self.symbols.images.push(ImageSymbols { path, build_id, addresses });
    }

    fn string(&mut self, text: String) -> u32 {
        let next = self.symbols.strings.len() as u32;
        *self.strings.entry(text).or_insert_with_key(|text| {
            self.symbols.strings.push(text.clone());
            next
        })
    }
}

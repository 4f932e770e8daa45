//! Names all addresses of one module at once, at the end of a recording.

use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::frame::Frame;
use crate::module::ModuleSymbols;
use crate::search::DebugSearch;
use crate::svma::Svma;
use crate::warning::Warning;

/// How the look-up of one module went.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// How many addresses were to be named.
    pub n_addresses: usize,
    /// For how many of them at least the name of the outermost function is known.
    pub n_named: usize,
    /// For how many of them a line is known.
    pub n_with_line: usize,
    /// The file whose debug information was used.
    pub debug_info: Option<PathBuf>,
    /// What made the names fewer or less exact than they could be.
    pub warnings: Vec<Warning>,
}

/// Names all `addresses` of one module, one call of `sink` for each, in the same order.
///
/// Sorted addresses are found faster, because neighbours share what was parsed. The module is closed on return, so that
/// naming one module after the other never holds more than one of them in memory.
///
/// # Errors
///
/// As [`ModuleSymbols::open`]; `sink` has not been called then.
pub fn resolve_module(
    path: &Path,
    build_id: &[u8],
    addresses: &[Svma],
    search: &DebugSearch,
    mut sink: impl FnMut(Svma, &[Frame]),
) -> Result<Summary, Error> {
    let module = ModuleSymbols::open(path, build_id, search)?;
    let mut summary = Summary {
        n_addresses: addresses.len(),
        debug_info: module.debug_info().map(Path::to_owned),
        warnings: module.warnings().to_vec(),
        ..Summary::default()
    };
    let mut frames = Vec::new();
    for &address in addresses {
        module.resolve_into(address, &mut frames);
        summary.n_named += usize::from(frames.last().is_some_and(|frame| frame.function.is_some()));
        summary.n_with_line += usize::from(frames.first().is_some_and(|frame| frame.line.is_some()));
        sink(address, &frames);
    }
    Ok(summary)
}

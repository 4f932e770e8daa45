//! An analysis before its call sites have names.

use crate::analysis::Analysis;
use crate::stacks::frame::ImageAddresses;
use crate::warning::Warning;
use heapwise_trace::file::tables::Symbols;

/// What was read of a recording. To look names up, the addresses that turned up have to be known; to put call sites together, the names.
#[derive(Debug)]
pub struct Unnamed(pub(crate) Analysis);

impl Unnamed {
    /// The addresses for which symbols are wanted. The same whether the recording already has symbols or not.
    pub fn needed_addresses(&self) -> Vec<ImageAddresses> {
        self.0.stack_table.wanted(0, &self.0.images)
    }

    /// Whether the recording brought symbols along.
    pub fn has_symbols(&self) -> bool {
        !self.0.symbols.is_empty()
    }

    /// What is wrong with the recording.
    pub fn warnings(&self) -> &[Warning] {
        &self.0.warnings
    }

    /// Puts the call sites together by the names that the recording brought along, and by these, of which later ones override
    /// earlier ones. Where there are none, by addresses.
    pub fn named(self, symbols: impl IntoIterator<Item = Symbols>) -> Analysis {
        let Self(mut analysis) = self;
        analysis.symbols.extend(symbols);
        analysis.name_sites();
        analysis
    }
}

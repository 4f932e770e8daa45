//! What a format is.

use crate::export::moment::Moment;
use heapwise_analysis::Analysis;
use heapwise_analysis::Measure;
use std::io::{self, Write};

/// The options of an export. Without one, the format decides.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Which number is written, for formats that have room for one.
    pub measure: Option<Measure>,
    /// The moment of the memory *in use*, for formats that have only one.
    pub moment: Option<Moment>,
    /// What the recorded service is called, for formats that have labels.
    pub service: Option<String>,
    /// Which release of it was recorded.
    pub release: Option<String>,
    /// What else is to be said of it: names and values.
    pub labels: Vec<(String, String)>,
}

/// A kind of file that other tools read.
pub trait Format: Sync {
    /// Its name on the command line.
    fn name(&self) -> &'static str;

    /// What it is, in one line, and which tools read it.
    fn about(&self) -> &'static str;

    /// Whether it must not go to a terminal.
    fn is_binary(&self) -> bool {
        false
    }

    /// Whether [`Options::measure`] changes it.
    fn has_one_measure(&self) -> bool {
        false
    }

    /// Whether [`Options::moment`] changes it.
    fn has_one_moment(&self) -> bool {
        false
    }

    /// Whether [`Options::service`] and what follows it have a place in it.
    fn has_labels(&self) -> bool {
        false
    }

    /// Why this recording cannot be written so, if it does not have what the format shows.
    fn missing(&self, analysis: &Analysis) -> Option<&'static str> {
        let _ = analysis;
        None
    }

    /// Writes an analysis. `out` should be buffered.
    ///
    /// # Errors
    /// Only those of `out`.
    fn write(&self, analysis: &Analysis, options: &Options, out: &mut dyn Write) -> io::Result<()>;
}

impl std::fmt::Debug for dyn Format {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

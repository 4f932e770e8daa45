//! Names for the addresses of a recording: those that `run` has stored in it, and no others. The files that have them are
//! on the machine where it was made.

use crate::progress::Progress;
use heapwise_analysis::ImageAddresses;
use heapwise_trace::file::tables::Symbols;

/// No names, and the reason.
pub(crate) fn symbolize(
    _images: Vec<ImageAddresses>,
    _may_fetch: bool,
    _progress: &Progress,
) -> (Symbols, Vec<String>) {
    let problem =
        "the recording was cut off before they were stored in it; only Linux can add them".to_owned();
    (Symbols::default(), vec![problem])
}

/// No names: those that are stored in it come with the recording.
pub(crate) fn look_up(_images: Vec<ImageAddresses>) -> Symbols {
    Symbols::default()
}

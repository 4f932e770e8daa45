//! The analysis of a recording in the formats of other tools: a registry, one file per format.
//!
//! The words it uses:
//!
//! * a *format* is a kind of file that other tools read; [`FORMATS`] lists them;
//! * a *measure* is one number of a call site, such as its allocated bytes ([`Measure`]); some formats have room for one;
//! * a *step* is one entry of a stack in an export: a frame, or a mark that frames are missing ([`stacks`]).
//!
//! Two key decisions. Exports are complete: the sums over an export are the totals of the report, to the block and to the byte,
//! so nothing is left out for being small. And the names of a recorded program are hostile input, both for the format (a
//! semicolon, a line break) and for readers: they pass through [`text`] first.

mod format;
mod formats;
mod heap_profile;
mod moment;
mod stacks;
mod text;

pub use format::{Format, Options};
pub use formats::FORMATS;
pub use heapwise_analysis::Measure;
pub use moment::Moment;

/// The id of a recording's profile: the same whenever it is written, so that what arrives twice is recognised.
pub fn id(analysis: &heapwise_analysis::Analysis) -> [u8; 16] {
    heap_profile::id(analysis, "")
}

/// The format of that name.
pub fn format(name: &str) -> Option<&'static dyn Format> {
    FORMATS.iter().find(|format| format.name() == name).copied()
}

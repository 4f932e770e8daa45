//! Calls of Windows' functions, each wrapped once.

mod process;
mod registry;
mod wine;

pub(super) use process::{Process, threads_of};
pub(super) use registry::{Key, View};

pub use process::peb_of;
pub use wine::wine_version;

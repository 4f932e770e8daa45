//! Recording what goes through the wrapper.
//!
//! On Linux on x86-64 the wrapper has the recorder inside that `heapwise run` otherwise preloads, and writes the same events
//! with the same stacks into the memory of the same collector.

#[cfg(all(feature = "record", target_os = "linux", target_arch = "x86_64"))]
mod linux;
#[cfg(not(all(feature = "record", target_os = "linux", target_arch = "x86_64")))]
mod nothing;

#[cfg(all(feature = "record", target_os = "linux", target_arch = "x86_64"))]
pub(crate) use linux::{POSSIBLE, allocation, begin_if_wanted, deallocation, reallocation};
#[cfg(not(all(feature = "record", target_os = "linux", target_arch = "x86_64")))]
pub(crate) use nothing::{POSSIBLE, allocation, begin_if_wanted, deallocation, reallocation};

#[cfg(feature = "record-to")]
mod recording;

#[cfg(all(feature = "record-to", feature = "record", target_os = "linux", target_arch = "x86_64"))]
use recording::{Ended, NOT_INSTALLED, complain};
#[cfg(feature = "record-to")]
pub use recording::{Recorded, Recording, record_to};

/// Which function of the wrapper was called for a new block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Function {
    /// `alloc`.
    Alloc,
    /// `alloc_zeroed`.
    AllocZeroed,
}

//! Recording what goes through the wrapper.
//!
//! Where nothing else is there, the program can record [itself](portable).

#[cfg(not(all(
    feature = "record-to",
    any(feature = "portable-recorder", not(all(target_os = "linux", target_arch = "x86_64")))
)))]
mod nothing;
#[cfg(all(
    feature = "record-to",
    any(feature = "portable-recorder", not(all(target_os = "linux", target_arch = "x86_64")))
))]
mod portable;

#[cfg(not(all(
    feature = "record-to",
    any(feature = "portable-recorder", not(all(target_os = "linux", target_arch = "x86_64")))
)))]
pub(crate) use nothing::{POSSIBLE, allocation, begin_if_wanted, deallocation, reallocation};
#[cfg(all(
    feature = "record-to",
    any(feature = "portable-recorder", not(all(target_os = "linux", target_arch = "x86_64")))
))]
pub(crate) use portable::{POSSIBLE, allocation, begin_if_wanted, deallocation, reallocation};
#[cfg(all(
    feature = "record-to",
    any(feature = "portable-recorder", not(all(target_os = "linux", target_arch = "x86_64")))
))]
pub use portable::{Recorded, Recorder, Recording, record_to};

/// Which function of the wrapper was called for a new block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Function {
    /// `alloc`.
    Alloc,
    /// `alloc_zeroed`.
    AllocZeroed,
}

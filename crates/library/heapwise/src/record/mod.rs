//! Recording what goes through the wrapper.
//!
//! On Linux on x86-64 the wrapper contains the recorder that `heapwise run` otherwise preloads, and writes the same events with
//! the same stacks into the memory of the same collector, or of one in its own process. Elsewhere the program can record itself
//! with what every system offers (`portable`).

// Not within the choice below, where rustfmt would not find the files.
#[cfg(not(all(
    feature = "record",
    target_os = "linux",
    target_arch = "x86_64",
    not(feature = "portable-recorder")
)))]
mod elsewhere;
#[cfg(all(
    feature = "record",
    target_os = "linux",
    target_arch = "x86_64",
    not(feature = "portable-recorder")
))]
mod linux;
#[cfg(not(any(
    feature = "record-to",
    all(feature = "record", target_os = "linux", target_arch = "x86_64")
)))]
mod nothing;
#[cfg(all(
    feature = "record-to",
    any(feature = "portable-recorder", not(all(target_os = "linux", target_arch = "x86_64")))
))]
mod portable;
#[cfg(feature = "record-to")]
mod recording;

cfg_select! {
    all(feature = "record", target_os = "linux", target_arch = "x86_64", not(feature = "portable-recorder")) => {
        use linux as here;
    }
    feature = "record-to" => {
        use portable as here;
    }
    _ => {
        use nothing as here;
    }
}

pub(crate) use here::{
    Caller, POSSIBLE, alloc_below, allocation, begin_if_wanted, dealloc_below, deallocation, mark,
    reallocation, with_caller,
};
#[cfg(feature = "serve")]
pub(crate) use here::{IS_SAMPLE, exclude_this_thread};
#[cfg(feature = "record-to")]
pub use recording::{Recorded, Recorder, Recording, record_to};

/// The kinds of marks of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    /// A moment.
    Moment,
    /// A span of this thread begins.
    Begin,
    /// It ends.
    End,
}

/// Which function of the wrapper was called for a new block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Function {
    /// `alloc`.
    Alloc,
    /// `alloc_zeroed`.
    AllocZeroed,
}

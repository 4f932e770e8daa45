//! Marks and spans of the program, on the timeline of its recording.
//!
//! A mark is a moment with a name, a span has a begin and an end on one thread. They go to the recorder of this process: the one
//! in the wrapper, the library that `heapwise run` has preloaded, or the recording that the program makes of itself. Without a
//! recorder, they cost a load and a comparison.

#[cfg(feature = "tracing")]
pub mod tracing;

use crate::record::{self, Mark};
use std::borrow::Cow;
use std::marker::PhantomData;

/// Marks this moment of this thread on the timeline of the recording, if there is one.
///
/// A recording keeps 4,096 different names, of 200 bytes each, so names should not contain what differs each time. On Linux on
/// x86-64 it needs the default feature `record`, elsewhere `record-to`.
///
/// # Examples
///
/// ```
/// heapwise::mark("loaded");
/// ```
pub fn mark(name: &str) {
    record::mark(Mark::Moment, name);
}

/// Begins a span of this thread on the timeline of the recording. It ends when the guard is dropped.
///
/// The report says how long spans took, and what their thread allocated in them. Work that is handed to other threads is not
/// in it, and a guard cannot be sent to one. For a future, begin a span around each poll, as `heapwise::tracing::MarkLayer` does
/// (feature `tracing`).
///
/// # Examples
///
/// ```
/// fn load(path: &str) -> Vec<u8> {
///     let _span = heapwise::span("load");
///     path.repeat(100).into_bytes()
/// }
/// assert_eq!(load("ab").len(), 200);
/// ```
#[must_use = "the span ends when this is dropped"]
pub fn span(name: impl Into<Cow<'static, str>>) -> SpanGuard {
    let name = name.into();
    record::mark(Mark::Begin, &name);
    SpanGuard { name, _thread: PhantomData }
}

/// Ends a [`span`] when it is dropped.
///
/// ```
/// let guard: heapwise::SpanGuard = heapwise::span("round");
/// drop(guard);
/// ```
#[derive(Debug)]
pub struct SpanGuard {
    name: Cow<'static, str>,
    /// A span belongs to its thread.
    _thread: PhantomData<*mut ()>,
}

impl Drop for SpanGuard {
    fn drop(&mut self) {
        record::mark(Mark::End, &self.name);
    }
}

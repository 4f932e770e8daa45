//! Operations: parts of a program by name, and what each of them allocates.
//!
//! A [`Session`] has *operations*, an [`Operation`] has *spans*, and a span covers some *iterations*, one by default. A span
//! begins when its guard is created and ends when the guard is dropped:
//!
//! | span | counts |
//! |---|---|
//! | [`ThreadSpan`] | what its thread does |
//! | [`ProcessSpan`] | what all threads of the process do |
//! | [`Scope`] | what its thread does, and what others do while they are in a guard of its [`ScopeHandle`] |
//! | [`Measured`] | what a future does while it is polled, on any thread |
//!
//! # Overlapping spans
//!
//! Counters only rise, and a span is the difference of two readings, so spans do not disturb each other. Counts are *inclusive*:
//! what happens in an inner span belongs to the outer one, too. Two spans that overlap both contain what happened in the common
//! time. Several spans of one operation at the same time, on one thread or on many, are several spans, and the total of the
//! operation contains the common part several times.
//!
//! # Unfinished spans
//!
//! A span whose guard is dropped by a panic is counted in [`OperationReport::unfinished_spans`] only, and so are a span of no
//! iterations and a future that is dropped before it is ready. A guard that is leaked (`mem::forget`) never ends its span, which
//! is then not counted at all.
//!
//! What heapwise itself allocates, for names and guards and reports, is not counted.

mod begin;
mod measured;
mod metrics;
mod operation;
mod own;
mod report;
mod scope;
mod session;
mod span;
mod table;

pub use measured::Measured;
pub use metrics::{FirstSpan, LaterSpans, PerIteration};
pub use operation::Operation;
#[cfg(test)]
pub(crate) use report::{Document, SCHEMA};
pub use report::{OperationReport, Report};
pub use scope::{Scope, ScopeGuard, ScopeHandle};
pub use session::Session;
pub(crate) use span::ProcessWatch;
pub use span::{ProcessSpan, ThreadSpan};

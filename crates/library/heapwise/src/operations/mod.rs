//! Operations: parts of a program by name, and what each of them allocates.
//!
//! A [`Session`] has *operations*, an [`Operation`] has *spans*, and a span covers some *iterations*, one if nothing else is
//! said. A span begins when a guard is asked for and ends when the guard is dropped:
//!
//! | span | counts |
//! |---|---|
//! | [`ThreadSpan`] | what its own thread does |
//! | [`ProcessSpan`] | what all threads of the process do |
//! | [`Scope`] | what its own thread does, and what others do while they are in a guard of its [`ScopeHandle`] |
//! | [`Measured`] | what a future does while it is polled, on whatever thread |
//!
//! # Spans that meet
//!
//! Counters only rise, and a span is the difference of two readings, so spans do not disturb each other. Counts are
//! *inclusive*: what happens in an inner span belongs to the outer one, too, and of two spans that overlap each has what
//! happened while it was there, the common part both. Several spans of one operation at the same time, on one thread or on
//! many, are several spans, and what they have in common is in their operation's total several times.
//!
//! # Spans that do not end as they should
//!
//! The guard of a span that a panic drops says nothing about an iteration: it is counted in
//! [`OperationReport::unfinished_spans`] and nowhere else, and so is a span of no iterations and a future that is dropped before it
//! is ready. A guard that is leaked (`mem::forget`) never ends, and its span is never heard of.
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

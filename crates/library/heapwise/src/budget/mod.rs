//! Budgets: tests that fail when code allocates more than it should, and that say where.
//!
//! A *request* is an allocation or a reallocation. The macros
//! [`assert_allocations!`](crate::assert_allocations), [`assert_no_allocations!`](crate::assert_no_allocations) and
//! [`assert_allocated_bytes!`](crate::assert_allocated_bytes) check a closure, the attribute [`budget`](macro@crate::budget)
//! checks a function, and [`Budget`] is what is below them.
//!
//! ```
//! # use heapwise_installed as _;
//! use heapwise::{assert_allocations, assert_no_allocations};
//!
//! let mut list = assert_allocations!(<= 1, || Vec::with_capacity(10));
//! assert_no_allocations!(|| list.push(1));
//! ```
//!
//! A failure looks like this:
//!
//! ```text
//! thread 'tests::parses_without_copies' panicked at src/parse.rs:120:9:
//! over the budget of allocations: 3 requests for memory, at most 1 allowed
//!   in all 2 allocations, 1 reallocation, 76 bytes requested, 48 bytes live at the peak
//!
//!   2 times, 48 bytes:
//!       parser::Document::tokens at src/parse.rs:41, calling alloc::vec::Vec<T,A>::push
//!       by parser::parse at src/parse.rs:12
//!       by parser::tests::parses_without_copies::{{closure}} at src/parse.rs:121
//!   once, 28 bytes:
//!       parser::parse at src/parse.rs:17, calling alloc::str::<impl str>::to_owned
//!       by parser::tests::parses_without_copies::{{closure}} at src/parse.rs:121
//! ```
//!
//! # Threads
//!
//! Each thread has its own counters, and a budget reads those of its thread. So tests that run at the same time do not disturb
//! it, and neither do unrelated threads. Threads that are part of the work have to [enter a scope](Budget::check_scope).

#[cfg_attr(unix, expect(unsafe_code, reason = "a stack is walked without a lock that others may hold"))]
mod capture;
mod check;
mod exceeded;
mod limits;
mod macros;
mod scope;
mod sites;
mod stacks;
mod watch;

pub use exceeded::Exceeded;
pub use limits::{Budget, Limit};
pub use scope::{Scope, ScopeGuard, ScopeHandle};
pub use sites::{Site, StackFrame};
pub(crate) use watch::requested;

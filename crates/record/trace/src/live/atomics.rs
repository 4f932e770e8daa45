//! What the shared memory is made of: the processor's atomics. In a model (`--cfg loom`, see tests/models) they are those of
//! the model checker, which lie in no memory that could be shared, and in which every order of their uses can be tried.

#[cfg(not(loom))]
pub use core::sync::atomic::{AtomicPtr, AtomicU8, AtomicU32, AtomicU64, Ordering};
#[cfg(loom)]
pub use loom::sync::atomic::{AtomicPtr, AtomicU8, AtomicU32, AtomicU64, Ordering};

//! What heapwise keeps for itself, which is not to be counted.

use crate::tally::Ignore;
use std::ops::Deref;

/// A value that is copied and dropped without being counted, on any thread and in any span.
#[derive(Debug)]
pub(crate) struct Own<T>(Option<T>);

impl<T> Own<T> {
    /// Makes a value without counting.
    pub(crate) fn make(make: impl FnOnce() -> T) -> Self {
        let _ignore = Ignore::begin();
        Self(Some(make()))
    }
}

impl<T> Deref for Own<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0.as_ref().expect("only a drop takes it out")
    }
}

impl<T: Clone> Clone for Own<T> {
    fn clone(&self) -> Self {
        Self::make(|| T::clone(self))
    }
}

impl<T> Drop for Own<T> {
    fn drop(&mut self) {
        let _ignore = Ignore::begin();
        self.0 = None;
    }
}

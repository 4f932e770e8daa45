//! Budgets.

/// A request on this thread, while somebody wants stacks.
pub(crate) fn requested(_bytes: usize) {}

//! Recording what goes through the wrapper.

mod nothing;

pub(crate) use nothing::{POSSIBLE, allocation, begin_if_wanted, deallocation, reallocation};

/// Which function of the wrapper was called for a new block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Function {
    /// `alloc`.
    Alloc,
    /// `alloc_zeroed`.
    AllocZeroed,
}

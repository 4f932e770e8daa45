//! A change of a program.

/// A change of a program, from a variant to another one.
pub(in crate::lab) struct Change {
    pub(in crate::lab) what: &'static str,
    pub(in crate::lab) before: usize,
    pub(in crate::lab) after: usize,
    /// Why what is predicted is something else than what is saved, where it is known.
    pub(in crate::lab) known: &'static str,
}

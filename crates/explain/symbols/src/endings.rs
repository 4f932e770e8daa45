//! A quick look at a name: whether it can be one of a list, or end as one of them.

use rustc_hash::FxHashSet;

/// Bytes that are compared. Names of functions that allocate end in a few ways, and nearly all others in different ones.
const BYTES: usize = 4;

/// How the names of a list end.
#[derive(Clone, Debug)]
pub(crate) struct Endings {
    known: FxHashSet<[u8; BYTES]>,
    /// Whether one of the names is too short for this look.
    has_short: bool,
}

impl Endings {
    /// Those of these names.
    pub(crate) fn of<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let mut endings = Self { known: FxHashSet::default(), has_short: false };
        for name in names {
            match name.as_bytes().last_chunk() {
                Some(ending) => _ = endings.known.insert(*ending),
                None => endings.has_short = true,
            }
        }
        endings
    }

    /// Whether a name may be one of them, or end as one. If not, it certainly is none.
    pub(crate) fn may_have(&self, name: &[u8]) -> bool {
        self.has_short || name.last_chunk().is_some_and(|ending| self.known.contains(ending))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_ends_otherwise_is_none_of_them() {
        let endings = Endings::of(["malloc", "free"]);
        for name in ["malloc", "free", "je_malloc", "set_free"] {
            assert!(endings.may_have(name.as_bytes()), "{name}");
        }
        for name in ["", "loc", "malloc_", "mallocx"] {
            assert!(!endings.may_have(name.as_bytes()), "{name}");
        }
        assert!(Endings::of(["gc"]).may_have(b"my_gc"), "it is too short to say no");
    }
}

//! Where a process's part of the session is mapped here.

use crate::sys::{self, Mapping};
use heapwise_trace::live::layout::ARENA_BYTES;

/// The arenas of a process, by their offsets in the session.
#[derive(Debug, Default)]
pub(crate) struct Arenas {
    pub(crate) mapped: Vec<(u64, Mapping)>,
}

impl Arenas {
    pub(crate) fn find(&self, offset: u64) -> Option<(&Mapping, usize)> {
        let (start, mapping) =
            self.mapped.iter().find(|(start, _)| (*start..*start + ARENA_BYTES).contains(&offset))?;
        Some((mapping, (offset - start) as usize))
    }

    pub(crate) fn get<T: sys::Shared>(&self, offset: u64) -> Option<&T> {
        let (mapping, at) = self.find(offset)?;
        mapping.get(at)
    }
}

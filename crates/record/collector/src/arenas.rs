//! Where a process's part of the session is mapped here.

use crate::claims::Claims;
use crate::distrust::{self, Extents};
use crate::joins::{Mapped, Standing};
use crate::session::Session;
use crate::sys::{self, Mapping};
use heapwise_trace::live::layout::ARENA_BYTES;
use std::ops::Range;

/// The arenas of a process, by their offsets in the session.
#[derive(Debug)]
pub(crate) struct Arenas {
    mapped: Vec<Arena>,
    /// The parts of them that are in use, each for one thing.
    pub(crate) extents: Extents,
}

#[derive(Debug)]
struct Arena {
    range: Range<u64>,
    mapping: Mapping,
    /// Whether the process was seen to map it, so that it can be released when that has ended.
    is_its_own: bool,
}

impl Arenas {
    /// With the first one, which begins with the process's header. `is_its_own` says whether the process was seen to map it.
    pub(crate) fn new(range: Range<u64>, mapping: Mapping, is_its_own: bool) -> Self {
        Self { mapped: vec![Arena { range, mapping, is_its_own }], extents: Extents::default() }
    }

    pub(crate) fn find(&self, offset: u64) -> Option<(&Mapping, usize)> {
        let arena = self.mapped.iter().find(|arena| arena.range.contains(&offset))?;
        Some((&arena.mapping, (offset - arena.range.start) as usize))
    }

    pub(crate) fn get<T: sys::Shared>(&self, offset: u64) -> Option<&T> {
        let (mapping, at) = self.find(offset)?;
        mapping.get(at)
    }

    /// Whether a part of the session lies within one arena.
    pub(crate) fn holds(&self, offset: u64, len: u64) -> bool {
        self.find(offset).is_some_and(|(_, at)| at as u64 + len <= ARENA_BYTES)
    }

    pub(crate) fn len(&self) -> usize {
        self.mapped.len()
    }

    /// Maps one more arena that the process of that id claims. The error says why it is not its.
    pub(crate) fn add(
        &mut self,
        offset: u64,
        (pid, standing): (u32, Standing),
        session: &Session,
        claims: &mut Claims,
    ) -> Result<(), String> {
        let Some(range) = distrust::arena(offset) else {
            return Err(format!("process {pid} claims {offset:#x}, where there is none"));
        };
        let first = self.mapped.first().map_or(0, |arena| arena.range.start);
        let mapped = Mapped::of(pid, &session.memory());
        let has_first = self.mapped.first().and_then(|arena| mapped.has(&arena.range));
        let is_its_own = match (standing, mapped.has(&range)) {
            (Standing::Departed, _) => false,
            (_, Some(true)) => true,
            (_, None) => standing == Standing::Likely,
            // It has ended or executed another program since.
            (_, Some(false)) if has_first != Some(true) => false,
            (_, Some(false)) => {
                return Err(format!("process {pid} claims {offset:#x}, and does not map it"));
            }
        };
        let may = if is_its_own { claims.take(&range, first) } else { claims.may_read(&range, first) };
        if !may || self.mapped.iter().any(|arena| arena.range == range) {
            return Err(format!("process {pid} claims {offset:#x}, which is in use already"));
        }
        let mapping =
            session.map(offset).map_err(|error| format!("{offset:#x} cannot be mapped: {error}"))?;
        self.mapped.push(Arena { range, mapping, is_its_own });
        Ok(())
    }

    /// The arenas, and of each whether the process was seen to map it.
    pub(crate) fn into_ranges(self) -> impl Iterator<Item = (Range<u64>, bool)> {
        self.mapped.into_iter().map(|arena| (arena.range, arena.is_its_own))
    }
}

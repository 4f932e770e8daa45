//! Which process owns which arena. An arena belongs to one process for good: none is handed out twice.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::time::Duration;

/// An arena that no process was seen to map is released after this time, unless a process claims it before: a process that
/// has just taken it may not have said so yet.
const GRACE: Duration = Duration::from_secs(1);

/// Offset of the owner's header, by the offset of the arena.
#[derive(Debug, Default)]
pub(crate) struct Claims {
    owners: BTreeMap<u64, u64>,
    /// Arenas of processes that were gone when they were looked for, and since when.
    left: Vec<(Duration, Range<u64>)>,
    /// Places of headers that are not believed.
    refused: BTreeSet<u64>,
}

impl Claims {
    /// Takes an arena for the process with a header at `owner`. Returns whether it may have it.
    pub(crate) fn take(&mut self, arena: &Range<u64>, owner: u64) -> bool {
        *self.owners.entry(arena.start).or_insert(owner) == owner
    }

    /// Whether an arena has no owner, or is that of the process with a header at `owner`.
    pub(crate) fn may_read(&self, arena: &Range<u64>, owner: u64) -> bool {
        self.owners.get(&arena.start).is_none_or(|&other| other == owner)
    }

    /// Whether nothing is known of an arena.
    pub(crate) fn is_new(&self, offset: u64) -> bool {
        !self.owners.contains_key(&offset) && !self.refused.contains(&offset)
    }

    /// Of how many arenas something is known.
    pub(crate) fn len(&self) -> usize {
        self.owners.len() + self.refused.len()
    }

    /// The header at an offset is not read again.
    pub(crate) fn refuse(&mut self, offset: u64) {
        self.refused.insert(offset);
    }

    /// Notes an arena that a process has left behind and that was never seen to be mapped by it.
    pub(crate) fn leave(&mut self, now: Duration, arena: Range<u64>) {
        self.left.push((now, arena));
    }

    /// Those of them that can be released now, since no process has claimed them. Headers in them are not
    /// looked at any more.
    pub(crate) fn unclaimed(&mut self, now: Duration) -> Vec<Range<u64>> {
        let over = self.left.partition_point(|(since, _)| *since + GRACE <= now);
        let mut free: Vec<_> = self.left.drain(..over).map(|(_, arena)| arena).collect();
        free.retain(|arena| !self.owners.contains_key(&arena.start));
        free.iter().for_each(|arena| _ = self.refused.insert(arena.start));
        free
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_arena_has_one_owner_for_ever() {
        let mut claims = Claims::default();
        assert!(claims.is_new(10) && claims.take(&(10..20), 10) && claims.take(&(20..30), 10));
        assert!(!claims.take(&(20..30), 40) && !claims.may_read(&(10..20), 40) && !claims.is_new(20));
        assert!(claims.may_read(&(10..20), 10) && claims.may_read(&(50..60), 40));
    }

    #[test]
    fn what_was_left_is_released_if_no_process_claims_it() {
        let mut claims = Claims::default();
        let ms = Duration::from_millis;
        claims.leave(ms(0), 10..20);
        claims.leave(ms(0), 20..30);
        claims.leave(ms(900), 30..40);
        assert!(claims.unclaimed(ms(999)).is_empty());
        assert!(claims.take(&(20..30), 20), "its process has come");
        let free = claims.unclaimed(ms(1000));
        assert_eq!(free.iter().map(|arena| arena.start).collect::<Vec<_>>(), [10]);
        assert_eq!(claims.unclaimed(ms(1900)).len(), 1);
        assert!(!claims.is_new(10) && !claims.is_new(30));
    }
}

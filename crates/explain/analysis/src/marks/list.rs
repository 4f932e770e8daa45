//! Single marks, as many as a timeline can show.
//!
//! A program may mark moments a million times a second. When the list is full, names with many entries are thinned: every
//! second entry goes, and of those to come only every second one is kept; then every fourth, and so on. So each name keeps
//! entries over the whole run, and one that is rare keeps all.

use super::{Key, MarkMoment};
use heapwise_trace::event::MarkKind;
use rustc_hash::FxHashMap;

/// Most entries. A span is one.
pub(crate) const MOST_ENTRIES: usize = 5000;

/// Identifies an entry as long as it exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct EntryId(u64);

/// A mark, or a span.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    id: EntryId,
    /// Which one of its name.
    ordinal: u64,
    pub(crate) name: Key,
    pub(crate) thread: u32,
    pub(crate) kind: MarkKind,
    pub(crate) at: MarkMoment,
    pub(crate) end: Option<MarkMoment>,
}

#[derive(Debug)]
struct PerName {
    seen: u64,
    /// One of so many is kept.
    stride: u64,
    kept: usize,
}

/// The entries, ascending.
#[derive(Debug, Default)]
pub(crate) struct List {
    pub(crate) entries: Vec<Entry>,
    next: u64,
    per_name: FxHashMap<Key, PerName>,
    /// Every entry is the only one of its name: no further one can be kept.
    is_full: bool,
}

impl List {
    /// Adds an entry; `None` if it is not kept.
    pub(crate) fn add(&mut self, name: Key, thread: u32, kind: MarkKind, at: MarkMoment) -> Option<EntryId> {
        let new = PerName { seen: 0, stride: 1, kept: 0 };
        let per_name = self.per_name.entry(name).or_insert(new);
        let ordinal = per_name.seen;
        per_name.seen += 1;
        if !ordinal.is_multiple_of(per_name.stride) {
            return None;
        }
        if self.entries.len() == MOST_ENTRIES && !self.is_full {
            self.thin();
            self.is_full =
                self.entries.len() == MOST_ENTRIES && self.per_name.values().all(|name| name.kept < 2);
        }
        let per_name = self.per_name.get_mut(&name)?;
        if self.entries.len() == MOST_ENTRIES || !ordinal.is_multiple_of(per_name.stride) {
            return None;
        }
        per_name.kept += 1;
        let id = EntryId(self.next);
        self.next += 1;
        self.entries.push(Entry { id, ordinal, name, thread, kind, at, end: None });
        Some(id)
    }

    /// A span has ended.
    pub(crate) fn end(&mut self, id: EntryId, at: MarkMoment) {
        if let Ok(i) = self.entries.binary_search_by_key(&id, |entry| entry.id) {
            self.entries[i].end = Some(at);
        }
    }

    /// Thins the names with the most entries. Does nothing if none has two.
    fn thin(&mut self) {
        let most = self.per_name.values().map(|name| name.kept).max().unwrap_or(0);
        for name in self.per_name.values_mut().filter(|name| name.kept > 1 && name.kept > most / 2) {
            name.stride = name.stride.saturating_mul(2);
            name.kept = 0;
        }
        let per_name = &mut self.per_name;
        self.entries.retain(|entry| {
            let Some(name) = per_name.get(&entry.name) else { return false };
            entry.ordinal.is_multiple_of(name.stride)
        });
        per_name.values_mut().for_each(|name| name.kept = 0);
        for entry in &self.entries {
            if let Some(name) = per_name.get_mut(&entry.name) {
                name.kept += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Nanos;
    use heapwise_trace::event::MarkId;

    fn at(time: u64) -> MarkMoment {
        MarkMoment { time: Nanos(time), ..MarkMoment::default() }
    }

    fn name(id: u32) -> Key {
        (0, MarkId(id))
    }

    #[test]
    fn a_name_with_very_many_is_thinned_evenly_and_a_rare_one_is_not() {
        let mut list = List::default();
        let n = 1_000_000u64;
        for time in 0..n {
            list.add(name(1), 0, MarkKind::Point, at(time));
            if time % 100_000 == 0 {
                list.add(name(2), 0, MarkKind::Point, at(time));
            }
        }
        assert!(list.entries.len() <= MOST_ENTRIES);
        let times = |id| {
            let of = list.entries.iter().filter(move |entry| entry.name == name(id));
            of.map(|entry| entry.at.time.0).collect::<Vec<_>>()
        };
        assert_eq!(times(2).len(), 10);
        let many = times(1);
        assert!(many.len() > MOST_ENTRIES / 3, "{}", many.len());
        let gaps: Vec<u64> = many.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(gaps.iter().all(|gap| *gap == gaps[0]), "{gaps:?}");
        assert!(n - many[many.len() - 1] <= gaps[0]);
    }

    #[test]
    fn when_all_names_are_different_the_first_ones_stay() {
        let mut list = List::default();
        for id in 0..3 * MOST_ENTRIES as u32 {
            list.add(name(id), 0, MarkKind::Point, at(u64::from(id)));
        }
        assert_eq!(list.entries.len(), MOST_ENTRIES);
        assert_eq!(list.entries[MOST_ENTRIES - 1].at, at(MOST_ENTRIES as u64 - 1));
    }

    #[test]
    fn a_span_is_ended_if_it_is_still_there() {
        let mut list = List::default();
        let ids: Vec<_> =
            (0..MOST_ENTRIES as u64).map(|i| list.add(name(1), 0, MarkKind::Begin, at(i))).collect();
        list.add(name(1), 0, MarkKind::Begin, at(99));
        ids.iter().flatten().for_each(|id| list.end(*id, at(100)));
        // The newest one has no end yet.
        let ended = list.entries.iter().filter(|entry| entry.end.is_some());
        assert_eq!(ended.count(), MOST_ENTRIES / 2);
        assert_eq!(list.entries.len(), MOST_ENTRIES / 2 + 1);
    }
}

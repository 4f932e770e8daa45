//! The table of entries, in groups of four that fill a cache line each.
//!
//! PERF: a search compares all four keys of a group at once, and what is not there is known from one entry that is empty. How far a
//! search goes is the same nearly always, so the processor foresees it; with entries in a single row it was another number each time, and
//! so it was for what moved back after a removal. Only where a group is full does a search go on to the next one. A
//! removal looks there for what may move back, if anything ever went on from there. There are no marks for what was removed: the
//! heap of a long run is all removal and insertion, and marks would fill the table again and again.

use super::entry::{Entry, Key};
use prefetch_index::prefetch_index;

/// Entries of a group: a cache line.
const SLOTS: usize = 4;
/// Groups that the blocks of a neighbourhood have to begin with.
const BESIDE: usize = 2;

#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Group([Entry; SLOTS]);

impl Group {
    const NONE: Self = Self([Entry::NONE; SLOTS]);

    /// A bit for each entry that has this key, and for each that is empty.
    #[inline(always)]
    fn look_for(&self, key: Key) -> (u32, u32) {
        let (mut found, mut empty) = (0, 0);
        for (slot, entry) in self.0.iter().enumerate() {
            found |= u32::from(entry.has(key)) << slot;
            empty |= u32::from(entry.is_none()) << slot;
        }
        (found, empty)
    }

    #[inline(always)]
    fn is_full(&self) -> bool {
        !self.0.iter().any(|entry| entry.is_none())
    }
}

/// Where an entry is, or may be.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    group: usize,
    slot: usize,
}

/// Entries by their keys. At least one group always has to have room: see [`Groups::n_entries`].
#[derive(Debug)]
pub(super) struct Groups {
    groups: Vec<Group>,
    /// A bit for each group that an entry went past, which had no room for it. PERF: fewer have one than are full, and to look at the next
    /// group is to wait for memory.
    passed: Vec<u64>,
    /// 64 minus the binary logarithm of the number of groups.
    shift: u32,
}

impl Groups {
    /// A table of `2^log2` entries, eight at least.
    pub(super) fn new(log2: u32) -> Self {
        let groups = 1 << log2 >> SLOTS.trailing_zeros();
        debug_assert!(groups >= BESIDE);
        let passed = vec![0; groups.div_ceil(u64::BITS as usize)];
        Self { groups: vec![Group::NONE; groups], passed, shift: 64 - groups.trailing_zeros() }
    }

    /// How many entries there are room for. Whoever fills the table leaves some of them empty.
    pub(super) fn n_entries(&self) -> usize {
        self.groups.len() * SLOTS
    }

    /// The group where a key would be, were there no others. Blocks that are neighbours in memory are so in the table, and which of the
    /// groups of a neighbourhood comes first is any: blocks that are far apart are spread like any others.
    #[inline(always)]
    fn home(&self, key: Key) -> usize {
        let any = (key.neighbourhood().wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.shift) as usize;
        any & !(BESIDE - 1) | any.wrapping_add(key.part()) & (BESIDE - 1)
    }

    #[inline(always)]
    fn after(&self, group: usize) -> usize {
        (group + 1) & (self.groups.len() - 1)
    }

    /// The place of the key's entry; if there is none, the empty one where it would go.
    #[inline(always)]
    pub(super) fn find(&self, key: Key) -> Result<Place, Place> {
        let mut group = self.home(key) & (self.groups.len() - 1);
        loop {
            let (found, empty) = self.groups[group].look_for(key);
            let place = |bits: u32| Place { group, slot: bits.trailing_zeros() as usize & (SLOTS - 1) };
            if found != 0 {
                return Ok(place(found));
            }
            if empty != 0 {
                return Err(place(empty));
            }
            group = self.after(group);
        }
    }

    /// Has what a search for a key will read brought into the cache.
    #[inline(always)]
    pub(super) fn prefetch(&self, key: Key) {
        prefetch_index(&self.groups, self.home(key));
    }

    #[inline(always)]
    pub(super) fn at(&self, place: Place) -> Entry {
        self.groups[place.group].0[place.slot]
    }

    /// Puts the entry of a key where [`Groups::find`] said that it goes, or replaces the one of the same key.
    #[inline(always)]
    pub(super) fn put(&mut self, place: Place, key: Key, entry: Entry) {
        self.groups[place.group].0[place.slot] = entry;
        let home = self.home(key) & (self.groups.len() - 1);
        if home != place.group {
            self.pass(home, place.group);
        }
    }

    /// Notes that an entry went past the groups from its home on.
    #[cold]
    #[inline(never)]
    fn pass(&mut self, home: usize, group: usize) {
        let mut at = home;
        while at != group {
            self.passed[at / 64] |= 1 << (at % 64);
            at = self.after(at);
        }
    }

    #[inline(always)]
    fn is_passed(&self, group: usize) -> bool {
        self.passed[group / 64] >> (group % 64) & 1 != 0
    }

    /// Empties a place.
    #[inline(always)]
    pub(super) fn remove(&mut self, place: Place) {
        let group = &mut self.groups[place.group];
        let was_full = group.is_full();
        group.0[place.slot] = Entry::NONE;
        if was_full && self.is_passed(place.group) {
            self.move_back(place);
        }
    }

    /// A group that was full has room: something that had to go further may come back, and leaves room itself.
    #[inline(never)]
    fn move_back(&mut self, mut gap: Place) {
        let mask = self.groups.len() - 1;
        let mut group = gap.group;
        loop {
            group = self.after(group);
            let from_gap = group.wrapping_sub(gap.group) & mask;
            let (entries, is_full) = (self.groups[group].0, self.groups[group].is_full());
            let passed = |entry: &Entry| {
                entry.key().is_some_and(|key| group.wrapping_sub(self.home(key)) & mask >= from_gap)
            };
            if let Some(slot) = entries.iter().position(passed) {
                self.groups[gap.group].0[gap.slot] = entries[slot];
                gap = Place { group, slot };
                self.groups[group].0[slot] = Entry::NONE;
            }
            if !is_full || !self.is_passed(group) {
                break;
            }
        }
        // Nothing is left that went past it. The group where the search ended keeps its mark: what is behind it was not looked at.
        if gap.group != group {
            self.passed[gap.group / 64] &= !(1 << (gap.group % 64));
        }
    }

    /// The same entries in twice the room.
    pub(super) fn doubled(&self) -> Self {
        let mut larger = Self::new(self.n_entries().trailing_zeros() + 1);
        for entry in self.iter() {
            let Some(key) = entry.key() else { continue };
            if let Err(place) = larger.find(key) {
                larger.put(place, key, entry);
            }
        }
        larger
    }

    /// All entries, also those that are empty.
    pub(super) fn iter(&self) -> impl Iterator<Item = Entry> {
        self.groups.iter().flat_map(|group| group.0)
    }

    /// All entries, to be replaced by others of the same keys.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Entry> {
        self.groups.iter_mut().flat_map(|group| &mut group.0)
    }

    /// All entries, also those that are empty.
    pub(super) fn into_entries(self) -> impl Iterator<Item = Entry> {
        self.groups.into_iter().flat_map(|group| group.0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::entry::Split;
    use super::super::{Block, Tick};
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn entry(address: u64, size: u64) -> (Key, Entry) {
        let block = Block { size, born: Tick(0), site: 0, thread: 0, reallocations: 0, slot: 0 };
        let key = Key::of(address).expect("a usual address");
        (key, Entry::new(key, &block, Split::default()).expect("a usual block"))
    }

    fn size_in(entry: Entry) -> Option<u64> {
        Some(entry.block(Split::default())?.size)
    }

    /// Every group from an entry's home to where it is has no room, and is known to have been passed.
    fn is_reached_from_its_home(table: &Groups) -> bool {
        let mask = table.groups.len() - 1;
        table.groups.iter().enumerate().all(|(at, group)| {
            group.0.iter().filter_map(|entry| entry.key()).all(|key| {
                let home = table.home(key);
                let before = (0..at.wrapping_sub(home) & mask).map(|n| (home + n) & mask);
                before.into_iter().all(|group| table.groups[group].is_full() && table.is_passed(group))
            })
        })
    }

    proptest! {
        /// Few groups that are nearly full, so that most entries are far from home and searches go around the end.
        #[test]
        fn what_was_put_in_is_found_and_nothing_else(
            log2 in 3u32..7,
            steps in proptest::collection::vec((1u64..200, any::<bool>()), 0..600),
            stride in 3u32..10,
        ) {
            let (mut table, mut truth) = (Groups::new(log2), BTreeMap::new());
            for (i, (address, goes_in)) in steps.into_iter().enumerate() {
                let address = address << stride;
                let (key, entry) = entry(address, i as u64);
                let found = table.find(key);
                let size = found.ok().and_then(|place| size_in(table.at(place)));
                prop_assert_eq!(size, truth.get(&address).copied());
                match found {
                    Err(place) if goes_in && truth.len() + 1 < table.n_entries() => {
                        table.put(place, key, entry);
                        truth.insert(address, i as u64);
                    }
                    Ok(place) if !goes_in => {
                        table.remove(place);
                        truth.remove(&address);
                    }
                    _ => {}
                }
                prop_assert!(is_reached_from_its_home(&table));
            }
            for table in [table.doubled(), table] {
                prop_assert!(is_reached_from_its_home(&table));
                let there: BTreeMap<u64, u64> = table.iter().filter_map(|e| Some((e.key()?.address(), size_in(e)?))).collect();
                prop_assert_eq!(&there, &truth);
                prop_assert_eq!(table.into_entries().filter(|e| !e.is_none()).count(), truth.len());
            }
        }
    }

    #[test]
    fn a_group_is_a_cache_line() {
        assert_eq!((size_of::<Group>(), align_of::<Group>()), (64, 64));
    }
}

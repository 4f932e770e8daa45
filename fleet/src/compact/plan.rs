//! Which files are put together.

use crate::store::live::{self, Live, Range};
use crate::store::{Name, Partition, Place, Stem};
use anyhow::Result;
use heapwise_tables::TABLES;
use std::collections::{BTreeMap, BTreeSet};

/// Files of one day and service that become one file in each table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Group {
    pub(super) partition: Partition,
    pub(super) inputs: Vec<Name>,
    /// Of all tables together.
    pub(super) bytes: u64,
}

/// A compacted recording with so many bytes in all its tables is large enough.
const LARGE_ENOUGH: u64 = 64 << 20;
/// No group has more bytes than this, if it has more than one input: reading one file is a task for one core, and what is written is
/// sorted before.
const MOST_BYTES: u64 = 256 << 20;

/// The bytes of each recording or compacted file, in all tables together.
///
/// # Errors
/// If a table cannot be listed.
pub(super) async fn sizes(place: &Place, range: &Range) -> Result<BTreeMap<Name, u64>> {
    let mut sizes = BTreeMap::new();
    for table in TABLES {
        for (name, meta) in live::list(place, table.name, range).await?.files {
            *sizes.entry(name).or_default() += meta.size;
        }
    }
    Ok(sizes)
}

/// What is put together: for each day and service all that is small.
pub(super) fn groups(live: &Live, sizes: &BTreeMap<Name, u64>, refused: &BTreeSet<Name>) -> Vec<Group> {
    let mut partitions: BTreeMap<&Partition, Vec<(&Name, u64)>> = BTreeMap::new();
    for name in live.names.iter().filter(|name| !refused.contains(name)) {
        let size = sizes.get(name).copied().unwrap_or(0);
        if matches!(name.stem, Stem::Recording(_)) || size < LARGE_ENOUGH {
            partitions.entry(&name.partition).or_default().push((name, size));
        }
    }
    let mut groups = Vec::new();
    for (partition, names) in partitions {
        let empty = || Group { partition: partition.clone(), inputs: Vec::new(), bytes: 0 };
        let mut group = empty();
        for (name, size) in names {
            if group.bytes + size > MOST_BYTES && !group.inputs.is_empty() {
                groups.push(std::mem::replace(&mut group, empty()));
            }
            group.inputs.push(name.clone());
            group.bytes += size;
        }
        groups.push(group);
    }
    groups.retain(|group| group.inputs.len() > 1);
    groups
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::log::State;

    fn name(date: &str, stem: &str) -> Name {
        let partition = Partition { date: date.to_owned(), service: "api".to_owned() };
        Name { partition, stem: Stem::parse(stem).expect("a stem") }
    }

    fn live(names: &[Name]) -> Live {
        let names = names.iter().cloned().collect();
        Live { state: State::default(), names }
    }

    fn id(digit: char) -> String {
        digit.to_string().repeat(32)
    }

    #[test]
    fn days_stay_apart_and_what_is_large_stays_as_it_is() {
        let small = ["a", "b", "c"].map(|digit| name("2026-11-26", &digit.repeat(32)));
        let other_day = name("2026-11-27", &id('a'));
        let large = name("2026-11-26", &format!("c{}", id('1')));
        let grown = name("2026-11-26", &format!("c{}", id('2')));
        let all: Vec<Name> = small.iter().chain([&other_day, &large, &grown]).cloned().collect();
        let sizes = [(large, LARGE_ENOUGH), (grown.clone(), LARGE_ENOUGH - 1), (small[0].clone(), 10)];
        let groups = groups(&live(&all), &sizes.into_iter().collect(), &BTreeSet::from([small[2].clone()]));
        let [group] = groups.as_slice() else { panic!("{groups:?}") };
        assert_eq!(group.inputs, [small[0].clone(), small[1].clone(), grown]);
        assert_eq!(group.bytes, LARGE_ENOUGH + 9);
    }

    #[test]
    fn a_group_has_an_end() {
        let names: Vec<Name> = ('a'..='f').map(|digit| name("2026-11-26", &id(digit))).collect();
        let sizes = names.iter().map(|name| (name.clone(), MOST_BYTES / 3)).collect();
        let groups = groups(&live(&names), &sizes, &BTreeSet::new());
        let lengths: Vec<usize> = groups.iter().map(|group| group.inputs.len()).collect();
        assert_eq!(lengths, [3, 3]);
    }
}

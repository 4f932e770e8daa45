//! Which spans are open, and what was allocated inside of those that have ended.

use super::list::{EntryId, List};
use super::rss::RssHistory;
use super::{Mark, MarkMoment, Marks, Names, Span};
use crate::budget::{Budget, price};
use crate::totals::Totals;
use crate::units::{Bytes, Nanos};
use heapwise_trace::event::{MarkId, MarkKind};
use heapwise_trace::file::records::{ProcessIndex, ThreadIndex};
use heapwise_trace::live::layout::MAX_MARK_NAMES;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A name of a process.
pub(crate) type Key = (u32, MarkId);

/// Most open spans of one thread. A span that never ends takes a place for ever, so the oldest makes room.
const MOST_OPEN: usize = 256;

/// What the accounts say at the moment of a mark.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Now {
    pub(crate) thread: u32,
    pub(crate) process: u32,
    pub(crate) time_ns: u64,
    /// Reading of the processor's clock; 0 for none.
    pub(crate) ticks: u64,
    /// All that the thread did so far.
    pub(crate) counts: Totals,
    /// Live bytes of blocks that the thread was handed.
    pub(crate) own_live_bytes: u64,
    /// Live bytes of all processes.
    pub(crate) live_bytes: u64,
}

/// A span that has begun.
#[derive(Clone, Copy, Debug)]
struct Open {
    name: MarkId,
    begin: Now,
    entry: Option<EntryId>,
}

/// Least, most and sum of something.
#[derive(Clone, Copy, Debug)]
struct Range {
    sum: u64,
    least: u64,
    most: u64,
}

impl Default for Range {
    fn default() -> Self {
        Self { sum: 0, least: u64::MAX, most: 0 }
    }
}

impl Range {
    fn add(&mut self, value: u64) {
        self.sum = self.sum.saturating_add(value);
        self.least = self.least.min(value);
        self.most = self.most.max(value);
    }

    fn merge(&mut self, other: &Self) {
        self.sum = self.sum.saturating_add(other.sum);
        self.least = self.least.min(other.least);
        self.most = self.most.max(other.most);
    }
}

/// Spans of one name.
#[derive(Clone, Debug)]
struct Counts {
    count: u64,
    /// Of these, how many have a duration in ticks.
    with_ticks: u64,
    ticks: Range,
    nanos: Range,
    done: Totals,
    largest_growth: i64,
    unended: u64,
    unbegun: u64,
}

impl Default for Counts {
    fn default() -> Self {
        let (ticks, nanos, done) = (Range::default(), Range::default(), Totals::default());
        Self { count: 0, with_ticks: 0, ticks, nanos, done, largest_growth: i64::MIN, unended: 0, unbegun: 0 }
    }
}

impl Counts {
    fn add(&mut self, begin: &Now, end: &Now) {
        self.count += 1;
        self.nanos.add(end.time_ns.saturating_sub(begin.time_ns));
        if begin.ticks != 0 && end.ticks >= begin.ticks {
            self.with_ticks += 1;
            self.ticks.add(end.ticks - begin.ticks);
        }
        let (before, after) = (&begin.counts, &end.counts);
        self.done.allocations += after.allocations - before.allocations;
        self.done.reallocations += after.reallocations - before.reallocations;
        self.done.deallocations += after.deallocations - before.deallocations;
        // It wraps around in damaged recordings.
        self.done.allocated_bytes += Bytes(after.allocated_bytes.0.wrapping_sub(before.allocated_bytes.0));
        let growth = end.own_live_bytes.wrapping_sub(begin.own_live_bytes) as i64;
        self.largest_growth = self.largest_growth.max(growth);
    }

    fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.with_ticks += other.with_ticks;
        self.ticks.merge(&other.ticks);
        self.nanos.merge(&other.nanos);
        self.done.add_counts(&other.done);
        self.largest_growth = self.largest_growth.max(other.largest_growth);
        self.unended += other.unended;
        self.unbegun += other.unbegun;
    }

    /// `ticks_per_second` is 0 if it is not known: then the clock of the recording has to do.
    fn span(&self, name: Arc<str>, ticks_per_second: u64) -> Span {
        let in_ticks = self.with_ticks == self.count && ticks_per_second > 0;
        let nanos = |ticks: u64, nanos: u64| {
            let exact = u128::from(ticks) * 1_000_000_000 / u128::from(ticks_per_second.max(1));
            Nanos(if in_ticks { u64::try_from(exact).unwrap_or(u64::MAX) } else { nanos })
        };
        let (ticks, time) = (&self.ticks, &self.nanos);
        let none = self.count == 0;
        Span {
            name,
            count: self.count,
            time: nanos(ticks.sum, time.sum),
            shortest: if none { Nanos(0) } else { nanos(ticks.least, time.least) },
            longest: nanos(ticks.most, time.most),
            allocations: self.done.allocations,
            reallocations: self.done.reallocations,
            deallocations: self.done.deallocations,
            allocated_bytes: self.done.allocated_bytes,
            largest_growth_bytes: if none { 0 } else { self.largest_growth },
            unended: self.unended,
            unbegun: self.unbegun,
        }
    }
}

/// The accounts of marks.
#[derive(Debug, Default)]
pub(crate) struct MarkAccount {
    pub(crate) rss: RssHistory,
    list: List,
    /// Open spans of each thread, the newest last.
    open: FxHashMap<u32, Vec<Open>>,
    spans: FxHashMap<Key, Counts>,
    /// Names that were marked.
    seen: FxHashSet<Key>,
    total: u64,
    pub(crate) budget: Budget,
}

impl MarkAccount {
    /// A thread has marked this moment.
    #[cold]
    #[inline(never)]
    pub(crate) fn mark(&mut self, kind: MarkKind, name: MarkId, now: Now) {
        // An id that no process can have comes from a damaged recording, and there may be very many of them.
        let name = if name.0 as usize <= MAX_MARK_NAMES { name } else { MarkId::OTHER };
        let mut key = (now.process, name);
        if !self.seen.contains(&key) {
            match self.budget.keep(price::SPANS) {
                true => _ = self.seen.insert(key),
                false => key.1 = MarkId::OTHER,
            }
        }
        let name = key.1;
        let at = MarkMoment {
            time: Nanos(now.time_ns),
            live: Bytes(now.live_bytes),
            rss: self.rss.at(now.time_ns).map(Bytes),
            order: self.total,
        };
        self.total += 1;
        match kind {
            MarkKind::Point => {
                self.list.add(key, now.thread, kind, at);
            }
            MarkKind::Begin => {
                let entry = self.list.add(key, now.thread, kind, at);
                let open = self.open.entry(now.thread).or_default();
                if open.len() == MOST_OPEN {
                    let oldest = open.remove(0);
                    self.spans.entry((now.process, oldest.name)).or_default().unended += 1;
                }
                open.push(Open { name, begin: now, entry });
            }
            MarkKind::End => {
                let open = self.open.entry(now.thread).or_default();
                let counts = self.spans.entry(key).or_default();
                match open.iter().rposition(|span| span.name == name) {
                    Some(i) => {
                        let span = open.remove(i);
                        counts.add(&span.begin, &now);
                        if let Some(entry) = span.entry {
                            self.list.end(entry, at);
                        }
                    }
                    None => {
                        counts.unbegun += 1;
                        self.list.add(key, now.thread, kind, at);
                    }
                }
            }
        }
    }

    /// The tables, when all names are known.
    pub(crate) fn finish(
        mut self,
        names: &[&Names],
        process: impl Fn(u32) -> ProcessIndex,
        thread: impl Fn(u32) -> ThreadIndex,
        ticks_per_second: u64,
    ) -> Marks {
        for (_, open) in self.open {
            for span in open {
                self.spans.entry((span.begin.process, span.name)).or_default().unended += 1;
            }
        }
        let mut known: FxHashMap<Key, Arc<str>> = FxHashMap::default();
        let mut name_of = |(process, id): Key| {
            let name = || names.get(process as usize).map(|names| names.of(id)).unwrap_or_default().into();
            Arc::clone(known.entry((process, id)).or_insert_with(name))
        };
        // The same name in several processes is one.
        let mut by_name: BTreeMap<Arc<str>, Counts> = BTreeMap::new();
        for (key, counts) in &self.spans {
            by_name.entry(name_of(*key)).or_default().merge(counts);
        }
        let mut spans: Vec<Span> =
            by_name.into_iter().map(|(name, counts)| counts.span(name, ticks_per_second)).collect();
        spans.sort_by_key(|span| std::cmp::Reverse((span.allocated_bytes, span.allocations)));
        let list = self.list.entries.iter().map(|entry| Mark {
            name: name_of(entry.name),
            process: process(entry.name.0),
            thread: thread(entry.thread),
            kind: entry.kind,
            at: entry.at,
            end: entry.end,
        });
        Marks { list: list.collect(), total: self.total, spans }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use MarkKind::{Begin, End, Point};
    use heapwise_trace::file::tables::MarkNames;
    use proptest::prelude::*;

    fn names() -> Names {
        let mut names = Names::default();
        let all = vec!["a".to_owned(), "b".to_owned(), "c".to_owned()];
        names.add(MarkNames { process: ProcessIndex(0), first_id: 1, names: all }, &Budget::default());
        names
    }

    fn finished(account: MarkAccount, ticks_per_second: u64) -> Marks {
        let names = names();
        account.finish(&[&names, &names], ProcessIndex, ThreadIndex, ticks_per_second)
    }

    fn now(thread: u32, time: u64, allocations: u64, live: u64) -> Now {
        let allocated_bytes = Bytes(allocations * 10);
        let counts = Totals { allocations, allocated_bytes, ..Totals::default() };
        let (time_ns, ticks) = (time * 1_000_000, 1000 + time * 5);
        Now { thread, process: 0, time_ns, ticks, counts, own_live_bytes: live, live_bytes: live }
    }

    fn span<'a>(marks: &'a Marks, name: &str) -> &'a Span {
        marks.spans.iter().find(|span| &*span.name == name).expect("a span of that name")
    }

    #[test]
    fn nested_spans_count_what_their_thread_did_inclusively() {
        let mut account = MarkAccount::default();
        account.mark(Begin, MarkId(1), now(0, 0, 0, 0));
        account.mark(Begin, MarkId(2), now(0, 10, 3, 100));
        account.mark(Begin, MarkId(1), now(1, 12, 50, 100));
        account.mark(End, MarkId(2), now(0, 20, 5, 40));
        account.mark(Begin, MarkId(2), now(0, 21, 5, 40));
        account.mark(End, MarkId(2), now(0, 22, 9, 90));
        account.mark(End, MarkId(1), now(0, 30, 10, 90));
        account.mark(Point, MarkId(3), now(0, 31, 10, 90));
        let marks = finished(account, 1000);
        let a = span(&marks, "a");
        assert_eq!((a.count, a.allocations, a.allocated_bytes, a.unended), (1, 10, Bytes(100), 1));
        assert_eq!((a.largest_growth_bytes, a.time), (90, Nanos(150_000_000)), "5 ticks of 1 ms each ms");
        let b = span(&marks, "b");
        assert_eq!((b.count, b.allocations, b.largest_growth_bytes), (2, 2 + 4, 50));
        assert_eq!((b.shortest, b.longest), (Nanos(5_000_000), Nanos(50_000_000)));
        assert_eq!((marks.total, marks.listed(), marks.not_listed()), (8, 8, 0));
        assert_eq!(
            marks.spans.iter().map(|s| &*s.name).collect::<Vec<_>>(),
            ["a", "b"],
            "a point is no span"
        );
        let kinds: Vec<_> =
            marks.moments().iter().map(|(kind, at, _)| (*kind, at.time.0 / 1_000_000)).collect();
        let expected =
            [(Begin, 0), (Begin, 10), (Begin, 12), (End, 20), (Begin, 21), (End, 22), (End, 30), (Point, 31)];
        assert_eq!(kinds, expected);
    }

    #[test]
    fn without_ticks_the_clock_of_the_recording_has_to_do() {
        for (ticks, per_second, expected) in
            [(7, 1_000_000_000, 0), (7, 0, 3_000_000), (0, 1_000_000_000, 3_000_000)]
        {
            let mut account = MarkAccount::default();
            let moment = |time| Now { ticks, ..now(0, time, 0, 0) };
            account.mark(Begin, MarkId(1), moment(1));
            account.mark(End, MarkId(1), moment(4));
            let marks = finished(account, per_second);
            assert_eq!(span(&marks, "a").time, Nanos(expected));
        }
    }

    #[test]
    fn ends_without_a_begin_and_begins_without_an_end_are_counted_and_harm_nobody() {
        let mut account = MarkAccount::default();
        account.mark(End, MarkId(1), now(0, 1, 0, 0));
        // Begun on one thread and ended on another.
        account.mark(Begin, MarkId(2), now(0, 2, 0, 0));
        account.mark(End, MarkId(2), now(1, 3, 7, 7));
        // Overlapping, not nested.
        account.mark(Begin, MarkId(1), now(0, 4, 1, 0));
        account.mark(Begin, MarkId(3), now(0, 5, 2, 0));
        account.mark(End, MarkId(1), now(0, 6, 4, 0));
        account.mark(End, MarkId(3), now(0, 7, 8, 0));
        let marks = finished(account, 0);
        let facts = |name| {
            let span = span(&marks, name);
            (span.count, span.unended, span.unbegun, span.allocations)
        };
        assert_eq!([facts("a"), facts("b"), facts("c")], [(1, 0, 1, 3), (0, 1, 1, 0), (1, 0, 0, 6)]);
        assert_eq!((span(&marks, "b").shortest, span(&marks, "b").largest_growth_bytes), (Nanos(0), 0));
    }

    #[test]
    fn spans_that_never_end_do_not_keep_others_from_being_measured() {
        let mut account = MarkAccount::default();
        for i in 0..10_000 {
            account.mark(Begin, MarkId(1), now(0, i, i, 0));
            account.mark(Begin, MarkId(2), now(0, i, i, 0));
            account.mark(End, MarkId(2), now(0, i, i + 1, 0));
        }
        assert_eq!(account.open[&0].len(), MOST_OPEN - 1, "the last one that was ended has left its place");
        let marks = finished(account, 0);
        assert_eq!((span(&marks, "a").unended, span(&marks, "a").count), (10_000, 0));
        assert_eq!((span(&marks, "b").count, span(&marks, "b").allocations), (10_000, 10_000));
        assert_eq!(marks.total, 30_000);
        assert!(marks.listed() <= 10_000 && marks.not_listed() >= 20_000);
    }

    #[test]
    fn ids_that_no_process_can_have_are_one_name() {
        let mut account = MarkAccount::default();
        for id in 0..100_000u32 {
            account.mark(End, MarkId(id << 12), now(0, 1, 0, 0));
        }
        assert_eq!(account.spans.len(), 2, "0 and 4096");
    }

    proptest! {
        #[test]
        fn every_begin_is_ended_or_not_and_every_end_has_a_begin_or_not(
            steps in proptest::collection::vec((0u64..3, 0u32..5, 0u32..3), 0..2000),
        ) {
            let (mut account, mut seen) = (MarkAccount::default(), [0u64; 3]);
            for (i, (kind, name, thread)) in steps.into_iter().enumerate() {
                seen[kind as usize] += 1;
                let kind = MarkKind::from_code(kind).expect("there are three kinds");
                account.mark(kind, MarkId(name), now(thread, i as u64, i as u64, 0));
            }
            let marks = finished(account, 0);
            let sum = |of: fn(&Span) -> u64| marks.spans.iter().map(of).sum::<u64>();
            prop_assert_eq!(sum(|s| s.count + s.unended), seen[1]);
            prop_assert_eq!(sum(|s| s.count + s.unbegun), seen[2]);
            prop_assert_eq!(marks.total, seen.iter().sum::<u64>());
            prop_assert_eq!(marks.listed(), marks.total);
        }
    }
}

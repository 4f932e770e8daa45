//! Checks what recorded programs have written before it is used.
//!
//! Every process of a session can write to all of the shared memory that it has mapped, and the kernel does not say who
//! wrote what. So each offset, length and count that is read from there passes this file first: it lies where something
//! of its kind can be, it overlaps nothing that is in use, and following it ends.

use crate::joins;
use heapwise_trace::event::Epoch;
use heapwise_trace::file::records::{ModuleInfo, ProcessIndex, ThreadIndex};
use heapwise_trace::live::layout::{
    ARENA_BYTES, BUILD_ID_BYTES, CLOCK_EPOCH_MASK, MODULE_RECORD_HEADER, SESSION_BYTES, SESSION_HEADER_BYTES,
    ring_capacity,
};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};

/// The arena at an offset; `None` if there can be none.
pub(crate) fn arena(offset: u64) -> Option<Range<u64>> {
    let end = offset.checked_add(ARENA_BYTES)?;
    let is_a_place = offset.checked_sub(SESSION_HEADER_BYTES)?.is_multiple_of(ARENA_BYTES);
    (is_a_place && end <= SESSION_BYTES).then_some(offset..end)
}

/// Processes that are taken from the list at once; there are more where the collector stood still.
const MOST_HEADERS: usize = 4096;

/// Follows the list of processes from its newest to the first one that is known. The offsets, newest first, and why the
/// list was not followed to its end.
///
/// They need not fall along the list: of two processes that join at the same time, the one that took its memory first
/// may be the later one in the list.
pub(crate) fn headers(
    newest: u64,
    is_known: impl Fn(u64) -> bool,
    mut previous: impl FnMut(u64) -> Option<u64>,
) -> (Vec<u64>, Option<String>) {
    let (mut found, mut seen) = (Vec::new(), BTreeSet::new());
    let mut at = newest;
    while at != 0 && !is_known(at) {
        if arena(at).is_none() {
            return (found, Some(format!("it leads to {at:#x}, where no process can be")));
        }
        if !seen.insert(at) {
            return (found, Some(format!("it leads back to {at:#x}")));
        }
        let Some(next) = previous(at) else {
            return (found, Some(format!("it leads to {at:#x}, where there is nothing")));
        };
        found.push(at);
        if found.len() == MOST_HEADERS {
            return (found, None);
        }
        at = next;
    }
    (found, None)
}

/// The parts of a process's memory that are in use, each for one thing.
#[derive(Debug, Default)]
pub(crate) struct Extents(BTreeMap<u64, u64>);

impl Extents {
    /// Takes a part for one thing, if nothing else has any of it.
    pub(crate) fn take(&mut self, offset: u64, len: u64) -> bool {
        let Some(end) = offset.checked_add(len) else { return false };
        let is_free = self.0.range(..end).next_back().is_none_or(|(_, &before)| before <= offset);
        if is_free && len > 0 {
            self.0.insert(offset, end);
        }
        is_free && len > 0
    }
}

/// A claimed length or count, at most `most`.
pub(crate) fn at_most(claimed: &AtomicU32, most: usize) -> usize {
    (claimed.load(Ordering::Acquire) as usize).min(most)
}

/// A text that claims to be `len` bytes long.
pub(crate) fn text(bytes: &[AtomicU8], len: &AtomicU32) -> String {
    let len = at_most(len, bytes.len());
    let bytes: Vec<u8> = bytes[..len].iter().map(|byte| byte.load(Ordering::Relaxed)).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Bytes that the n-th ring of a process holds; `None` if it can be no such ring. Where address space is short, rings are smaller
/// than usual.
pub(crate) fn capacity(claimed: u64, index: usize) -> Option<u64> {
    (claimed.is_power_of_two() && (8..=ring_capacity(index)).contains(&claimed)).then_some(claimed)
}

/// Bytes of a ring that were not read yet; `None` if the writer's position makes no sense.
pub(crate) fn unread(head: u64, tail: u64, capacity: u64) -> Option<u64> {
    let bytes = head.checked_sub(tail)?;
    (bytes <= capacity && bytes.is_multiple_of(8)).then_some(bytes)
}

/// Parses a record of the module log, and returns its length in bytes, too; see [`MODULE_RECORD_HEADER`].
pub(crate) fn module_record(bytes: &[u8], process: ProcessIndex) -> Option<(ModuleInfo, usize)> {
    let word = |at: usize| bytes.get(at..at + 4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]));
    let long = |at: usize| Some(u64::from(word(at)?) | u64::from(word(at + 4)?) << 32);
    let len = word(0)? as usize;
    let build_id_len = (word(32)? as usize).min(BUILD_ID_BYTES);
    // A path has to end within its record. Otherwise many short records could each claim the same long path.
    let path = bytes.get(..len)?.get(MODULE_RECORD_HEADER..)?.get(..word(36)? as usize)?;
    let build_id = bytes.get(40..40 + build_id_len)?;
    let module = ModuleInfo {
        process,
        generation: word(4)?,
        start: long(8)?,
        end: long(16)?,
        bias: long(24)?,
        build_id: build_id.iter().map(|b| format!("{b:02x}")).collect(),
        path: String::from_utf8_lossy(path).into_owned(),
    };
    Some((module, len))
}

/// The session's clock as the collector keeps it: every recorded thread may write to the shared one.
#[derive(Debug)]
pub(crate) struct Clock {
    last: u64,
    /// Whether recording is held off or over.
    pub(crate) flags: u64,
}

impl Clock {
    /// Far more than threads move the clock between two ticks.
    const MOST_STEPS: u64 = 1 << 40;

    pub(crate) fn new(value: u64) -> Self {
        Self { last: value & CLOCK_EPOCH_MASK, flags: value & !CLOCK_EPOCH_MASK }
    }

    /// The epoch after the shared clock was found at a value and moved on by one. If the value cannot be the clock's, the
    /// error has what to store there.
    pub(crate) fn moved(&mut self, found: u64) -> Result<Epoch, u64> {
        let is_right = self.is_possible(found) && found & !CLOCK_EPOCH_MASK == self.flags;
        self.last = if is_right { (found & CLOCK_EPOCH_MASK) + 1 } else { self.last + 1 };
        if is_right { Ok(Epoch(self.last)) } else { Err(self.last | self.flags) }
    }

    /// The epoch at the last move.
    pub(crate) fn now(&self) -> Epoch {
        Epoch(self.last)
    }

    /// The epoch now, with what threads have moved since if that can be.
    pub(crate) fn with(&self, found: u64) -> Epoch {
        if self.is_possible(found) { Epoch(found & CLOCK_EPOCH_MASK) } else { self.now() }
    }

    /// When a process or a thread joined that claims to have done so in an epoch: not later than now, which is that of the
    /// shared clock. If it cannot have, the error has what it may be.
    pub(crate) fn joined(&self, claimed: u64, found: u64) -> Result<Epoch, Epoch> {
        let now = self.with(found);
        if claimed <= now.0 { Ok(Epoch(claimed)) } else { Err(now) }
    }

    fn is_possible(&self, found: u64) -> bool {
        (self.last..self.last.saturating_add(Self::MOST_STEPS)).contains(&(found & CLOCK_EPOCH_MASK))
    }
}

/// Where the next arena begins, as the collector keeps it.
#[derive(Debug)]
pub(crate) struct NextArena(pub(crate) u64);

impl NextArena {
    /// Arenas that may be taken between two reads.
    const MOST_TAKEN: u64 = 1 << 16;
    /// Left out where the number was lost: they may have been taken since.
    const MARGIN: u64 = 1 << 10;

    /// Notes what is in the header. If that cannot be, the error has what to store there.
    pub(crate) fn found(&mut self, next: u64) -> Result<(), u64> {
        let most = self.0.saturating_add(Self::MOST_TAKEN * ARENA_BYTES);
        // At the end of the memory the number grows on, and processes are refused.
        if (self.0..=most).contains(&next) && (next - SESSION_HEADER_BYTES).is_multiple_of(ARENA_BYTES) {
            self.0 = next;
            return Ok(());
        }
        self.0 = self.0.saturating_add(Self::MARGIN * ARENA_BYTES);
        Err(self.0)
    }
}

/// Numbers threads and counts processes, as many as the system has started.
#[derive(Debug)]
pub(crate) struct Started {
    next_thread: u32,
    departed: u64,
    /// What the system had started before.
    before: Option<u64>,
    /// What it has started since, when it was last asked.
    since: u64,
    /// Threads that need not have been started since: those that were there, and one of each program that was executed.
    others: u64,
}

impl Started {
    /// The limit where the system does not report how many it has started.
    const MOST_UNTOLD: u64 = 1 << 20;
    /// A process that was gone when it was looked for may have executed a few programs before.
    const IMAGES: u64 = 8;

    /// Nothing counted yet. `before` is how many the system had started already.
    pub(crate) fn new(before: Option<u64>) -> Self {
        Self { next_thread: 0, departed: 0, before, since: 0, others: 0 }
    }

    /// Threads that were there before, or came without being started.
    pub(crate) fn add(&mut self, threads: u64) {
        self.others = self.others.saturating_add(threads);
    }

    /// A number for one more thread; `None` if the system has not started so many.
    pub(crate) fn thread(&mut self) -> Option<ThreadIndex> {
        let wanted = u64::from(self.next_thread) + 1;
        let is_one = wanted <= self.since.saturating_add(self.others)
            || wanted <= self.ask().saturating_add(self.others);
        let index = ThreadIndex(self.next_thread);
        self.next_thread = self.next_thread.checked_add(u32::from(is_one))?;
        is_one.then_some(index)
    }

    /// Counts a process that was gone before it was seen. Returns whether there can have been so many.
    pub(crate) fn departed(&mut self) -> bool {
        self.departed += 1;
        let most = |since: u64| since.saturating_add(Self::IMAGES).saturating_mul(Self::IMAGES);
        self.departed <= most(self.since) || self.departed <= most(self.ask())
    }

    fn ask(&mut self) -> u64 {
        let since = self.before.and_then(|before| joins::ever_started()?.checked_sub(before));
        self.since = since.filter(|&since| since > 0).unwrap_or(Self::MOST_UNTOLD);
        self.since
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use heapwise_trace::live::layout::{CLOCK_PAUSED, CLOCK_STOPPED};

    fn place(n: u64) -> u64 {
        SESSION_HEADER_BYTES + n * ARENA_BYTES
    }

    #[test]
    fn a_ring_holds_a_power_of_two_and_no_more_than_its_place_in_the_list_allows() {
        for (claimed, index) in [(2 << 20, 0), (16 << 10, 0), (512 << 10, 8), (128 << 10, 64), (8, 1000)] {
            assert_eq!(capacity(claimed, index), Some(claimed));
        }
        for (claimed, index) in
            [(0, 0), (4, 0), (4 << 20, 0), (2 << 20, 8), (256 << 10, 64), (3 << 12, 0), (u64::MAX, 0)]
        {
            assert_eq!(capacity(claimed, index), None, "{claimed} {index}");
        }
    }

    #[test]
    fn arenas_are_where_they_are_handed_out_and_nowhere_else() {
        assert_eq!(arena(place(0)), Some(place(0)..place(1)));
        let last = (SESSION_BYTES - SESSION_HEADER_BYTES) / ARENA_BYTES;
        assert!(arena(place(last - 1)).is_some());
        let others = [0, 4096, place(0) - 4096, place(0) + 8, place(3) + 4096, place(last), SESSION_BYTES];
        for other in others.into_iter().chain([u64::MAX, u64::MAX - ARENA_BYTES + 1, 1 << 63]) {
            assert_eq!(arena(other), None, "{other:#x}");
        }
    }

    /// Follows a list that is made of these links.
    fn follow(newest: u64, links: &[(u64, u64)], known: &[u64]) -> (Vec<u64>, Option<String>) {
        let previous = |at| links.iter().find(|(from, _)| *from == at).map(|(_, to)| *to);
        headers(newest, |at| known.contains(&at), previous)
    }

    #[test]
    fn a_list_is_followed_in_any_order_and_to_what_is_known() {
        // The third one has published itself before the second one.
        let links = [(place(1), place(2)), (place(2), place(0)), (place(0), 0)];
        assert_eq!(follow(place(1), &links, &[]), (vec![place(1), place(2), place(0)], None));
        assert_eq!(follow(place(1), &links, &[place(0)]), (vec![place(1), place(2)], None));
        assert_eq!(follow(0, &links, &[]), (vec![], None));
    }

    #[test]
    fn a_list_that_leads_nowhere_or_round_ends() {
        for (newest, links, kept) in [
            (place(1), vec![(place(1), place(1))], 1),
            (place(1), vec![(place(1), place(2)), (place(2), place(1))], 2),
            (place(1), vec![(place(1), place(1) + 64)], 1),
            (place(1), vec![(place(1), SESSION_BYTES)], 1),
            (u64::MAX, vec![], 0),
            (64, vec![], 0),
            (place(5), vec![], 0),
        ] {
            let (found, why) = follow(newest, &links, &[]);
            assert_eq!(found.len(), kept, "{links:x?}");
            assert!(why.is_some(), "{links:x?}");
        }
        let (found, why) = headers(place(0), |_| false, |at| Some(at + ARENA_BYTES));
        assert_eq!((found.len(), why), (MOST_HEADERS, None), "the others are for the next time");
    }

    #[test]
    fn memory_is_in_use_for_one_thing() {
        let mut extents = Extents::default();
        assert!(extents.take(1000, 100) && extents.take(1100, 100) && extents.take(900, 100));
        for (offset, len) in
            [(1000, 100), (1050, 10), (950, 100), (1199, 1), (0, 5000), (u64::MAX, 2), (5, 0)]
        {
            assert!(!extents.take(offset, len), "{offset} {len}");
        }
        assert!(extents.take(0, 900) && extents.take(1200, 1));
    }

    #[test]
    fn a_text_has_no_more_bytes_than_its_place() {
        let bytes = b"glibc\0\xff".map(AtomicU8::new);
        let text = |len| text(&bytes, &AtomicU32::new(len));
        assert_eq!((text(5).as_str(), text(0).as_str()), ("glibc", ""));
        assert_eq!((text(7).as_str(), text(u32::MAX)), ("glibc\0\u{fffd}", text(7)));
        assert_eq!((at_most(&AtomicU32::new(9), 10), at_most(&AtomicU32::new(u32::MAX), 10)), (9, 10));
    }

    #[test]
    fn a_ring_holds_no_more_than_it_has_room_for() {
        assert_eq!(unread(4096, 4000, 4096), Some(96));
        for (head, tail) in [(0, 8), (5000, 0), (u64::MAX, 0), (4, 0)] {
            assert_eq!(unread(head, tail, 4096), None, "{head} {tail}");
        }
    }

    fn record(len: u32, path_len: u32, path: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; MODULE_RECORD_HEADER];
        bytes[..4].copy_from_slice(&len.to_le_bytes());
        bytes[36..40].copy_from_slice(&path_len.to_le_bytes());
        bytes.extend_from_slice(path);
        bytes
    }

    #[test]
    fn a_module_has_no_more_path_than_its_record() {
        let whole = record(80, 5, b"/a.so\0\0\0");
        let (module, used) = module_record(&whole, ProcessIndex(0)).expect("a record");
        assert_eq!((module.path.as_str(), used), ("/a.so", 80));
        let long = [b'x'; 4096];
        for (len, path_len) in [(72, 4096), (0, 0), (71, 0), (u32::MAX, 1), (80, u32::MAX)] {
            assert!(
                module_record(&record(len, path_len, &long), ProcessIndex(0)).is_none(),
                "{len} {path_len}"
            );
        }
        assert!(module_record(&whole[..60], ProcessIndex(0)).is_none());
    }

    #[test]
    fn a_clock_goes_on_by_small_steps_and_keeps_its_flags() {
        let mut clock = Clock::new(1);
        assert_eq!(clock.moved(1), Ok(Epoch(2)));
        assert_eq!(clock.moved(500), Ok(Epoch(501)), "threads have moved it");
        for found in [3, 0, 1 << 50, u64::MAX, 501 | CLOCK_STOPPED, 501 | CLOCK_PAUSED] {
            let last = clock.now().0;
            assert_eq!(clock.moved(found), Err(last + 1), "{found:#x}");
        }
        clock.flags = CLOCK_STOPPED;
        assert_eq!(clock.moved(clock.now().0 | CLOCK_STOPPED), Ok(clock.now()));
    }

    #[test]
    fn nothing_joins_later_than_now() {
        let mut clock = Clock::new(7 | CLOCK_PAUSED);
        for claimed in [0, 5, 7] {
            assert_eq!(clock.joined(claimed, 7 | CLOCK_PAUSED), Ok(Epoch(claimed)));
        }
        assert_eq!(clock.joined(9, 9 | CLOCK_PAUSED), Ok(Epoch(9)), "threads have moved the clock");
        for claimed in [8, 1 << 60, u64::MAX] {
            assert_eq!(clock.joined(claimed, 7 | CLOCK_PAUSED), Err(Epoch(7)), "{claimed:#x}");
        }
        assert!(clock.moved(100 | CLOCK_PAUSED).is_ok());
        assert_eq!(clock.joined(u64::MAX, u64::MAX), Err(Epoch(101)), "the shared clock is wrong, too");
    }

    #[test]
    fn arenas_are_handed_out_from_a_number_that_only_grows() {
        let mut next = NextArena(place(0));
        assert_eq!(next.found(place(0)), Ok(()));
        assert_eq!(next.found(place(9)), Ok(()));
        for found in [place(8), 0, 77, place(9) + 8, u64::MAX, place(9) + (1 << 50)] {
            let before = next.0;
            let put_right = next.found(found).expect_err("it cannot be");
            assert!(put_right > before && arena(put_right).is_some(), "{found:#x}");
        }
    }

    #[test]
    fn no_more_threads_are_believed_than_the_system_has_started() {
        let mut started = Started::new(joins::ever_started());
        started.add(3);
        let here = std::thread::spawn(|| ()).join();
        assert!(here.is_ok());
        let many = (0..100_000).map_while(|_| started.thread()).count();
        assert!((4..100_000).contains(&many), "{many}");
        std::thread::spawn(|| ()).join().expect("a thread");
        assert!(started.thread().is_some(), "one more was started");
        assert!((0..10_000_000).any(|_| !started.departed()));
    }
}

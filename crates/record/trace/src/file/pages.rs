//! Which pages of a process were resident at a moment, and what the allocator makes of request sizes.
//!
//! A *snapshot* lists the mappings of a process from `/proc/PID/maps`. Of those that may belong to a heap it has
//! the runs of resident pages, of the others only how many there are: no report needs to know which pages of a
//! library were resident, and the runs of a heap say which of its free memory costs something.

use super::cursor::{Cursor, Put};
use super::limits::{Excess, MOST_MAPPINGS, MOST_RUNS, MOST_USABLE_SIZES};
use super::records::ProcessIndex;
use crate::event::{AllocatorNumber, Epoch};

/// Why a snapshot was taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reason {
    /// The resident set was higher than at the snapshot before.
    #[default]
    Grown,
    /// It was requested.
    Requested,
    /// The process was about to end, or a while had passed since the one before.
    Latest,
    /// Recording began in the middle of its life: what is resident now was there before.
    Begin,
}

/// What a mapping is, as far as it is known from outside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MappingKind {
    /// Private memory without a file: heaps, and whatever else a program maps.
    #[default]
    Anonymous,
    /// The memory below the program break.
    Break,
    /// The stack of the first thread.
    MainStack,
    /// The stack and the thread-local memory of another thread.
    ThreadStack,
    /// What the recorder keeps in the program.
    Recorder,
    /// A file, or memory that processes share.
    File,
    /// Anonymous, and mapped by an allocator other than glibc's: a heap or its metadata.
    Allocator,
}

impl MappingKind {
    const ALL: [Self; 7] = [
        Self::Anonymous,
        Self::Break,
        Self::MainStack,
        Self::ThreadStack,
        Self::Recorder,
        Self::File,
        Self::Allocator,
    ];

    /// Whether blocks may lie in it.
    pub fn may_be_heap(self) -> bool {
        matches!(self, Self::Anonymous | Self::Break | Self::Allocator)
    }
}

/// Pages that follow each other, all resident.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PageRun {
    /// Address of the first one.
    pub start: u64,
    pub pages: u64,
    /// Whether they are parts of huge pages.
    pub huge: bool,
}

/// A mapping and what of it is resident.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MappedPages {
    /// First address.
    pub start: u64,
    /// First address behind.
    pub end: u64,
    pub kind: MappingKind,
    /// How many pages are resident.
    pub resident_pages: u64,
    /// Which, ascending; only of what may be heap.
    pub runs: Vec<PageRun>,
}

/// What was resident of a process at a moment.
///
/// Payload: process, epoch, time, reason, bytes of a page, resident bytes, lazily freed bytes, count, then per mapping:
/// start (pages behind the end of the one before), pages, kind, resident pages, count, then per run: pages between it and
/// the one before, pages × 2 + huge.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    pub process: ProcessIndex,
    /// Every event of an earlier epoch had happened, none of this one or a later one.
    pub epoch: Epoch,
    /// Nanoseconds since the command was started.
    pub time_ns: u64,
    pub reason: Reason,
    /// Bytes of a page.
    pub page_bytes: u64,
    /// Resident bytes as the kernel counts them, without the session's shared memory.
    pub rss_bytes: u64,
    /// Of these, bytes that the program has given up and the kernel not yet taken (`MADV_FREE`).
    pub lazily_freed_bytes: u64,
    /// The mappings, ascending.
    pub mappings: Vec<MappedPages>,
}

impl Snapshot {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let page = self.page_bytes.max(1);
        out.put(u64::from(self.process.0));
        out.put(self.epoch.0);
        out.put(self.time_ns);
        out.put(self.reason as u64);
        out.put(page);
        out.put(self.rss_bytes);
        out.put(self.lazily_freed_bytes);
        out.put(self.mappings.len() as u64);
        let mut before = 0;
        for mapping in &self.mappings {
            let (start, end) = (mapping.start / page, mapping.end / page);
            out.put(start.wrapping_sub(before));
            out.put(end.wrapping_sub(start));
            before = end;
            out.put(mapping.kind as u64);
            out.put(mapping.resident_pages);
            out.put(mapping.runs.len() as u64);
            let mut at = start;
            for run in &mapping.runs {
                out.put((run.start / page).wrapping_sub(at));
                out.put(run.pages << 1 | u64::from(run.huge));
                at = run.start / page + run.pages;
            }
        }
        out
    }

    pub(crate) fn decode(payload: &[u8], excess: &mut Excess) -> Option<Self> {
        /// Pages of the address space: what lies beyond comes from a damaged recording.
        const MOST_PAGES: u64 = 1 << 52;
        /// Memory of a machine, 4 PiB: readers multiply such numbers.
        const MOST_BYTES: u64 = 1 << 52;
        let mut c = Cursor(payload);
        let mut snapshot = Self {
            process: ProcessIndex(u32::try_from(c.get()?).ok()?),
            epoch: Epoch(c.get()?),
            time_ns: c.get()?,
            reason: match c.get()? {
                1 => Reason::Requested,
                2 => Reason::Latest,
                3 => Reason::Begin,
                _ => Reason::Grown,
            },
            page_bytes: c.get()?,
            rss_bytes: c.get()?,
            lazily_freed_bytes: c.get()?,
            mappings: Vec::new(),
        };
        let page = snapshot.page_bytes;
        if !page.is_power_of_two() || page > 1 << 30 {
            return None;
        }
        if snapshot.rss_bytes > MOST_BYTES || snapshot.lazily_freed_bytes > MOST_BYTES {
            return None;
        }
        let mut resident_bytes = 0u64;
        let address = |pages: u64| pages.checked_mul(page).filter(|_| pages < MOST_PAGES);
        let mut at = 0u64;
        let mut n_runs = 0;
        for _ in 0..excess.count(&mut c, MOST_MAPPINGS, "mappings")? {
            let start = at.checked_add(c.get()?)?;
            let end = start.checked_add(c.get()?)?;
            let kind = MappingKind::ALL.get(usize::try_from(c.get()?).ok()?).copied().unwrap_or_default();
            let resident_pages = c.get()?;
            resident_bytes = resident_bytes.checked_add(resident_pages.checked_mul(page)?)?;
            if resident_bytes > MOST_BYTES {
                return None;
            }
            let mut runs = Vec::new();
            let mut page_at = start;
            let here = c.count()?;
            n_runs += here;
            excess.more(n_runs, MOST_RUNS, "runs of pages")?;
            for _ in 0..here {
                let first = page_at.checked_add(c.get()?)?;
                let pages = c.get()?;
                let run = PageRun { start: address(first)?, pages: pages >> 1, huge: pages & 1 != 0 };
                page_at = first.checked_add(run.pages)?;
                // Readers go from page to page, so a run must not lead out of its mapping.
                if page_at > end {
                    return None;
                }
                runs.push(run);
            }
            let (start_address, end_address) = (address(start)?, address(end)?);
            snapshot.mappings.push(MappedPages {
                start: start_address,
                end: end_address,
                kind,
                resident_pages,
                runs,
            });
            at = end;
        }
        c.is_empty().then_some(snapshot)
    }
}

/// How large blocks really are: what `malloc_usable_size` says, for one allocator with its settings.
///
/// Payload: allocator, bytes of a block's header, count, then the sizes: signed difference to the difference before; then the number, if
/// it is another one than 0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UsableSizes {
    /// Path of the object that provides `malloc`, as in [`super::records::ProcessInfo::allocator`]. For one with a number, which build
    /// was measured in its place, or by which function it says its own.
    pub allocator: String,
    /// The allocator's number in events. One with a number is inside of a program and cannot be measured alone: another build of the
    /// same allocator was, and what it says holds as far as the two are alike.
    pub number: AllocatorNumber,
    /// Bytes that the allocator keeps in front of each block, in the block's own pages.
    pub header_bytes: u64,
    /// All sizes that blocks have, ascending. Beyond the last one they go on in steps like the last.
    pub sizes: Vec<u64>,
}

impl UsableSizes {
    /// The usable bytes of a block that was requested with this size.
    pub fn of(&self, requested: u64) -> u64 {
        if let Some(&usable) = self.sizes.get(self.place_of(requested)) {
            return usable;
        }
        let [.., before, last] = self.sizes.as_slice() else { return requested };
        let step = last.wrapping_sub(*before).max(1);
        let beyond = requested.saturating_sub(*last);
        last.saturating_add(beyond.div_ceil(step).saturating_mul(step))
    }

    /// The index of the smallest size that is large enough.
    ///
    /// PERF: those of glibc, and the small ones of others, are equally far apart. Then the place need not be searched for.
    #[inline]
    fn place_of(&self, requested: u64) -> usize {
        if let [first, second, ..] = self.sizes.as_slice() {
            let step = second.wrapping_sub(*first).max(1);
            let at = requested.saturating_sub(*first).div_ceil(step) as usize;
            let is_enough = |at: usize| self.sizes.get(at).is_some_and(|&usable| usable >= requested);
            if is_enough(at) && (at == 0 || !is_enough(at - 1)) {
                return at;
            }
        }
        self.sizes.partition_point(|&usable| usable < requested)
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        out.put_bytes(self.allocator.as_bytes());
        out.put(self.header_bytes);
        out.put(self.sizes.len() as u64);
        let (mut before, mut step) = (0u64, 0u64);
        for &size in &self.sizes {
            let difference = size.wrapping_sub(before);
            out.put_signed(difference.wrapping_sub(step) as i64);
            (before, step) = (size, difference);
        }
        if self.number != AllocatorNumber::BY_NAME {
            out.put(u64::from(self.number.0));
        }
        out
    }

    pub(crate) fn decode(payload: &[u8], excess: &mut Excess) -> Option<Self> {
        let mut c = Cursor(payload);
        let allocator = String::from_utf8_lossy(c.bytes()?).into_owned();
        let header_bytes = c.get()?;
        let (mut before, mut step) = (0u64, 0u64);
        let mut sizes = Vec::new();
        for _ in 0..excess.count(&mut c, MOST_USABLE_SIZES, "sizes of blocks")? {
            step = step.wrapping_add(c.get_signed()? as u64);
            let size = before.checked_add(step).filter(|&size| size > before)?;
            sizes.push(size);
            before = size;
        }
        let number = if c.is_empty() { 0 } else { u8::try_from(c.get()?).ok()? };
        let is_known = number <= AllocatorNumber::OTHERS.0;
        (c.is_empty() && is_known).then_some(Self {
            allocator,
            number: AllocatorNumber(number),
            header_bytes,
            sizes,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn snapshot() -> impl Strategy<Value = Snapshot> {
        let run = (0u64..5, 1u64..9, any::<bool>());
        let mapping = (0u64..100, 0usize..7, proptest::collection::vec(run, 0..5));
        (proptest::collection::vec(mapping, 0..6), 0usize..3).prop_map(|(mappings, reason)| {
            let mut at = 0x5555;
            let mappings = mappings.into_iter().map(|(gap, kind, runs)| {
                let start = at + gap;
                let mut page = start;
                let runs: Vec<_> = runs
                    .into_iter()
                    .map(|(gap, pages, huge)| {
                        let run = PageRun { start: (page + gap) * 4096, pages, huge };
                        page += gap + pages;
                        run
                    })
                    .collect();
                at = page + 3;
                MappedPages {
                    start: start * 4096,
                    end: at * 4096,
                    kind: MappingKind::ALL[kind],
                    resident_pages: runs.iter().map(|r| r.pages).sum(),
                    runs,
                }
            });
            Snapshot {
                process: ProcessIndex(3),
                epoch: Epoch(77),
                time_ns: 12345,
                reason: [Reason::Grown, Reason::Requested, Reason::Latest][reason],
                page_bytes: 4096,
                rss_bytes: 1 << 30,
                lazily_freed_bytes: 4096,
                mappings: mappings.collect(),
            }
        })
    }

    proptest! {
        #[test]
        fn snapshots_survive(snapshot in snapshot()) {
            prop_assert_eq!(Snapshot::decode(&snapshot.encode(), &mut Excess::default()), Some(snapshot));
        }

        #[test]
        fn garbage_is_none_not_a_panic(bytes: Vec<u8>, snapshot in snapshot(), at: prop::sample::Index, change: u8) {
            let _ = Snapshot::decode(&bytes, &mut Excess::default());
            let _ = UsableSizes::decode(&bytes, &mut Excess::default());
            let mut payload = snapshot.encode();
            let at = at.index(payload.len());
            payload[at] ^= change;
            if let Some(decoded) = Snapshot::decode(&payload, &mut Excess::default()) {
                let inside = |m: &MappedPages| m.runs.iter().all(|r| {
                    r.start >= m.start && r.start + r.pages * decoded.page_bytes <= m.end
                });
                prop_assert!(decoded.mappings.iter().all(inside));
            }
        }

        #[test]
        fn usable_sizes_survive(steps in proptest::collection::vec(1u64..5000, 0..50), number in 0u8..64) {
            let sizes: Vec<u64> = steps.iter().scan(0, |sum, step| { *sum += step; Some(*sum) }).collect();
            let number = AllocatorNumber(number);
            let usable = UsableSizes { allocator: "/lib/x.so".into(), number, header_bytes: 8, sizes };
            prop_assert_eq!(UsableSizes::decode(&usable.encode(), &mut Excess::default()), Some(usable));
        }

        #[test]
        fn a_block_has_the_smallest_size_that_is_enough(
            (first, step, equal) in (1u64..100, 1u64..100, 0usize..40),
            steps in proptest::collection::vec(1u64..500, 0..40),
        ) {
            let steps = [first].into_iter().chain(std::iter::repeat_n(step, equal)).chain(steps);
            let sizes: Vec<u64> = steps.scan(0, |sum, step| { *sum += step; Some(*sum) }).collect();
            let usable = UsableSizes { sizes: sizes.clone(), ..UsableSizes::default() };
            for requested in 0..=*sizes.last().expect("there is one") {
                prop_assert_eq!(Some(usable.of(requested)), sizes.iter().copied().find(|&size| size >= requested));
            }
        }
    }

    #[test]
    fn the_examples_of_the_documentation_are_true() {
        let run = PageRun { start: 16 << 12, pages: 2, huge: false };
        let mapping = MappedPages {
            start: 16 << 12,
            end: 20 << 12,
            kind: MappingKind::Anonymous,
            resident_pages: 2,
            runs: vec![run],
        };
        let snapshot = Snapshot {
            process: ProcessIndex(0),
            epoch: Epoch(5),
            time_ns: 1000,
            reason: Reason::Grown,
            page_bytes: 4096,
            rss_bytes: 8192,
            lazily_freed_bytes: 0,
            mappings: vec![mapping],
        };
        let expected = [0, 5, 0xe8, 7, 0, 0x80, 0x20, 0x80, 0x40, 0, 1, 0x10, 4, 0, 2, 1, 0, 4];
        assert_eq!(snapshot.encode(), expected);
        let sizes = vec![24, 40, 56];
        let mut sizes =
            UsableSizes { allocator: "/l".into(), header_bytes: 8, sizes, ..UsableSizes::default() };
        assert_eq!(sizes.encode(), [2, 0x2f, 0x6c, 8, 3, 0x30, 0x0f, 0]);
        sizes.number = AllocatorNumber(5);
        assert_eq!(sizes.encode(), [2, 0x2f, 0x6c, 8, 3, 0x30, 0x0f, 0, 5]);
    }

    #[test]
    fn a_size_is_rounded_to_the_next_class() {
        let usable = UsableSizes { sizes: vec![8, 16, 32, 48], ..UsableSizes::default() };
        let rounded: Vec<u64> = [0, 1, 8, 9, 17, 48, 49, 65].map(|n| usable.of(n)).into();
        assert_eq!(rounded, [8, 8, 8, 16, 32, 48, 64, 80]);
        assert_eq!(UsableSizes::default().of(77), 77, "without a table a block is as large as was asked for");
    }
}

//! Which pages of a process are resident, asked from outside.
//!
//! The mappings come from `/proc/PID/maps`, the pages from the ioctl `PAGEMAP_SCAN` (Linux 6.7 and later, 10 ms for a
//! gibibyte of small pages, next to nothing for what is sparse), or where that is missing from `/proc/PID/pagemap` of the
//! mappings that may be heap. The process goes on meanwhile. What it does in these milliseconds belongs to the epoch that
//! the snapshot begins, so live blocks and pages differ by that at most.

use crate::images::Images;
use crate::maps::{Line, line};
use crate::sys::{self, PageRange};
use heapwise_trace::event::Epoch;
use heapwise_trace::file::pages::{MappedPages, MappingKind, PageRun, Reason, Snapshot};
use heapwise_trace::file::records::ProcessIndex;
use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::ops::Range;

/// What is known of a process besides what the kernel says.
#[derive(Debug)]
pub(crate) struct Subject<'a> {
    pub(crate) pid: u32,
    pub(crate) process: ProcessIndex,
    /// Thread pointers of its threads but the first. They lie at the top of the threads' stacks.
    pub(crate) thread_pointers: &'a [u64],
    /// The same of threads that have ended, ascending: the C library keeps their stacks for new ones.
    pub(crate) former_pointers: &'a [u64],
    /// Memory that the recorder keeps in it.
    pub(crate) recorder: &'a [Range<u64>],
    /// What its allocator has mapped, if that is not glibc's.
    pub(crate) allocator: &'a [Range<u64>],
    /// Inode of the session's shared memory, which is not the process's own.
    pub(crate) session_inode: u64,
    pub(crate) page_bytes: u64,
}

/// Takes a snapshot of a process of ours whose private memory, but for stacks, belongs to its allocator. `shared_inode`
/// is that of a file whose pages do not count, and `thread_pointers` are those of its threads but the first.
///
/// # Errors
/// The kernel's: the process is gone.
pub fn of_worker(pid: u32, shared_inode: u64, thread_pointers: &[u64]) -> io::Result<Snapshot> {
    let everywhere = 0..1 << 47;
    let subject = Subject {
        pid,
        process: ProcessIndex(0),
        thread_pointers,
        former_pointers: &[],
        recorder: &[],
        allocator: std::slice::from_ref(&everywhere),
        session_inode: shared_inode,
        page_bytes: crate::page_bytes(),
    };
    subject.snapshot(None, Epoch(0), 0, Reason::Requested)
}

/// What a process touches and returns during the snapshot is a noticeable share, so the kernel's sum is read before and after. In
/// processes above this size adding it up once more costs too much: there the kernel's running count has to do, which lags behind by
/// some dozens of pages for each processor.
const SMALL: u64 = 256 << 20;
/// How far above its thread pointer a thread's control block may reach (`struct pthread` of glibc has 2.3 KiB).
const CONTROL_BLOCK_BYTES: u64 = 4096;

impl Subject<'_> {
    /// Asks the kernel. Static data is kept apart from other anonymous memory if there are `images` to look it up in.
    ///
    /// # Errors
    /// The kernel's: the process is gone, or may not be looked at.
    pub(crate) fn snapshot(
        &self,
        images: Option<&mut Images>,
        epoch: Epoch,
        time_ns: u64,
        reason: Reason,
    ) -> io::Result<Snapshot> {
        let before = rollup(self.pid)?;
        let maps = std::fs::read_to_string(format!("/proc/{}/maps", self.pid))?;
        let mut lines: Vec<Line<'_>> = maps.lines().filter_map(line).collect();
        // The list is read in pieces while the process goes on, so a mapping that grew may be listed twice.
        let mut listed_to = 0;
        for line in &mut lines {
            line.range.start = line.range.start.max(listed_to).min(line.range.end);
            listed_to = line.range.end.max(listed_to);
        }
        lines.retain(|line| !line.range.is_empty());
        let loaded =
            images.map(|images| images.loaded(self.pid, &lines, self.page_bytes)).unwrap_or_default();
        let shapes = self.shapes_of_stacks(&lines);
        let mut below = None;
        let mut mappings: Vec<MappedPages> = Vec::with_capacity(lines.len());
        for line in &lines {
            mappings.extend(self.mappings_of(line, below.replace(line), &loaded, &shapes));
        }
        let is_session =
            |address: u64| lines.iter().any(|l| l.inode == self.session_inode && l.range.contains(&address));
        let pagemap = File::open(format!("/proc/{}/pagemap", self.pid))?;
        let mut session_pages = 0;
        let mut found = |mut range: PageRange| {
            // The kernel's ranges go on over the borders that were drawn here.
            while range.start < range.end {
                let part = match mapping_at(&mut mappings, range.start) {
                    Some(mapping) => {
                        let part = PageRange { end: range.end.min(mapping.end), ..range };
                        add(mapping, &part, self.page_bytes);
                        part
                    }
                    None if is_session(range.start) => {
                        session_pages += range.pages(self.page_bytes);
                        range
                    }
                    // Mapped since the list was read: it is part of what stays unaccounted for.
                    None => range,
                };
                range.start = part.end;
            }
        };
        if sys::scan_resident(&pagemap, &mut found).is_err() {
            for line in lines.iter().filter(|l| l.inode == 0 && !l.shared) {
                sys::read_resident(&pagemap, line.range.clone(), self.page_bytes, &mut found)?;
            }
        }
        let after = match before.rss_bytes {
            ..SMALL => rollup(self.pid)?,
            _ => Rollup { rss_bytes: self.counted().unwrap_or(before.rss_bytes), ..before },
        };
        let seen = mappings.iter().map(|m| m.resident_pages).sum::<u64>() + session_pages;
        let (low, high) = (before.rss_bytes.min(after.rss_bytes), before.rss_bytes.max(after.rss_bytes));
        // Pages that add up to something between the two sums are all that there were at a moment in between.
        let rss_bytes = (seen * self.page_bytes).clamp(low, high);
        Ok(Snapshot {
            process: self.process,
            epoch,
            time_ns,
            reason,
            page_bytes: self.page_bytes,
            rss_bytes: rss_bytes.saturating_sub(session_pages * self.page_bytes),
            lazily_freed_bytes: after.lazily_freed_bytes,
            mappings,
        })
    }

    /// Resident bytes by the kernel's running count.
    fn counted(&self) -> Option<u64> {
        Some(sys::resident_pages(self.pid)? * self.page_bytes)
    }

    /// The lengths of the guards and stacks of threads that are there.
    fn shapes_of_stacks(&self, lines: &[Line<'_>]) -> BTreeSet<(u64, u64)> {
        let pairs = lines
            .windows(2)
            .filter_map(|pair| shape(Some(&pair[0]), &pair[1]).map(|shape| (shape, &pair[1])));
        let has_thread = |line: &Line<'_>| {
            let former = self.former_pointers.partition_point(|&pointer| pointer < line.range.start);
            self.former_pointers.get(former).is_some_and(|pointer| line.range.contains(pointer))
                || self.thread_pointers.iter().any(|pointer| line.range.contains(pointer))
        };
        pairs.filter(|(_, line)| has_thread(line)).map(|(shape, _)| shape).collect()
    }

    /// What a line stands for: one mapping, or several if stacks, static data or memory of the recorder have grown together
    /// with others in it, as the kernel lets neighbours do. The session's memory stands for none. `below` is the line before,
    /// `loaded` are the ranges of object files, and `shapes` those of stacks.
    fn mappings_of(
        &self,
        line: &Line<'_>,
        below: Option<&Line<'_>>,
        loaded: &[Range<u64>],
        shapes: &BTreeSet<(u64, u64)>,
    ) -> Vec<MappedPages> {
        if line.inode == self.session_inode {
            return Vec::new();
        }
        let whole = |kind| vec![mapping(line.range.clone(), kind)];
        match line.name {
            "[heap]" => return whole(MappingKind::Break),
            "[stack]" => return whole(MappingKind::MainStack),
            // The kernel's own pages, such as [vdso]. Names that a program gives to memory begin with "[anon:".
            name if name.starts_with("[v") => return whole(MappingKind::File),
            _ if line.shared || line.inode != 0 => return whole(MappingKind::File),
            _ => {}
        }
        let mut parts: Vec<(Range<u64>, MappingKind)> = Vec::new();
        // A stack begins behind a guard page, so with the line, and ends with the control block.
        let within_line = |pointer: &&u64| line.range.contains(*pointer);
        let shape = shape(below, line);
        let stack = self.thread_pointers.iter().find(within_line);
        // Where a thread has ended, something else may be by now; but not many things have a guard below them.
        let first = self.former_pointers.partition_point(|&pointer| pointer < line.range.start);
        let former = || self.former_pointers.get(first).filter(within_line).filter(|_| shape.is_some());
        if let Some(pointer) = stack.or_else(former) {
            let end = (pointer + CONTROL_BLOCK_BYTES).next_multiple_of(self.page_bytes);
            parts.push((line.range.start..end.min(line.range.end), MappingKind::ThreadStack));
        } else if shape.is_some_and(|shape| shapes.contains(&shape)) {
            // The C library keeps stacks for new threads. Of a thread that was never there at a snapshot no pointer is known.
            parts.push((line.range.clone(), MappingKind::ThreadStack));
        }
        let page = self.page_bytes;
        let within = |ranges: &[Range<u64>], kind: MappingKind| -> Vec<(Range<u64>, MappingKind)> {
            // Cut first: what a process says may end anywhere.
            let cut = |r: &Range<u64>| {
                r.start.max(line.range.start)..r.end.min(line.range.end).next_multiple_of(page)
            };
            ranges.iter().map(cut).filter(|r| r.start < r.end).map(|r| (r, kind)).collect()
        };
        // What lies anonymous within an object file is the part of its static data that the file has no bytes of.
        parts.extend(within(loaded, MappingKind::File));
        parts.extend(within(self.recorder, MappingKind::Recorder));
        parts.extend(within(self.allocator, MappingKind::Allocator));
        parts.sort_by_key(|(range, _)| range.start);
        let mut mappings = Vec::new();
        let mut at = line.range.start;
        for (range, kind) in parts {
            // Parts may overlap: what was mapped once may have been unmapped and be something else by now.
            if range.start > at {
                mappings.push(mapping(at..range.start, MappingKind::Anonymous));
            }
            if range.end > range.start.max(at) {
                mappings.push(mapping(range.start.max(at)..range.end, kind));
                at = range.end;
            }
        }
        if at < line.range.end {
            mappings.push(mapping(at..line.range.end, MappingKind::Anonymous));
        }
        mappings
    }
}

/// The lengths of what is closed right below a line and of the line, as a stack and its guard have.
fn shape(below: Option<&Line<'_>>, line: &Line<'_>) -> Option<(u64, u64)> {
    let len = |line: &Line<'_>| line.range.end - line.range.start;
    let guard = below.filter(|below| below.closed && below.range.end == line.range.start)?;
    (!line.closed && !line.shared && line.inode == 0 && line.name.is_empty()).then(|| (len(guard), len(line)))
}

fn mapping(range: Range<u64>, kind: MappingKind) -> MappedPages {
    MappedPages { start: range.start, end: range.end, kind, ..MappedPages::default() }
}

fn mapping_at(mappings: &mut [MappedPages], address: u64) -> Option<&mut MappedPages> {
    let after = mappings.partition_point(|m| m.start <= address);
    mappings[..after].last_mut().filter(|m| address < m.end)
}

fn add(mapping: &mut MappedPages, range: &PageRange, page_bytes: u64) {
    let pages = range.pages(page_bytes);
    mapping.resident_pages += pages;
    if mapping.kind.may_be_heap() {
        mapping.runs.push(PageRun { start: range.start, pages, huge: range.huge });
    }
}

/// Sums over a whole process.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rollup {
    pub(crate) rss_bytes: u64,
    /// Each page divided by the number of processes that have it.
    pub(crate) pss_bytes: u64,
    lazily_freed_bytes: u64,
}

pub(crate) fn rollup(pid: u32) -> io::Result<Rollup> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup"))?;
    let field = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        let kib: Option<u64> = line.and_then(|l| l.trim().trim_end_matches(" kB").trim().parse().ok());
        kib.unwrap_or(0) << 10
    };
    Ok(Rollup { rss_bytes: field("Rss:"), pss_bytes: field("Pss:"), lazily_freed_bytes: field("LazyFree:") })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subject<'a>(thread_pointers: &'a [u64], recorder: &'a [Range<u64>]) -> Subject<'a> {
        let (pid, process) = (std::process::id(), ProcessIndex(0));
        Subject {
            pid,
            process,
            thread_pointers,
            former_pointers: &[0x57100],
            recorder,
            allocator: &[],
            session_inode: 99,
            page_bytes: 4096,
        }
    }

    fn look() -> Snapshot {
        let snapshot =
            subject(&[], &[]).snapshot(Some(&mut Images::default()), Epoch(7), 0, Reason::Requested);
        snapshot.expect("we may look at ourselves")
    }

    type Parts = Vec<(u64, u64, MappingKind)>;

    fn parts(text: &str, below: &str, recorder: &[Range<u64>], loaded: &[Range<u64>]) -> Parts {
        let (line, below) = (line(text).expect("a line"), line(below));
        let shapes = BTreeSet::from([(0x1000, 0x8000)]);
        let parts = subject(&[0x17100], recorder).mappings_of(&line, below.as_ref(), loaded, &shapes);
        parts.iter().map(|m| (m.start, m.end, m.kind)).collect()
    }

    #[test]
    fn stacks_and_the_recorders_memory_are_cut_out_of_what_they_grew_together_with() {
        let recorder = [0x20000..0x22000, 0x90000..0x92000];
        assert_eq!(
            parts("10000-40000 rw-p 00000000 00:00 0", "", &recorder, &[]),
            [
                (0x10000, 0x19000, MappingKind::ThreadStack),
                (0x19000, 0x20000, MappingKind::Anonymous),
                (0x20000, 0x22000, MappingKind::Recorder),
                (0x22000, 0x40000, MappingKind::Anonymous),
            ]
        );
    }

    #[test]
    fn a_stack_that_is_kept_for_a_new_thread_is_one_if_a_guard_is_below_it() {
        let stack = "50000-59000 rw-p 00000000 00:00 0";
        let guarded = parts(stack, "4f000-50000 ---p 00000000 00:00 0", &[], &[]);
        assert_eq!(guarded, [(0x50000, 0x59000, MappingKind::ThreadStack)]);
        for below in ["4f000-50000 rw-p 00000000 00:00 0", "4e000-4f000 ---p 00000000 00:00 0"] {
            assert_eq!(parts(stack, below, &[], &[]), [(0x50000, 0x59000, MappingKind::Anonymous)]);
        }
    }

    #[test]
    fn what_looks_as_the_stacks_of_known_threads_is_one() {
        let guard = "6f000-70000 ---p 00000000 00:00 0";
        let kept = parts("70000-78000 rw-p 00000000 00:00 0", guard, &[], &[]);
        assert_eq!(kept, [(0x70000, 0x78000, MappingKind::ThreadStack)]);
        for other in ["70000-79000 rw-p 00000000 00:00 0", "70000-78000 rw-p 00000000 00:00 0   [anon:arena]"]
        {
            assert!(
                parts(other, guard, &[], &[]).iter().all(|part| part.2 == MappingKind::Anonymous),
                "{other}"
            );
        }
        let text = ["10000-11000 ---p 00000000 00:00 0", "11000-18000 rw-p 00000000 00:00 0", guard];
        let lines: Vec<_> = text.iter().filter_map(|text| line(text)).collect();
        let shapes = subject(&[0x17100], &[]).shapes_of_stacks(&lines);
        assert_eq!(shapes, BTreeSet::from([(0x1000, 0x7000)]));
        assert_eq!(subject(&[0x27100], &[]).shapes_of_stacks(&lines), BTreeSet::new());
    }

    #[test]
    fn static_data_belongs_to_its_file_and_what_grew_together_with_it_does_not() {
        let range = 0x60000..0x72000;
        let loaded = std::slice::from_ref(&range);
        assert_eq!(
            parts("70000-80000 rw-p 00000000 00:00 0", "", &[], loaded),
            [(0x70000, 0x72000, MappingKind::File), (0x72000, 0x80000, MappingKind::Anonymous)]
        );
        let kernels = parts("7ff00000-7ff02000 r-xp 00000000 00:00 0   [vdso]", "", &[], &[]);
        assert_eq!(kernels, [(0x7ff00000, 0x7ff02000, MappingKind::File)]);
        let named = parts("90000-91000 rw-p 00000000 00:00 0   [anon:v8]", "", &[], &[]);
        assert_eq!(named, [(0x90000, 0x91000, MappingKind::Anonymous)]);
    }

    #[test]
    fn many_runs_of_pages_are_each_reported_once() {
        let pages = 6000;
        // Every second page is touched, so that there are more runs than any buffer holds.
        let mut memory: Vec<u8> = Vec::with_capacity((2 * pages + 1) * 4096);
        let spare = memory.spare_capacity_mut();
        let first = spare.as_ptr().align_offset(4096);
        (0..pages).for_each(|page| _ = spare[first + page * 2 * 4096].write(1));
        let (start, end) = {
            let start = spare.as_ptr() as u64 + first as u64;
            (start, start + 2 * pages as u64 * 4096)
        };
        let snapshot = look();
        let runs: Vec<_> = snapshot.mappings.iter().flat_map(|m| &m.runs).collect();
        assert!(runs.is_sorted_by(|a, b| a.start + a.pages * 4096 <= b.start), "no page twice");
        let inside: Vec<_> = runs.iter().filter(|r| (start..end).contains(&r.start)).collect();
        // Where the system makes huge pages unasked, the gaps are resident, too.
        let touched: usize = inside.iter().map(|r| if r.huge { r.pages as usize / 2 } else { 1 }).sum();
        assert!(touched >= pages - 2, "{touched} of {pages} pages in {} runs", inside.len());
    }

    #[test]
    fn what_this_process_touched_is_resident_and_nothing_else() {
        let size = 64 * 4096;
        // Not zeroed, so that the allocator does not touch it; large, so that it has a separate mapping.
        let mut memory: Vec<u8> = Vec::with_capacity(1 << 30);
        memory.resize(size, 1);
        let start = (memory.as_ptr() as u64).next_multiple_of(4096);
        let snapshot = look();
        let mapping =
            snapshot.mappings.iter().find(|m| (m.start..m.end).contains(&start)).expect("it is mapped");
        let resident = |address: u64| {
            let inside = |r: &PageRun| (r.start..r.start + r.pages * 4096).contains(&address);
            mapping.runs.iter().any(inside)
        };
        assert!((0..63).all(|page| resident(start + page * 4096)));
        assert!(!resident(start + (512 << 20)), "never touched");
        let sum: u64 = snapshot.mappings.iter().map(|m| m.resident_pages * 4096).sum();
        let difference = sum.abs_diff(snapshot.rss_bytes);
        assert!(difference < 1 << 20, "{sum} pages' bytes, {} resident", snapshot.rss_bytes);
        drop(memory);
    }

    #[test]
    fn the_running_count_is_the_sum_but_for_what_lags_behind() {
        let memory = vec![1u8; 64 << 20];
        let (counted, summed) =
            (subject(&[], &[]).counted(), rollup(std::process::id()).expect("this process"));
        drop(memory);
        let difference = counted.expect("it runs").abs_diff(summed.rss_bytes);
        // Other tests allocate meanwhile.
        assert!(difference < 16 << 20, "{counted:?}, {summed:?}");
    }
}

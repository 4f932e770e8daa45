//! Which pages of a process are resident, asked from outside.
//!
//! The mappings come from `/proc/PID/maps`, the pages from the ioctl `PAGEMAP_SCAN` (Linux 6.7 and later, 10 ms for a
//! gibibyte of small pages, next to nothing for what is sparse), or where that is missing from `/proc/PID/pagemap` of the
//! mappings that may be heap. The process goes on meanwhile. What it does in these milliseconds belongs to the epoch that
//! the snapshot begins, so live blocks and pages differ by that at most.

use crate::maps::{Line, line};
use crate::sys::{self, PageRange};
use heapwise_trace::event::Epoch;
use heapwise_trace::file::pages::{MappedPages, MappingKind, PageRun, Reason, Snapshot};
use heapwise_trace::file::records::ProcessIndex;
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
        recorder: &[],
        allocator: std::slice::from_ref(&everywhere),
        session_inode: shared_inode,
        page_bytes: crate::page_bytes(),
    };
    subject.snapshot(Epoch(0), 0, Reason::Requested)
}

/// In a process up to this size, what it touches during the snapshot is a noticeable share, so the kernel's sum is read
/// before and after. In larger ones reading it costs more than it is worth.
const SMALL: u64 = 256 << 20;
/// How far above its thread pointer a thread's control block may reach (`struct pthread` of glibc has 2.3 KiB).
const CONTROL_BLOCK_BYTES: u64 = 4096;

impl Subject<'_> {
    /// Asks the kernel.
    ///
    /// # Errors
    /// The kernel's: the process is gone, or may not be looked at.
    pub(crate) fn snapshot(&self, epoch: Epoch, time_ns: u64, reason: Reason) -> io::Result<Snapshot> {
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
        let mut mappings: Vec<MappedPages> = lines.iter().flat_map(|line| self.mappings_of(line)).collect();
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
        let after = if before.rss_bytes < SMALL { rollup(self.pid)? } else { before };
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

    /// What a line stands for: one mapping, or several if stacks or memory of the recorder have grown together with
    /// others in it, as the kernel lets neighbours do. The session's memory stands for none.
    fn mappings_of(&self, line: &Line<'_>) -> Vec<MappedPages> {
        if line.inode == self.session_inode {
            return Vec::new();
        }
        let whole = |kind| vec![mapping(line.range.clone(), kind)];
        match line.name {
            "[heap]" => return whole(MappingKind::Break),
            "[stack]" => return whole(MappingKind::MainStack),
            _ if line.shared || line.inode != 0 => return whole(MappingKind::File),
            _ => {}
        }
        let mut parts: Vec<(Range<u64>, MappingKind)> = Vec::new();
        // A stack begins behind a guard page, so with the line, and ends with the control block.
        let stack = self.thread_pointers.iter().find(|&&pointer| line.range.contains(&pointer));
        if let Some(pointer) = stack {
            let end = (pointer + CONTROL_BLOCK_BYTES).next_multiple_of(self.page_bytes);
            parts.push((line.range.start..end.min(line.range.end), MappingKind::ThreadStack));
        }
        let page = self.page_bytes;
        let within = |ranges: &[Range<u64>], kind: MappingKind| -> Vec<(Range<u64>, MappingKind)> {
            // Cut first: what a process says may end anywhere.
            let cut = |r: &Range<u64>| {
                r.start.max(line.range.start)..r.end.min(line.range.end).next_multiple_of(page)
            };
            ranges.iter().map(cut).filter(|r| r.start < r.end).map(|r| (r, kind)).collect()
        };
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
            recorder,
            allocator: &[],
            session_inode: 99,
            page_bytes: 4096,
        }
    }

    #[test]
    fn stacks_and_the_recorders_memory_are_cut_out_of_what_they_grew_together_with() {
        let line = line("10000-40000 rw-p 00000000 00:00 0").expect("a line");
        let recorder = [0x20000..0x22000, 0x90000..0x92000];
        let parts: Vec<_> = subject(&[0x17100], &recorder).mappings_of(&line);
        let parts: Vec<_> = parts.iter().map(|m| (m.start, m.end, m.kind)).collect();
        assert_eq!(
            parts,
            [
                (0x10000, 0x19000, MappingKind::ThreadStack),
                (0x19000, 0x20000, MappingKind::Anonymous),
                (0x20000, 0x22000, MappingKind::Recorder),
                (0x22000, 0x40000, MappingKind::Anonymous),
            ]
        );
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
        let snapshot =
            subject(&[], &[]).snapshot(Epoch(7), 0, Reason::Requested).expect("we may look at ourselves");
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
        let snapshot =
            subject(&[], &[]).snapshot(Epoch(7), 0, Reason::Requested).expect("we may look at ourselves");
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
}

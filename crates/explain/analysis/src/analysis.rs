//! The tables.

use crate::accounting::{Accounting, Breakdown};
use crate::by_allocator::OfAllocator;
use crate::heap::{
    AllocatorTime, CallTimes, CarriedSums, FreedAfter, Lifetimes, Sampled, SizeClass, SizeSpread, Sizes,
    Variances,
};
use crate::marks::Marks;
use crate::residency::Pages;
use crate::stacks::frame::Frame;
use crate::stacks::modules::Images;
use crate::stacks::names::{FramesId, Names, StoredFrame};
use crate::stacks::owner::Owner;
use crate::stacks::stack_table::StackTable;
use crate::stacks::trie::{NodeId, Trie};
use crate::timeline::Timeline;
use crate::totals::Totals;
use crate::units::SiteId;
use crate::units::{Bytes, Nanos};
use crate::warning::Warning;
use heapwise_trace::event::{AllocatorNumber, StackId};
use heapwise_trace::file::records::{
    BlindSpot, EnvironmentFinding, Interception, Meta, ModuleInfo, ProcessIndex, RunEnd, ThreadIndex,
};
use heapwise_trace::file::tables::Symbols;

/// So many measured calls say what all of them take; the mean of fewer is that of the slowest of them.
const ENOUGH_MEASURED: u64 = 30;

/// Everything that a recording says.
#[derive(Debug)]
pub struct Analysis {
    pub meta: Meta,
    /// How it ended, if the recording says so.
    pub end: Option<RunEnd>,
    /// How long it took; without a recorded end, up to the last reading of the clock.
    pub duration: Nanos,
    /// Sums over everything. The peak is that of all processes together.
    pub totals: Totals,
    /// The processes, in the order in which they joined.
    pub processes: Vec<Process>,
    /// The threads, in the order in which they joined.
    pub threads: Vec<Thread>,
    /// Which threads freed blocks that others were handed, most blocks first. Bounded: of more than a few thousand
    /// pairs of threads the later ones are only counted in [`Analysis::other_handovers`].
    pub thread_matrix: Vec<Handover>,
    /// Blocks that were freed by another thread and are not in [`Analysis::thread_matrix`].
    pub other_handovers: u64,
    pub memory: Memory,
    /// Marks and spans of the program, and what it allocated meanwhile.
    pub marks: Marks,
    /// What resident memory consists of.
    pub accounting: Accounting,
    /// The part of each allocator in all of this, of those that have handed out blocks.
    pub allocators: Vec<OfAllocator>,
    /// If only a sample of the blocks was recorded: which, and how far the totals may be off.
    pub sampled: Option<Sampled>,
    /// Of a file that goes on with a recording: the blocks that were live when it began. They are in no number of requests.
    pub carried: CarriedSums,
    /// How large the requests were.
    pub sizes: Sizes,
    /// How far the captured stacks can be trusted.
    pub stacks: StackQuality,
    /// What could not be seen: known before the start, then found during the run.
    pub blind_spots: Vec<BlindSpot>,
    /// What slowed the heap from outside of the code: known before the start, then seen in processes that joined.
    pub environment: Vec<EnvironmentFinding>,
    /// What makes this incomplete or inexact.
    pub warnings: Vec<Warning>,
    /// Events that were read.
    pub n_events: u64,
    /// Call sites, most allocated bytes first.
    pub(crate) sites: Vec<Site>,
    pub(crate) residency: Pages,
    pub(crate) raw_sites: Vec<(NodeId, Site)>,
    /// Process and stack of each raw site, as they were recorded.
    pub(crate) stacks_of_raw: Vec<(u32, StackId)>,
    /// Site of each raw one.
    pub(crate) site_of_raw: Vec<SiteId>,
    pub(crate) images: Images,
    pub(crate) stack_table: StackTable,
    pub(crate) names: Names,
    pub(crate) symbols: Vec<Symbols>,
    pub(crate) stacks_by_name: Trie<FramesId>,
}

/// A recorded program image.
#[derive(Clone, Debug)]
pub struct Process {
    /// Its index in the recording.
    pub index: ProcessIndex,
    /// How many others the recording has mentioned before it.
    pub place: usize,
    pub pid: u32,
    /// Its parent's process id.
    pub parent_pid: u32,
    /// The process of which it is a fork.
    pub forked_from: Option<ProcessIndex>,
    pub command: Vec<String>,
    /// Path of the object that provides its `malloc`.
    pub allocator: String,
    /// Path of the library whose `malloc` is found by its name, if that is another one.
    pub by_name: String,
    /// Those that it has blocks of, with their live bytes when all processes together had most; the one with most first.
    pub allocators: Vec<(AllocatorNumber, Bytes)>,
    /// When it joined.
    pub start: Nanos,
    /// When its end was noticed, if it was.
    pub end: Option<Nanos>,
    /// Whether it was still running when the recording ended.
    pub still_running: bool,
    pub totals: Totals,
    /// Its object files.
    pub modules: Vec<ModuleInfo>,
}

/// Processor time of a process outside of its allocator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutsideTime {
    pub time: Nanos,
    /// Whether it may be less, since other processes were recorded as well.
    pub is_at_most: bool,
}

#[derive(Clone, Debug)]
pub struct Thread {
    /// Its index in the recording.
    pub index: ThreadIndex,
    /// Whose thread it is.
    pub process: ProcessIndex,
    pub tid: u32,
    /// Its last known name.
    pub name: String,
    /// Its sums; the live ones are of the blocks that it allocated.
    pub totals: Totals,
    /// Blocks that it allocated and another thread freed.
    pub freed_elsewhere_blocks: u64,
}

/// Blocks that one thread was handed and another one freed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Handover {
    /// Who was handed them.
    pub from: ThreadIndex,
    /// The thread that freed them.
    pub to: ThreadIndex,
    pub blocks: u64,
    /// Their bytes; not counted for a single site.
    pub bytes: Bytes,
}

#[derive(Clone, Debug, Default)]
pub struct Memory {
    /// Live bytes of all processes together.
    pub live: Timeline,
    /// Resident bytes of all processes together.
    pub rss: Timeline,
    /// The highest resident set.
    pub peak_rss: Bytes,
    /// Whether pages that processes share count once at that peak (PSS), and not for each of them.
    pub shared_pages_count_once: bool,
    /// When the live bytes were at their peak.
    pub live_peak_at: Nanos,
}

/// One moment of [`Memory::samples`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemorySample {
    pub time: Nanos,
    /// The most resident bytes in it, if they were measured.
    pub rss: Option<Bytes>,
    /// The most live bytes in it.
    pub live: Bytes,
}

impl Memory {
    /// Both curves on one axis of at most `most` points.
    pub fn samples(&self, most: usize) -> Vec<MemorySample> {
        let last = self.live.points().last().into_iter().chain(self.rss.points().last());
        let Some(end) = last.map(|p| p.0.0).max() else { return Vec::new() };
        let most = most.max(1) as u64;
        // A multiple of both widths, so that no point is split; each is a power of two times the same base.
        let mut width = self.live.width().0;
        if !self.rss.is_empty() {
            width = width.max(self.rss.width().0);
        }
        while end / width >= most {
            width *= 2;
        }
        let n = (end / width + 1) as usize;
        let highest = |timeline: &Timeline| {
            let mut cells: Vec<Option<Bytes>> = vec![None; n];
            for (time, level) in timeline.points() {
                let cell = &mut cells[(time.0 / width) as usize];
                *cell = (*cell).max(Some(level));
            }
            // A curve that ends earlier than the other stays at its last level.
            let mut level = None;
            cells.into_iter().map(move |cell| {
                level = cell.or(level);
                level
            })
        };
        let pairs = highest(&self.live).zip(highest(&self.rss)).enumerate();
        pairs
            .map(|(i, (live, rss))| MemorySample {
                time: Nanos(i as u64 * width),
                rss,
                live: live.unwrap_or_default(),
            })
            .collect()
    }
}

/// How far the captured stacks can be trusted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StackQuality {
    /// Events with a stack: allocations, reallocations, refusals.
    pub captures: u64,
    /// Of these, how many have one that ended before the thread's first function, or none.
    pub cut_captures: u64,
    /// Stacks that were compared with a full unwind.
    pub verified: u64,
    /// Of these, how many differed.
    pub verify_failed: u64,
}

impl StackQuality {
    /// Share of the captured stacks that ended early, 0 to 1.
    pub fn cut_share(&self) -> f64 {
        if self.captures == 0 { 0.0 } else { self.cut_captures as f64 / self.captures as f64 }
    }
}

/// A call site: all events with the same stack.
#[derive(Clone, Debug)]
pub struct Site {
    /// Its name in a report.
    pub id: SiteId,
    pub(crate) stack: NodeId,
    /// Which frame of its stack is the user's nearest one; see [`crate::owner`].
    pub user_frame: Option<usize>,
    /// The process it belongs to, if it is only one.
    pub process: Option<ProcessIndex>,
    /// Blocks that were handed out.
    pub allocations: u64,
    /// Requested bytes of allocations and reallocations.
    pub allocated_bytes: Bytes,
    /// Reallocations that were requested here.
    pub reallocations: u64,
    /// Blocks that belonged to this site when they were freed.
    pub deallocations: u64,
    /// Of these, how many their thread freed before it allocated again, or soon after.
    pub freed_after: FreedAfter,
    /// Of these, how many were freed by another thread.
    pub freed_on_other_thread: u64,
    /// Live bytes of this site at the moment of the overall peak.
    pub peak_bytes: Bytes,
    /// Live blocks of this site at the moment of the overall peak.
    pub peak_blocks: u64,
    /// The most live bytes that this site ever had. If it is that of several processes, or of several addresses with
    /// the same names, the sum of the most that each had: no less than the truth.
    pub most_live_bytes: Bytes,
    /// Live blocks at the moment of `most_live_bytes`.
    pub most_live_blocks: u64,
    /// Live bytes when the process ended.
    pub live_at_exit_bytes: Bytes,
    /// Live blocks when the process ended.
    pub live_at_exit_blocks: u64,
    /// How long the blocks that were freed had lived, since they were first handed out.
    pub lifetimes: Lifetimes,
    /// The most live blocks of this site at one time. Where several stacks are one site, at most so many.
    pub most_blocks: u64,
    /// How large the requests were.
    pub sizes: SizeSpread,
    pub largest_bytes: Bytes,
    /// Buffers that ended here after they had grown.
    pub growth: Growth,
    /// The most often that a block had been made larger after a reallocation here.
    pub most_reallocations: u64,
    /// Of the reallocations, how many made the block smaller.
    pub shrinks: u64,
    /// Bytes that were copied to another place since a buffer grew.
    pub copied_bytes: Bytes,
    /// Which threads freed the blocks of other ones, most blocks first; the first few pairs only.
    pub handovers: Vec<Handover>,
    /// When the blocks were handed out that were live when their process ended, in equal parts of its life.
    pub exit_births: [u64; EXIT_PARTS],
    /// Requests that were refused.
    pub failed_allocations: u64,
    /// Of the allocations and reallocations, how many were recorded: all of them, unless the recording is a sample.
    pub samples: u64,
    /// How far its sums may be off, in a recording that is a sample.
    pub variances: Variances,
    /// Time that the allocator took to allocate, resize and free these blocks, from the calls that
    /// were measured; `None` if none was.
    pub allocator_time: Option<AllocatorTime>,
    pub(crate) times: Option<Box<CallTimes>>,
    /// Whether the stack ended before the thread's first function.
    pub cut: bool,
}

/// Parts into which the life of a process is divided for [`Site::exit_births`].
pub const EXIT_PARTS: usize = 8;

/// Buffers that had grown when they were freed, or when their process ended: by reallocations, or by being handed a larger
/// block from the same place right before the smaller one was freed, as hash maps and C++ do it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Growth {
    pub buffers: u64,
    /// How often they had grown, together.
    pub steps: u64,
    /// How large they were in the end.
    pub final_sizes: SizeSpread,
}

impl Analysis {
    /// Call sites, most allocated bytes first.
    pub fn sites(&self) -> &[Site] {
        &self.sites
    }

    /// Whether the program recorded itself, from when it said so.
    pub fn is_from_inside(&self) -> bool {
        self.meta.interception == Interception::Inside
    }

    /// Time that the allocator took for all sites, from the calls that were measured, if these are enough: of a short program they are
    /// mostly among the first of each thread, for which the allocator has to get its first pages.
    pub fn allocator_time(&self) -> Option<AllocatorTime> {
        self.measured_time().filter(|time| time.samples >= ENOUGH_MEASURED)
    }

    /// The same from however few calls were measured.
    pub fn measured_time(&self) -> Option<AllocatorTime> {
        let times: Vec<AllocatorTime> = self.sites.iter().filter_map(|site| site.allocator_time).collect();
        let squares: f64 = times.iter().map(|t| (t.error.0 as f64).powi(2)).sum();
        (!times.is_empty()).then(|| AllocatorTime {
            time: times.iter().map(|t| t.time).sum(),
            error: Nanos(squares.sqrt() as u64),
            samples: times.iter().map(|t| t.samples).sum(),
        })
    }

    /// Processor time that a process took outside of its allocator, with what recording took; `None` if the recording
    /// does not have it. The kernel reports one sum for all processes. For one of several it is an upper limit: as long
    /// as it ran, times its threads.
    pub fn time_outside_allocator(&self, process: usize) -> Option<OutsideTime> {
        let all = self.end.as_ref()?.cpu_ns;
        let outside = all.checked_sub(self.measured_time()?.time.0).filter(|_| all > 0)?;
        let process = self.processes.get(process)?;
        let is_alone = self.processes.len() == 1;
        let threads = self.threads.iter().filter(|thread| thread.process == process.index).count().max(1);
        let ran = process.end.unwrap_or(self.duration).0.saturating_sub(process.start.0);
        let most = if is_alone { u64::MAX } else { ran.saturating_mul(threads as u64) };
        Some(OutsideTime { time: Nanos(outside.min(most)), is_at_most: !is_alone })
    }

    /// Frames of a site from the innermost outwards.
    pub fn stack(&self, site: &Site) -> Vec<Frame<'_>> {
        let lists = self.stacks_by_name.frames(site.stack);
        lists.flat_map(|list| self.names.frames(list)).map(|stored| self.frame(stored)).collect()
    }

    /// Whether a look at the pages of a process was as good as at the peak of all resident memory. A peak may lie between two looks,
    /// and one process of several has a part of it.
    pub fn is_of_the_peak(&self, look: &Breakdown) -> bool {
        // The kernel's own highest value and a look at the pages are never of quite the same moment. In a short run the only look may be
        // that of its end, when all is freed and as much as ever is resident.
        let is_as_much = look.rss.0.saturating_mul(20) >= self.memory.peak_rss.0.saturating_mul(19);
        let is_empty = look.live.0.saturating_mul(10) < self.totals.peak_live_bytes.0;
        let is_of_the_end = look.time.0.saturating_mul(20) >= self.duration.0.saturating_mul(19);
        is_as_much && !(is_empty && is_of_the_end)
    }

    /// What tells it from all other recordings, the same whenever the same file is read: which host started which process when. A file that
    /// was cut off is another recording than the whole one.
    pub fn identity(&self) -> Vec<u8> {
        let meta = &self.meta;
        let pid = self.processes.first().map_or(0, |process| process.pid);
        let numbers = [meta.started_unix_ns, u64::from(pid), self.duration.0, self.n_events];
        let numbers = numbers.map(u64::to_le_bytes).concat();
        [meta.host.as_bytes(), meta.command.join("\0").as_bytes(), &numbers].join(&0)
    }

    /// Whether a process was still running when the recording ended.
    pub fn goes_on(&self) -> bool {
        self.processes.iter().any(|process| process.still_running)
    }

    /// Whether a part of the recording could not be read, so that events are missing.
    pub fn lacks_a_part(&self) -> bool {
        self.warnings.iter().any(Warning::is_of_a_part_that_is_missing)
    }

    /// When the highest look at pages was, in a sentence: `at the peak`, or at which time if it missed that.
    pub fn moment(&self, highest: &Breakdown) -> String {
        match self.is_of_the_peak(highest) {
            true => "at the peak".to_owned(),
            false => format!("at {}", crate::units::time(highest.time.0)),
        }
    }

    /// The innermost frames of a site's stack, at most so many. A recursion may have a site for each depth, and to go through all
    /// of all stacks takes time with the square of it.
    pub fn innermost(&self, site: &Site, most: usize) -> Vec<Frame<'_>> {
        let lists = self.stacks_by_name.frames(site.stack);
        lists.flat_map(|list| self.names.frames(list)).take(most).map(|stored| self.frame(stored)).collect()
    }

    /// The frames of a site's stack up to the user's nearest one, which is the last; empty if there is none.
    pub fn up_to_place(&self, site: &Site) -> Vec<Frame<'_>> {
        self.innermost(site, site.user_frame.map_or(0, |at| at + 1))
    }

    /// The two ends of a site's stack, at most so many frames each, and how many there are in between.
    pub fn stack_ends(&self, site: &Site, inner: usize, outer: usize) -> (Vec<Frame<'_>>, usize) {
        let lists = || self.stacks_by_name.frames(site.stack).map(|list| self.names.frames(list));
        let len: usize = lists().map(<[_]>::len).sum();
        let omitted = len.saturating_sub(inner + outer);
        let head = lists().flatten().take(if omitted > 0 { inner } else { len });
        let mut ends: Vec<_> = head.map(|stored| self.frame(stored)).collect();
        if omitted > 0 {
            ends.extend(lists().flatten().skip(len - outer).map(|stored| self.frame(stored)));
        }
        (ends, omitted)
    }

    pub(crate) fn frame(&self, stored: &(StoredFrame, Owner)) -> Frame<'_> {
        self.names.frame(stored, &self.images)
    }

    /// Classes of request sizes, ascending.
    pub fn size_classes(&self) -> impl Iterator<Item = SizeClass> {
        self.sizes.classes()
    }
}

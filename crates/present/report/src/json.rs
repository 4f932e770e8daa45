//! Fills `heapwise.report/1`.

pub(crate) mod frames;
mod marks;
pub(crate) mod memory;

use crate::schema::report::{
    AllocatorInside, AllocatorTime, BlindSpot, Estimate, Exit, Finding, Growth, Handover, Interception,
    Intervals, Order, Part, Process, Quantiles, Report, SCHEMA, Sampling, Site, SiteSizes, SizeClass, Stacks,
    Thread, Totals, Warning, Withheld,
};
use frames::Frames;
use heapwise_analysis::{self as analysis, Analysis};
use heapwise_diagnosis::{self as diagnosis, Diagnosis};
use serde::{Serialize, Serializer};
use std::cell::RefCell;
use std::io;

/// What may be omitted.
#[derive(Clone, Copy, Debug, Default)]
pub struct JsonOptions {
    /// How many sites are written, the ones with the most allocated bytes first; all by default.
    pub top: Option<usize>,
}

/// The report for machines.
pub fn json(analysis: &Analysis, diagnosis: &Diagnosis, options: &JsonOptions) -> String {
    let mut text = Vec::new();
    // Nothing fails that is written to memory.
    let _ = write_json(analysis, diagnosis, options, &mut text);
    String::from_utf8(text).unwrap_or_default()
}

/// Writes the report for machines; of its long lists, one entry at a time is in memory.
///
/// # Errors
/// Those of writing.
pub fn write_json(
    analysis: &Analysis,
    diagnosis: &Diagnosis,
    options: &JsonOptions,
    out: impl io::Write,
) -> io::Result<()> {
    let frames = RefCell::default();
    crate::schema::write_compact(&report(analysis, diagnosis, options, &frames), out)
}

/// Call sites that are made as they are written. The frames of their stacks are known afterwards.
struct Sites<'a, 'f> {
    analysis: &'a Analysis,
    top: usize,
    frames: &'f RefCell<Frames<'a>>,
}

impl Serialize for Sites<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut frames = self.frames.borrow_mut();
        let sites = self.analysis.sites().iter().take(self.top);
        serializer.collect_seq(sites.map(|of| site(self.analysis, of, &mut frames)))
    }
}

/// The frames of the stacks that were written before.
struct WrittenFrames<'a, 'f>(&'f RefCell<Frames<'a>>);

impl Serialize for WrittenFrames<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.take().into_list())
    }
}

fn report<'a, 'f>(
    a: &'a Analysis,
    d: &Diagnosis,
    options: &JsonOptions,
    frames: &'f RefCell<Frames<'a>>,
) -> Report<Sites<'a, 'f>, WrittenFrames<'a, 'f>> {
    let end = a.end.as_ref();
    Report {
        schema: SCHEMA.to_owned(),
        heapwise: a.meta.heapwise.clone(),
        command: a.meta.command.clone(),
        exit: Exit { code: end.and_then(|e| e.exit_code), signal: end.and_then(|e| e.signal) },
        duration_ns: a.duration.0,
        part: (a.meta.part > 0).then(|| Part {
            number: a.meta.part,
            goes_on: end.is_some_and(|end| end.goes_on),
            live_at_start_blocks: a.carried.blocks,
            live_at_start_bytes: a.carried.bytes.0,
        }),
        totals: (&a.totals).into(),
        allocator_time: a.allocator_time().map(|t| AllocatorTime {
            time_ns: t.time.0,
            error_ns: t.error.0,
            samples: t.samples,
        }),
        sampling: a.sampled.as_ref().map(sampling),
        interception: Interception {
            mode: a.meta.interception.name().to_owned(),
            allocator: a.processes.first().map(|p| p.allocator.clone()).unwrap_or_default(),
            inside: a.end.iter().flat_map(|end| &end.allocators_inside).map(inside).collect(),
            blind_spots: a.blind_spots.iter().map(blind_spot).collect(),
        },
        stacks: Stacks {
            captures: a.stacks.captures,
            cut_captures: a.stacks.cut_captures,
            cut_share: a.stacks.cut_share(),
            verified: a.stacks.verified,
            verify_failed: a.stacks.verify_failed,
        },
        order: Order { unknown_frees: a.totals.unknown_frees, implicit_frees: a.totals.implicit_frees },
        warnings: a.warnings.iter().map(warning).collect(),
        processes: a.processes.iter().map(process).collect(),
        threads: a.threads.iter().map(|t| thread(a, t)).collect(),
        thread_matrix: a.thread_matrix.iter().map(|h| handover(h, Some(h.bytes.0))).collect(),
        other_handovers: a.other_handovers,
        memory: memory::memory(a, d.verdict.as_ref()),
        spans: marks::spans(a),
        sizes: a
            .size_classes()
            .map(|c| SizeClass {
                from_bytes: c.from.0,
                to_bytes: c.to.0,
                requests: c.requests,
                bytes: c.bytes.0,
            })
            .collect(),
        n_sites: a.sites().len(),
        sites: Sites { analysis: a, top: options.top.unwrap_or(usize::MAX), frames },
        frames: WrittenFrames(frames),
        findings: d.findings.iter().map(finding).collect(),
        withheld: withheld(d),
    }
}

fn withheld(d: &Diagnosis) -> Vec<Withheld> {
    let reason = d.unseen.as_ref().map_or("", |unseen| &unseen.sentence);
    let one = |what: &&str| Withheld { what: (*what).to_owned(), reason: reason.to_owned() };
    d.withheld.iter().map(one).collect()
}

impl From<&analysis::Totals> for Totals {
    fn from(t: &analysis::Totals) -> Self {
        Self {
            allocations: t.allocations,
            reallocations: t.reallocations,
            deallocations: t.deallocations,
            allocated_bytes: t.allocated_bytes.0,
            peak_live_bytes: t.peak_live_bytes.0,
            peak_live_blocks: t.peak_live_blocks,
            live_at_exit_bytes: t.live_at_exit_bytes.0,
            live_at_exit_blocks: t.live_at_exit_blocks,
            never_freed_bytes: t.never_freed_bytes.0,
            never_freed_blocks: t.never_freed_blocks,
            temporary_allocations: t.temporary_allocations,
            failed_allocations: t.failed_allocations,
            lost_events: t.lost_events,
        }
    }
}

fn sampling(s: &analysis::Sampled) -> Sampling {
    Sampling {
        sample_bytes: s.every.0,
        requests: s.requests,
        requests_error: s.requests_error,
        allocated_bytes_error: s.allocated_bytes_error.0,
        peak_live_bytes_error: s.peak_live_bytes_error.0,
        live_at_exit_bytes_error: s.live_at_exit_bytes_error.0,
    }
}

pub(crate) fn warning(warning: &analysis::Warning) -> Warning {
    Warning { id: warning.id().to_owned(), what: warning.to_string(), hint: warning.hint().to_owned() }
}

fn inside(inside: &analysis::AllocatorInside) -> AllocatorInside {
    AllocatorInside {
        allocator: Some(inside.allocator.clone()).filter(|name| !name.is_empty()),
        file: inside.file.clone(),
        functions: inside.functions,
    }
}

pub(crate) fn blind_spot(spot: &analysis::BlindSpot) -> BlindSpot {
    BlindSpot {
        id: spot.id.clone(),
        what: spot.what.clone(),
        remedy: spot.remedy.clone(),
        allocator: Some(spot.allocator.clone()).filter(|name| !name.is_empty()),
        file: Some(spot.file.clone()).filter(|path| !path.is_empty()),
    }
}

fn process(p: &analysis::Process) -> Process {
    Process {
        pid: p.pid,
        parent: p.parent_pid,
        command: p.command.clone(),
        allocator: p.allocator.clone(),
        start_ns: p.start.0,
        end_ns: p.end.map(|e| e.0),
        still_running: p.still_running,
        forked: p.forked_from.is_some(),
        totals: (&p.totals).into(),
    }
}

fn thread(analysis: &Analysis, t: &analysis::Thread) -> Thread {
    Thread {
        id: t.index.0,
        name: t.name.clone(),
        tid: t.tid,
        pid: analysis.processes.iter().find(|p| p.index == t.process).map(|p| p.pid),
        totals: (&t.totals).into(),
        freed_elsewhere_blocks: t.freed_elsewhere_blocks,
    }
}

fn handover(handover: &analysis::Handover, bytes: Option<u64>) -> Handover {
    Handover { from: handover.from.0, to: handover.to.0, blocks: handover.blocks, bytes }
}

fn site<'a>(analysis: &'a Analysis, site: &'a analysis::Site, frames: &mut Frames<'a>) -> Site {
    let size = |share| site.sizes.quantile(share).map(|b| b.0);
    let final_size = |share| site.growth.final_sizes.quantile(share).map(|b| b.0);
    let lifetime = |share| site.lifetimes.quantile(share).map(|n| n.0);
    let stack = frames.add(analysis, site);
    Site {
        id: site.id.0,
        user_frame: stack.place,
        via: stack.via,
        allocations: site.allocations,
        allocated_bytes: site.allocated_bytes.0,
        reallocations: site.reallocations,
        deallocations: site.deallocations,
        temporary_allocations: site.freed_after.temporary(),
        freed_after: site.freed_after.classes().map(|(_, _, blocks)| blocks).collect(),
        peak_bytes: site.peak_bytes.0,
        peak_blocks: site.peak_blocks,
        live_at_exit_bytes: site.live_at_exit_bytes.0,
        live_at_exit_blocks: site.live_at_exit_blocks,
        failed_allocations: site.failed_allocations,
        most_blocks: site.most_blocks,
        sizes: SiteSizes {
            smallest: site.sizes.smallest().map(|b| b.0),
            p50: size(0.5),
            p99: size(0.99),
            largest: site.largest_bytes.0,
        },
        growth: Growth {
            buffers: site.growth.buffers,
            steps: site.growth.steps,
            final_bytes: Quantiles { p50: final_size(0.5), p99: final_size(0.99) },
        },
        shrinks: site.shrinks,
        copied_bytes: site.copied_bytes.0,
        lifetime_ns: Quantiles { p50: lifetime(0.5), p99: lifetime(0.99) },
        freed_on_other_thread: site.freed_on_other_thread,
        allocator_time_ns: site.allocator_time.map(|t| t.time.0),
        allocator_time_error_ns: site.allocator_time.map(|t| t.error.0),
        handovers: site.handovers.iter().map(|h| handover(h, None)).collect(),
        exit_births: site.exit_births,
        samples: site.samples,
        intervals: analysis.sampled.is_some().then(|| intervals(site)),
        cut: site.cut,
        frames_omitted: stack.omitted,
        stack: stack.indices,
    }
}

fn intervals(site: &analysis::Site) -> Intervals {
    let numbers = analysis::Numbers::from(site);
    let of = |measure: analysis::Measure| {
        let analysis::Interval { low, high } = measure.interval(&site.variances, measure.of(&numbers));
        [low, high]
    };
    Intervals {
        allocations: of(analysis::Measure::Allocations),
        reallocations: of(analysis::Measure::Reallocations),
        allocated_bytes: of(analysis::Measure::AllocatedBytes),
        peak_bytes: of(analysis::Measure::PeakBytes),
        peak_blocks: of(analysis::Measure::PeakBlocks),
        live_at_exit_bytes: of(analysis::Measure::LiveAtExitBytes),
        live_at_exit_blocks: of(analysis::Measure::LiveAtExitBlocks),
    }
}

fn finding(finding: &diagnosis::Finding) -> Finding {
    let diagnosis::Finding { id, severity, certainty, title, site, sites, evidence, estimate, remedy } =
        finding;
    Finding {
        id: (*id).to_owned(),
        severity: severity.id().to_owned(),
        certainty: certainty.id().to_owned(),
        title: title.clone(),
        site: site.map(|s| s.0),
        sites: sites.iter().map(|s| s.0).collect(),
        evidence: evidence.clone(),
        estimate: Estimate {
            allocations: estimate.allocations,
            reallocations: estimate.reallocations,
            allocated_bytes: estimate.allocated_bytes.0,
            peak_bytes: estimate.peak_bytes.0,
            time_ns: estimate.time.0,
        },
        remedy: remedy.clone(),
    }
}

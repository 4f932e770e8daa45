//! The schema `heapwise.report/1`: field names are a contract, see the README.

mod marks;
mod memory;

use heapwise_analysis::{Analysis, Frame, Handover, Sampled, Site, Totals};
use heapwise_diagnosis::{Diagnosis, Insight};
use marks::JsonSpan;
use memory::Memory;
use serde::Serialize;

/// The value of the field `schema`.
pub const SCHEMA: &str = "heapwise.report/1";
/// Frames of a stack that are told, from its two ends: deep recursion has a site per depth, and whole stacks would make
/// the report grow with the square of it.
const INNER_FRAMES: usize = 384;
const OUTER_FRAMES: usize = 128;
/// Frames of all sites together. Of further sites there are fewer: still more than most stacks have.
const MOST_FRAMES: usize = 1 << 21;
const FEWER_INNER_FRAMES: usize = 48;
const FEWER_OUTER_FRAMES: usize = 16;

/// What may be left out.
#[derive(Clone, Copy, Debug, Default)]
pub struct JsonOptions {
    /// How many sites are told, the ones with the most allocated bytes first; all by default.
    pub top: Option<usize>,
}

/// The report for machines.
pub fn json(analysis: &Analysis, diagnosis: &Diagnosis, options: &JsonOptions) -> String {
    let mut text = serde_json::to_string(&Report::new(analysis, diagnosis, options)).unwrap_or_default();
    text.push('\n');
    crate::escape::terminal::json(&text).into_owned()
}

#[derive(Serialize)]
struct Report<'a> {
    schema: &'static str,
    heapwise: &'a str,
    command: &'a [String],
    exit: Exit,
    duration_ns: u64,
    totals: JsonTotals,
    allocator_time: Option<AllocatorTime>,
    sampling: Option<Sampling>,
    interception: Interception<'a>,
    stacks: Stacks,
    order: Order,
    warnings: Vec<JsonWarning>,
    processes: Vec<Process<'a>>,
    threads: Vec<Thread<'a>>,
    thread_matrix: Vec<JsonHandover>,
    other_handovers: u64,
    memory: Memory<'a>,
    spans: Vec<JsonSpan<'a>>,
    sizes: Vec<SizeClass>,
    n_sites: usize,
    sites: Vec<JsonSite<'a>>,
    insights: Vec<JsonInsight<'a>>,
}

#[derive(Serialize)]
struct Exit {
    code: Option<i32>,
    signal: Option<i32>,
}

#[derive(Serialize)]
struct AllocatorTime {
    time_ns: u64,
    error_ns: u64,
    samples: u64,
}

#[derive(Serialize)]
struct Sampling {
    sample_bytes: u64,
    requests: u64,
    requests_error: u64,
    allocated_bytes_error: u64,
    peak_live_bytes_error: u64,
    live_at_exit_bytes_error: u64,
}

impl From<&Sampled> for Sampling {
    fn from(s: &Sampled) -> Self {
        Self {
            sample_bytes: s.every.0,
            requests: s.requests,
            requests_error: s.requests_error,
            allocated_bytes_error: s.allocated_bytes_error.0,
            peak_live_bytes_error: s.peak_live_bytes_error.0,
            live_at_exit_bytes_error: s.live_at_exit_bytes_error.0,
        }
    }
}

#[derive(Serialize)]
pub(crate) struct JsonTotals {
    allocations: u64,
    reallocations: u64,
    deallocations: u64,
    allocated_bytes: u64,
    peak_live_bytes: u64,
    peak_live_blocks: u64,
    live_at_exit_bytes: u64,
    live_at_exit_blocks: u64,
    temporary_allocations: u64,
    failed_allocations: u64,
    lost_events: u64,
}

impl From<&Totals> for JsonTotals {
    fn from(t: &Totals) -> Self {
        Self {
            allocations: t.allocations,
            reallocations: t.reallocations,
            deallocations: t.deallocations,
            allocated_bytes: t.allocated_bytes.0,
            peak_live_bytes: t.peak_live_bytes.0,
            peak_live_blocks: t.peak_live_blocks,
            live_at_exit_bytes: t.live_at_exit_bytes.0,
            live_at_exit_blocks: t.live_at_exit_blocks,
            temporary_allocations: t.temporary_allocations,
            failed_allocations: t.failed_allocations,
            lost_events: t.lost_events,
        }
    }
}

#[derive(Serialize)]
struct Interception<'a> {
    mode: &'a str,
    allocator: &'a str,
    blind_spots: Vec<BlindSpot<'a>>,
}

#[derive(Serialize)]
struct BlindSpot<'a> {
    id: &'a str,
    what: &'a str,
    remedy: &'a str,
}

#[derive(Serialize)]
struct Stacks {
    captures: u64,
    cut_captures: u64,
    cut_share: f64,
    verified: u64,
    verify_failed: u64,
}

#[derive(Serialize)]
struct Order {
    unknown_frees: u64,
    implicit_frees: u64,
}

#[derive(Serialize)]
struct JsonWarning {
    id: &'static str,
    what: String,
    hint: &'static str,
}

#[derive(Serialize)]
struct Process<'a> {
    pid: u32,
    parent: u32,
    command: &'a [String],
    allocator: &'a str,
    start_ns: u64,
    end_ns: Option<u64>,
    still_running: bool,
    forked: bool,
    totals: JsonTotals,
}

#[derive(Serialize)]
struct Thread<'a> {
    id: u32,
    name: &'a str,
    tid: u32,
    pid: Option<u32>,
    totals: JsonTotals,
    freed_elsewhere_blocks: u64,
}

#[derive(Serialize)]
struct JsonHandover {
    from: u32,
    to: u32,
    blocks: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
}

#[derive(Serialize)]
struct SizeClass {
    from_bytes: u64,
    to_bytes: u64,
    requests: u64,
    bytes: u64,
}

#[derive(Serialize)]
struct JsonSite<'a> {
    id: u32,
    user_frame: Option<usize>,
    allocations: u64,
    allocated_bytes: u64,
    reallocations: u64,
    deallocations: u64,
    temporary_allocations: u64,
    peak_bytes: u64,
    peak_blocks: u64,
    live_at_exit_bytes: u64,
    live_at_exit_blocks: u64,
    failed_allocations: u64,
    most_blocks: u64,
    sizes: SiteSizes,
    growth: Growth,
    shrinks: u64,
    copied_bytes: u64,
    lifetime_ns: Lifetime,
    freed_on_other_thread: u64,
    allocator_time_ns: Option<u64>,
    allocator_time_error_ns: Option<u64>,
    handovers: Vec<JsonHandover>,
    exit_births: &'a [u64],
    samples: u64,
    cut: bool,
    /// Frames between the inner and the outer ones that `stack` leaves out.
    frames_omitted: usize,
    stack: Vec<JsonFrame<'a>>,
}

#[derive(Serialize)]
struct SiteSizes {
    smallest: Option<u64>,
    p50: Option<u64>,
    p99: Option<u64>,
    largest: u64,
}

#[derive(Serialize)]
struct Growth {
    buffers: u64,
    steps: u64,
    final_bytes: Quantiles,
}

#[derive(Serialize)]
struct Quantiles {
    p50: Option<u64>,
    p99: Option<u64>,
}

#[derive(Serialize)]
struct Lifetime {
    p50: Option<u64>,
    p99: Option<u64>,
}

#[derive(Serialize)]
pub(crate) struct JsonFrame<'a> {
    function: Option<&'a str>,
    file: Option<&'a str>,
    line: Option<u32>,
    inlined: bool,
    module: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<u64>,
}

impl<'a> Report<'a> {
    fn new(a: &'a Analysis, d: &'a Diagnosis, options: &JsonOptions) -> Self {
        let end = a.end.as_ref();
        let pid_of = |index| a.processes.iter().find(|p| p.index == index).map(|p| p.pid);
        let mut told = 0;
        Self {
            schema: SCHEMA,
            heapwise: &a.meta.heapwise,
            command: &a.meta.command,
            exit: Exit { code: end.and_then(|e| e.exit_code), signal: end.and_then(|e| e.signal) },
            duration_ns: a.duration.0,
            totals: (&a.totals).into(),
            allocator_time: a.allocator_time().map(|t| AllocatorTime {
                time_ns: t.time.0,
                error_ns: t.error.0,
                samples: t.samples,
            }),
            sampling: a.sampled.as_ref().map(Sampling::from),
            interception: Interception {
                mode: &a.meta.interception,
                allocator: a.processes.first().map_or("", |p| &p.allocator),
                blind_spots: a
                    .blind_spots
                    .iter()
                    .map(|b| BlindSpot { id: &b.id, what: &b.what, remedy: &b.remedy })
                    .collect(),
            },
            stacks: Stacks {
                captures: a.stacks.captures,
                cut_captures: a.stacks.cut_captures,
                cut_share: a.stacks.cut_share(),
                verified: a.stacks.verified,
                verify_failed: a.stacks.verify_failed,
            },
            order: Order { unknown_frees: a.totals.unknown_frees, implicit_frees: a.totals.implicit_frees },
            warnings: a
                .warnings
                .iter()
                .map(|w| JsonWarning { id: w.id(), what: w.to_string(), hint: w.hint() })
                .collect(),
            processes: a
                .processes
                .iter()
                .map(|p| Process {
                    pid: p.pid,
                    parent: p.parent_pid,
                    command: &p.command,
                    allocator: &p.allocator,
                    start_ns: p.start.0,
                    end_ns: p.end.map(|e| e.0),
                    still_running: p.still_running,
                    forked: p.forked_from.is_some(),
                    totals: (&p.totals).into(),
                })
                .collect(),
            threads: a
                .threads
                .iter()
                .map(|t| Thread {
                    id: t.index.0,
                    name: &t.name,
                    tid: t.tid,
                    pid: pid_of(t.process),
                    totals: (&t.totals).into(),
                    freed_elsewhere_blocks: t.freed_elsewhere_blocks,
                })
                .collect(),
            thread_matrix: a.thread_matrix.iter().map(|h| handover(h, Some(h.bytes.0))).collect(),
            other_handovers: a.other_handovers,
            memory: Memory::new(a, d.verdict.as_ref()),
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
            sites: a
                .sites()
                .iter()
                .take(options.top.unwrap_or(usize::MAX))
                .map(|s| site(a, s, &mut told))
                .collect(),
            insights: d.insights.iter().map(insight).collect(),
        }
    }
}

fn handover(handover: &Handover, bytes: Option<u64>) -> JsonHandover {
    JsonHandover { from: handover.from.0, to: handover.to.0, blocks: handover.blocks, bytes }
}

/// `told` counts the frames of all sites.
fn site<'a>(analysis: &'a Analysis, site: &'a Site, told: &mut usize) -> JsonSite<'a> {
    let size = |share| site.sizes.quantile(share).map(|b| b.0);
    let final_size = |share| site.growth.final_sizes.quantile(share).map(|b| b.0);
    let quantile = |share| site.lifetimes.quantile(share).map(|n| n.0);
    let (inner, outer) = match *told < MOST_FRAMES {
        true => (INNER_FRAMES, OUTER_FRAMES),
        false => (FEWER_INNER_FRAMES, FEWER_OUTER_FRAMES),
    };
    let (shown, frames_omitted) = analysis.stack_ends(site, inner, outer);
    *told += shown.len();
    JsonSite {
        id: site.id.0,
        user_frame: site.user_frame,
        allocations: site.allocations,
        allocated_bytes: site.allocated_bytes.0,
        reallocations: site.reallocations,
        deallocations: site.deallocations,
        temporary_allocations: site.temporary_allocations,
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
        lifetime_ns: Lifetime { p50: quantile(0.5), p99: quantile(0.99) },
        freed_on_other_thread: site.freed_on_other_thread,
        allocator_time_ns: site.allocator_time.map(|t| t.time.0),
        allocator_time_error_ns: site.allocator_time.map(|t| t.error.0),
        handovers: site.handovers.iter().map(|h| handover(h, None)).collect(),
        exit_births: &site.exit_births,
        samples: site.samples,
        cut: site.cut,
        frames_omitted,
        stack: shown.iter().map(frame).collect(),
    }
}

#[derive(Serialize)]
struct JsonInsight<'a> {
    id: &'static str,
    severity: &'static str,
    certainty: &'static str,
    title: &'a str,
    site: Option<u32>,
    sites: Vec<u32>,
    evidence: &'a [String],
    estimate: Estimate,
    remedy: &'a str,
}

#[derive(Serialize)]
struct Estimate {
    allocations: u64,
    allocated_bytes: u64,
    peak_bytes: u64,
    time_ns: u64,
}

fn insight(insight: &Insight) -> JsonInsight<'_> {
    let Insight { id, severity, certainty, title, site, sites, evidence, estimate, remedy } = insight;
    JsonInsight {
        id,
        severity: severity.id(),
        certainty: certainty.id(),
        title,
        site: site.map(|s| s.0),
        sites: sites.iter().map(|s| s.0).collect(),
        evidence,
        estimate: Estimate {
            allocations: estimate.allocations,
            allocated_bytes: estimate.allocated_bytes.0,
            peak_bytes: estimate.peak_bytes.0,
            time_ns: estimate.time.0,
        },
        remedy,
    }
}

/// The frames of a stack, without those between its two ends if it is very long.
pub(crate) fn frames<'a>(stack: &[Frame<'a>]) -> Vec<JsonFrame<'a>> {
    let outer = stack.len().saturating_sub(OUTER_FRAMES).max(INNER_FRAMES.min(stack.len()));
    stack.iter().take(INNER_FRAMES).chain(&stack[outer..]).map(frame).collect()
}

fn frame<'a>(frame: &Frame<'a>) -> JsonFrame<'a> {
    JsonFrame {
        function: frame.function,
        file: frame.file,
        line: frame.line,
        inlined: frame.inlined,
        module: frame.module.map(|m| m.path.as_str()),
        address: frame.function.is_none().then_some(frame.address),
    }
}

//! The data of the page. The other side is `web/src/data.ts`: a change here is a change there, and the two are always in the same
//! file, so there are no versions.

use super::HtmlOptions;
use super::lines::Lines;
use super::marks::{Marks, marks};
use super::memory::{Curves, Moment, Pages, curves, moments, pages};
use super::sites::Sites;
use super::sources::{Excerpt, excerpts};
use super::strings::Strings;
use super::threads::{Thread, matrix, threads};
use super::tree::{Frames, Nodes, Tree};
use crate::escape::terminal::escape;
use crate::json::memory::by_allocator;
use crate::report::allocator_names;
use crate::report::totals::rss_note;
use crate::report::warnings::not_seen_items;
use crate::report::{Lead, ONLY_RECORDED, Standout, ending};
use crate::schema::report::OfAllocator;
use heapwise_analysis::{Analysis, Measure, Sampled, Totals};
use heapwise_diagnosis::{Diagnosis, Finding, Verdict};
use serde::Serialize;

#[derive(Debug, Serialize)]
pub(super) struct Model {
    heapwise: String,
    command: String,
    /// How it ended, and how long it took.
    ending: String,
    duration_ns: u64,
    interception: &'static str,
    allocators: Vec<String>,
    n_processes: usize,
    /// Null if every block was recorded.
    sampling: Option<ModelSampling>,
    totals: ModelTotals,
    /// Bytes and blocks that were live when the file began; null unless it goes on with a recording.
    carried: Option<(u64, u64)>,
    peak_rss: u64,
    /// What that says about the heap.
    rss_note: String,
    peak_live_at_ns: u64,
    captures: u64,
    cut_captures: u64,
    caveats: Vec<Caveat>,
    verdict: Option<ModelVerdict>,
    moments: Vec<Moment>,
    /// The part of each allocator in that, if there are several.
    by_allocator: Vec<OfAllocator>,
    pages: Option<Pages>,
    curves: Curves,
    /// Null if the program has no marks.
    marks: Option<Marks>,
    /// Each class as `[from bytes, to bytes, allocations and reallocations, bytes]`.
    sizes: Vec<(u64, u64, u64, u64)>,
    findings: Vec<ModelFinding>,
    /// Findings that save enough to begin with, by their places among all.
    worth: Vec<usize>,
    /// What to say if none does, or there are none; it may be empty.
    nothing: String,
    /// Where to look if there are no findings.
    standouts: Vec<ModelStandout>,
    /// What to say of that where something was not recorded.
    only_recorded: Option<&'static str>,
    strings: Strings,
    frames: Frames,
    nodes: Nodes,
    sites: Sites,
    sources: Vec<Excerpt>,
    /// The texts of files that allocate.
    lines: Lines,
    /// The files whose lines are in the page.
    source_files: Vec<String>,
    threads: Vec<Thread>,
    thread_matrix: Option<Vec<(u32, u32, u64)>>,
}

/// How far the truth may be from the totals of a sample, in words.
#[derive(Debug, Serialize)]
struct ModelSampling {
    every: u64,
    allocations: String,
    bytes: String,
    peak_bytes: String,
    exit_bytes: String,
}

#[derive(Debug, Serialize)]
struct ModelTotals {
    allocations: u64,
    reallocations: u64,
    deallocations: u64,
    bytes: u64,
    peak_bytes: u64,
    peak_blocks: u64,
    exit_bytes: u64,
    exit_blocks: u64,
    never_freed_bytes: u64,
    temporary: u64,
    failed: u64,
    lost: u64,
}

/// What was not recorded, or makes the numbers incomplete.
#[derive(Debug, Serialize)]
struct Caveat {
    blind: bool,
    what: String,
    hint: String,
}

#[derive(Debug, Serialize)]
struct ModelVerdict {
    kind: &'static str,
    sentence: String,
    remedy: String,
}

#[derive(Debug, Serialize)]
struct ModelFinding {
    id: &'static str,
    severity: &'static str,
    certainty: &'static str,
    title: String,
    site: Option<u32>,
    sites: Vec<u32>,
    evidence: Vec<String>,
    allocations: u64,
    reallocations: u64,
    bytes: u64,
    peak_bytes: u64,
    time_ns: u64,
    remedy: String,
}

/// A place, and what it stands out with.
#[derive(Debug, Serialize)]
struct ModelStandout {
    sites: Vec<u32>,
    /// Each with the name of its measure.
    facts: Vec<(&'static str, String)>,
}

impl Model {
    pub(super) fn new(a: &Analysis, d: &Diagnosis, options: &HtmlOptions<'_>) -> Self {
        let mut strings = Strings::default();
        let mut tree = Tree::new(a, options.folder, &mut strings);
        let sites = Sites::new(a, options, &mut tree, &mut strings);
        let (sources, mut source_files) =
            options.sources.map(|s| excerpts(s, &sites, &tree, d)).unwrap_or_default();
        let lines = Lines::new(a, d, options.sources, &mut strings);
        source_files.extend(lines.shown().map(|path| strings.text(path).to_owned()));
        source_files.sort();
        source_files.dedup();
        let threads = threads(a, &mut strings);
        let marks = marks(a, &mut strings);
        let Lead { worth, nothing, standouts } = Lead::new(a, d);
        Self {
            heapwise: clean(&a.meta.heapwise),
            command: clean(&crate::report::command_of(a)),
            ending: ending(a),
            duration_ns: a.duration.0,
            interception: a.meta.interception.name(),
            allocators: allocator_names(a).iter().map(|name| clean(name)).collect(),
            n_processes: a.processes.len(),
            sampling: a.sampled.as_ref().map(|sampled| sampling(a, sampled)),
            totals: (&a.totals).into(),
            carried: (a.meta.part > 1).then_some((a.carried.bytes.0, a.carried.blocks)),
            peak_rss: a.memory.peak_rss.0,
            peak_live_at_ns: a.memory.live_peak_at.0,
            captures: a.stacks.captures,
            cut_captures: a.stacks.cut_captures,
            caveats: caveats(a, d),
            rss_note: rss_note(a, d),
            verdict: d.verdict.as_ref().map(verdict),
            moments: moments(a),
            by_allocator: by_allocator(a).into_iter().map(cleaned).collect(),
            pages: pages(a),
            curves: curves(a),
            marks,
            sizes: a.size_classes().map(|c| (c.from.0, c.to.0, c.requests, c.bytes.0)).collect(),
            findings: d.findings.iter().map(finding).collect(),
            worth,
            nothing: clean(&nothing),
            standouts: standouts.into_iter().map(standout).collect(),
            only_recorded: d.unseen.as_ref().map(|_| ONLY_RECORDED),
            strings,
            frames: tree.frames,
            nodes: tree.nodes,
            sites,
            sources,
            lines,
            source_files,
            threads,
            thread_matrix: options.thread_matrix.map(matrix),
        }
    }
}

impl From<&Totals> for ModelTotals {
    fn from(t: &Totals) -> Self {
        Self {
            allocations: t.allocations,
            reallocations: t.reallocations,
            deallocations: t.deallocations,
            bytes: t.allocated_bytes.0,
            peak_bytes: t.peak_live_bytes.0,
            peak_blocks: t.peak_live_blocks,
            exit_bytes: t.live_at_exit_bytes.0,
            exit_blocks: t.live_at_exit_blocks,
            never_freed_bytes: t.never_freed_bytes.0,
            temporary: t.temporary_allocations,
            failed: t.failed_allocations,
            lost: t.lost_events,
        }
    }
}

fn sampling(analysis: &Analysis, sampled: &Sampled) -> ModelSampling {
    let around = |measure: Measure| {
        let estimate = measure.of_run(analysis);
        measure.interval(&sampled.variances, estimate).around(estimate).unwrap_or_default()
    };
    ModelSampling {
        every: sampled.every.0,
        allocations: around(Measure::Allocations),
        bytes: around(Measure::AllocatedBytes),
        peak_bytes: around(Measure::PeakBytes),
        exit_bytes: around(Measure::LiveAtExitBytes),
    }
}

fn cleaned(of: OfAllocator) -> OfAllocator {
    let text = |text: Option<String>| text.map(|text| clean(&text));
    OfAllocator { name: clean(&of.name), allocator: text(of.allocator), file: text(of.file), ..of }
}

fn clean(text: &str) -> String {
    escape(text).into_owned()
}

/// Texts of several lines keep them.
fn clean_lines(text: &str) -> String {
    text.lines().map(clean).collect::<Vec<_>>().join("\n")
}

fn caveats(a: &Analysis, d: &Diagnosis) -> Vec<Caveat> {
    let not_seen = not_seen_items(a, d).into_iter();
    let blind =
        not_seen.map(|(what, remedy)| Caveat { blind: true, what: clean(&what), hint: clean(&remedy) });
    let warnings = a.warnings.iter().map(|w| Caveat {
        blind: false,
        what: clean(&w.to_string()),
        hint: w.hint().to_owned(),
    });
    blind.chain(warnings).collect()
}

fn verdict(verdict: &Verdict) -> ModelVerdict {
    let Verdict { kind, sentence, remedy } = verdict;
    ModelVerdict { kind: kind.id(), sentence: clean(sentence), remedy: clean_lines(remedy) }
}

fn standout(Standout { sites, facts }: Standout) -> ModelStandout {
    ModelStandout {
        sites: sites.into_iter().map(|site| site.0).collect(),
        facts: facts.into_iter().map(|(measure, what)| (measure.name(), what)).collect(),
    }
}

fn finding(finding: &Finding) -> ModelFinding {
    let Finding { id, severity, certainty, title, site, sites, evidence, estimate, remedy } = finding;
    ModelFinding {
        id,
        severity: severity.id(),
        certainty: certainty.id(),
        title: clean(title),
        site: site.map(|s| s.0),
        sites: sites.iter().map(|s| s.0).collect(),
        evidence: evidence.iter().map(|e| clean(e)).collect(),
        allocations: estimate.allocations,
        reallocations: estimate.reallocations,
        bytes: estimate.allocated_bytes.0,
        peak_bytes: estimate.peak_bytes.0,
        time_ns: estimate.time.0,
        remedy: clean_lines(remedy),
    }
}

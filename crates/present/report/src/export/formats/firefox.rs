//! The Firefox Profiler's own format, the *processed profile*: JSON that profiler.firefox.com opens.
//!
//! It is made for samples over time. A heap has sums instead, so a *thread* here is a measure: its samples are the call sites, at
//! the one moment of the measure, with the number as weight. The memory over time is in counters, and the program's marks and
//! spans are markers of the first thread.
//!
//! Written here and not with `fxprof-processed-profile`: its last release has neither lines nor files nor inlined
//! functions of frames, and weights of 32 bits. This is version 63 of the format; the Profiler reads all older versions
//! than its own.

mod builder;
mod markers;
mod tables;

use crate::export::format::{Format, Options};
use crate::export::{stacks, text};
use builder::{Builder, CATEGORIES};
use heapwise_analysis::Measure;
use heapwise_analysis::{Analysis, Numbers};
use serde::Serialize;
use serde_json::{Value, json};
use std::io::{self, Write};
use tables::{Lib, Shared};

/// The format.
#[derive(Debug)]
pub(crate) struct Firefox;

const VERSION: u32 = 63;
/// Version of the format before processing; required and not used.
const UNPROCESSED_VERSION: u32 = 31;
/// The profile claims this distance between samples: the step of the recorder's clock.
const INTERVAL_MS: f64 = 1.0;
/// Points of the curves of memory over time.
const MOST_POINTS: usize = 1000;
/// The measures that become threads. What is live at the peak is selected initially.
const THREADS: &[(Measure, &str, bool)] = &[
    (Measure::PeakBytes, "Live at the peak (bytes)", true),
    (Measure::AllocatedBytes, "Allocated (bytes)", false),
    (Measure::Allocations, "Allocations (blocks)", false),
    (Measure::TemporaryAllocations, "Temporary allocations (blocks)", false),
    (Measure::LiveAtExitBytes, "Live at the exit (bytes)", false),
];

impl Format for Firefox {
    fn name(&self) -> &'static str {
        "firefox"
    }

    fn about(&self) -> &'static str {
        "processed profile for profiler.firefox.com, with memory over time"
    }

    fn write(&self, analysis: &Analysis, _: &Options, out: &mut dyn Write) -> io::Result<()> {
        let mut builder = Builder::new(analysis);
        let mut sites: Vec<(Option<usize>, Numbers)> = Vec::new();
        stacks::for_each(analysis, stacks::MANY, |steps, numbers| {
            sites.push((builder.stack(steps), *numbers));
            Ok(())
        })?;
        let markers = markers::markers(analysis, &mut builder);
        let threads =
            THREADS.iter().enumerate().map(|(tid, thread)| Thread::new(analysis, tid, thread, &sites));
        let mut threads: Vec<Thread> = threads.collect();
        if let Some(first) = threads.first_mut() {
            first.markers = markers;
        }
        let profile = Profile {
            meta: meta(analysis),
            libs: &builder.libs,
            counters: counters(analysis),
            threads,
            shared: &builder.shared,
        };
        serde_json::to_writer(&mut *out, &profile)?;
        out.write_all(b"\n")
    }
}

#[derive(Serialize)]
struct Profile<'a> {
    meta: Value,
    libs: &'a [Lib],
    counters: Vec<Value>,
    threads: Vec<Thread>,
    shared: &'a Shared,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Thread {
    process_type: &'static str,
    process_startup_time: f64,
    process_shutdown_time: Option<f64>,
    register_time: f64,
    unregister_time: Option<f64>,
    paused_ranges: [u8; 0],
    name: &'static str,
    process_name: String,
    is_main_thread: bool,
    pid: String,
    tid: usize,
    samples: Samples,
    markers: Value,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Samples {
    stack: Vec<Option<usize>>,
    time: Vec<f64>,
    weight: Vec<u64>,
    weight_type: &'static str,
    length: usize,
}

impl Thread {
    fn new(
        analysis: &Analysis,
        tid: usize,
        &(measure, name, _): &(Measure, &'static str, bool),
        sites: &[(Option<usize>, Numbers)],
    ) -> Self {
        let time = ms(match measure {
            Measure::PeakBytes | Measure::PeakBlocks => peak_ns(analysis),
            Measure::LiveAtExitBytes | Measure::LiveAtExitBlocks => analysis.duration.0,
            _ => 0,
        });
        let numbers = sites.iter().map(|(stack, numbers)| (*stack, measure.of(numbers)));
        let (stack, weight): (Vec<_>, Vec<_>) = numbers.filter(|(_, number)| *number > 0).unzip();
        let is_bytes = measure.is_bytes();
        let length = stack.len();
        Self {
            process_type: "default",
            process_startup_time: 0.0,
            process_shutdown_time: Some(ms(analysis.duration.0)),
            register_time: 0.0,
            unregister_time: Some(ms(analysis.duration.0)),
            paused_ranges: [],
            name,
            process_name: command(analysis),
            is_main_thread: tid == 0,
            pid: pid(analysis),
            tid,
            samples: Samples {
                stack,
                time: vec![time; length],
                weight,
                weight_type: if is_bytes { "bytes" } else { "samples" },
                length,
            },
            markers: markers::none(),
        }
    }
}

/// When the live bytes were at their peak. The recorder's clock is coarser than that of the run's end.
fn peak_ns(analysis: &Analysis) -> u64 {
    analysis.memory.live_peak_at.0
}

fn ms(ns: u64) -> f64 {
    ns as f64 / 1e6
}

fn command(analysis: &Analysis) -> String {
    let parts: Vec<_> = analysis.meta.command.iter().map(|part| text::harmless(part)).collect();
    parts.join(" ")
}

fn pid(analysis: &Analysis) -> String {
    analysis.processes.first().map_or(0, |p| p.pid).to_string()
}

fn meta(analysis: &Analysis) -> Value {
    let categories: Vec<_> = CATEGORIES
        .iter()
        .map(|(name, color)| json!({"name": name, "color": color, "subcategories": ["Other"]}))
        .collect();
    let selected: Vec<_> = (0..THREADS.len()).filter(|&at| THREADS[at].2).collect();
    let start = ms(analysis.meta.started_unix_ns);
    let program = analysis.meta.command.first().map_or("", |program| text::last_part(program));
    let program = text::harmless(program);
    json!({
        "interval": INTERVAL_MS,
        "startTime": start,
        "endTime": start + ms(analysis.duration.0),
        "profilingStartTime": 0.0,
        // The last sample belongs to it, too.
        "profilingEndTime": ms(analysis.duration.0) + INTERVAL_MS,
        "processType": 0,
        "categories": categories,
        "product": format!("{program} (heapwise)"),
        "stackwalk": 1,
        "debug": false,
        "version": UNPROCESSED_VERSION,
        "preprocessedProfileVersion": VERSION,
        "oscpu": text::harmless(&analysis.meta.system),
        "arguments": command(analysis),
        "logicalCPUs": analysis.meta.processors,
        "symbolicated": true,
        "symbolicationNotSupported": true,
        "markerSchema": [],
        "sampleUnits": {"time": "ms", "eventDelay": "ms", "threadCPUDelta": "ns"},
        "importedFrom": "heapwise",
        "usesOnlyOneStackType": true,
        "sourceCodeIsNotOnSearchfox": true,
        "initialVisibleThreads": (0..THREADS.len()).collect::<Vec<_>>(),
        "initialSelectedThreads": selected,
        "keepProfileThreadOrder": true,
    })
}

/// Live and resident bytes over time. The samples of a counter are changes of its level.
fn counters(analysis: &Analysis) -> Vec<Value> {
    let samples = analysis.memory.samples(MOST_POINTS);
    let live: Vec<_> = samples.iter().map(|s| (ms(s.time.0), s.live.0)).collect();
    let resident: Vec<_> = samples.iter().filter_map(|s| Some((ms(s.time.0), s.rss?.0))).collect();
    let all = [
        ("live", "Live bytes", "Requested bytes of live blocks", "orange", live),
        ("rss", "Resident set", "Resident bytes of all recorded processes together", "grey", resident),
    ];
    let all = all.into_iter().filter(|(.., points)| !points.is_empty()).enumerate();
    all.map(|(at, (name, label, description, color, points))| {
        let mut before = 0.0;
        let count = points.iter().map(|&(_, level)| {
            let change = level as f64 - before;
            before = level as f64;
            change
        });
        json!({
            "name": name,
            "category": "Memory",
            "description": description,
            "pid": pid(analysis),
            "mainThreadIndex": 0,
            "display": {
                "graphType": "line-accumulated",
                "unit": "bytes",
                "color": color,
                "markerSchemaLocation": null,
                "sortWeight": 20 + at,
                "label": label,
                "tooltipRows": [
                    {"type": "value", "source": "accumulated", "format": {"unit": "bytes"}, "label": label},
                    {"type": "value", "source": "count-range", "format": {"unit": "bytes"}, "label": "range in the graph"},
                ],
            },
            "samples": {
                "time": points.iter().map(|p| p.0).collect::<Vec<_>>(),
                "count": count.collect::<Vec<_>>(),
                "length": points.len(),
            },
        })
    })
    .collect()
}

//! One row for each recording.

use super::RECORDING;
use crate::VERSION;
use crate::column::{Column, Kind, Value, unless_empty};
use crate::rows::Rows;
use crate::source::Source;
use crate::table::Table;
use heapwise_analysis::{Analysis, Warning};
use heapwise_diagnosis::is_program;

pub(super) static TABLE: Table = Table {
    name: "recordings",
    about: "one row for each recording: what was recorded, where and when, and the totals",
    columns: &[
        RECORDING,
        Column::new("tables_version", Kind::Integer, "the version of these tables"),
        Column::new(
            "service_name",
            Kind::Text,
            "what recordings are grouped by: `--service`, or the program's name; the folder `service=` may have it shortened",
        ),
        Column::optional("release", Kind::Text, "the release of the service: `--release`"),
        Column::optional("host", Kind::Text, "the host's name"),
        Column::new("started", Kind::Time, "when it began, in UTC"),
        Column::new("duration_ns", Kind::Integer, "how long it took, in nanoseconds"),
        Column::new("command", Kind::Texts, "the program and its arguments"),
        Column::optional("build_id", Kind::Text, "the build id of the program's file"),
        Column::optional("exit_code", Kind::Integer, "the exit code, if it exited"),
        Column::optional("exit_signal", Kind::Integer, "the signal that ended it"),
        Column::new(
            "is_complete",
            Kind::Truth,
            "whether the recording has its end, and all of it could be read",
        ),
        Column::optional(
            "part",
            Kind::Integer,
            "which file it is of a recording in several files, from 1; none if there is only one",
        ),
        Column::optional(
            "goes_on",
            Kind::Truth,
            "whether another file follows, so that what is live at the end may be freed yet; none if there is only one",
        ),
        Column::new("heapwise", Kind::Text, "the version of heapwise that recorded it"),
        Column::optional("system", Kind::Text, "the kernel and its release"),
        Column::optional("architecture", Kind::Text, "the processor's architecture"),
        Column::new("processors", Kind::Integer, "processors that the program could use"),
        Column::new("page_bytes", Kind::Integer, "bytes of a page"),
        Column::new(
            "interception",
            Kind::Text,
            "how allocations were seen: `preload`, `ptrace`, `attach`, …",
        ),
        Column::optional("allocator", Kind::Text, "the allocator of the first process"),
        Column::new("settings", Kind::Texts, "environment variables that concern the heap, as `NAME=value`"),
        Column::optional(
            "sample_bytes",
            Kind::Integer,
            "most bytes between two recorded blocks; none if all were recorded",
        ),
        Column::new("processes", Kind::Integer, "processes that were recorded"),
        Column::new("threads", Kind::Integer, "threads that were recorded"),
        Column::new(
            "sites",
            Kind::Integer,
            "call sites by their lines, before those with the same names became one",
        ),
        Column::new("allocations", Kind::Integer, "blocks that were handed out"),
        Column::new("reallocations", Kind::Integer, "blocks that were resized"),
        Column::new(
            "deallocations",
            Kind::Integer,
            "blocks that were freed, also such from before the recording, which have no site",
        ),
        Column::new("allocated_bytes", Kind::Integer, "requested bytes of allocations and reallocations"),
        Column::new(
            "temporary_allocations",
            Kind::Integer,
            "blocks that were freed before their thread allocated again",
        ),
        Column::new(
            "peak_live_bytes",
            Kind::Integer,
            "the most requested bytes that were live at one moment",
        ),
        Column::new("peak_live_blocks", Kind::Integer, "blocks that were live at that moment"),
        Column::new(
            "live_at_exit_bytes",
            Kind::Integer,
            "the most that were live together when a process ended",
        ),
        Column::new("live_at_exit_blocks", Kind::Integer, "blocks that were live then"),
        Column::new("never_freed_bytes", Kind::Integer, "bytes that were never freed, summed over processes"),
        Column::new("never_freed_blocks", Kind::Integer, "blocks that were never freed"),
        Column::new("failed_allocations", Kind::Integer, "requests that the allocator refused"),
        Column::new("lost_events", Kind::Integer, "events that are missing in all other numbers"),
        Column::new("peak_rss_bytes", Kind::Integer, "the highest resident set of all processes together"),
        Column::optional("cpu_ns", Kind::Integer, "processor time, with that of recording"),
        Column::optional(
            "allocator_time_ns",
            Kind::Integer,
            "time in the allocator, from calls that were measured",
        ),
        Column::optional("allocator_time_error_ns", Kind::Integer, "its standard error"),
        Column::optional(
            "requests_error",
            Kind::Integer,
            "standard error of allocations and reallocations of a sample",
        ),
        Column::optional("allocated_bytes_error", Kind::Integer, "the same for allocated bytes"),
        Column::optional(
            "peak_live_bytes_error",
            Kind::Integer,
            "the same for the bytes that were live at the peak",
        ),
        Column::optional(
            "never_freed_bytes_error",
            Kind::Integer,
            "the same for bytes that were never freed",
        ),
        Column::optional(
            "verdict",
            Kind::Text,
            "what resident memory consists of most: `growth`, `live`, `free-pages`, …",
        ),
        Column::optional("verdict_sentence", Kind::Text, "the same in a sentence"),
        Column::new("warnings", Kind::Texts, "ids of what makes it incomplete or inexact"),
        Column::new("blind_spots", Kind::Texts, "ids of what could not be seen"),
    ],
    is_sparse: false,
    fill,
};

fn fill(source: &Source<'_>, rows: &mut Rows) {
    let (a, d) = (source.analysis, source.diagnosis);
    let (meta, totals, end) = (&a.meta, &a.totals, a.end.as_ref());
    // From however few calls: the error is beside it.
    let time = a.measured_time();
    let sampled = a.sampled.as_ref();
    let verdict = d.verdict.as_ref();
    let part = Some(u64::from(meta.part)).filter(|&part| part > 0);
    let settings = meta.environment.iter().map(|(name, value)| format!("{name}={value}"));
    rows.add([
        source.recording.into(),
        VERSION.into(),
        source.labels.service.as_str().into(),
        unless_empty(&source.labels.release).into(),
        unless_empty(&meta.host).into(),
        Value::Time(crate::column::signed(meta.started_unix_ns / 1000)),
        a.duration.into(),
        meta.command.iter().map(String::as_str).collect(),
        build_id(a).into(),
        end.and_then(|end| end.exit_code).into(),
        end.and_then(|end| end.signal).into(),
        (end.is_some() && !a.lacks_a_part()).into(),
        part.into(),
        part.map(|_| end.is_some_and(|end| end.goes_on)).into(),
        meta.heapwise.as_str().into(),
        unless_empty(&meta.system).into(),
        unless_empty(&meta.architecture).into(),
        meta.processors.into(),
        meta.page_bytes.into(),
        meta.interception.name().into(),
        a.processes
            .first()
            .map(|process| a.allocator_name(&process.allocator))
            .filter(|name| !name.is_empty())
            .into(),
        settings.collect(),
        sampled.map(|sampled| sampled.every).into(),
        (a.processes.len() as u64).into(),
        (a.threads.len() as u64).into(),
        (a.sites().len() as u64).into(),
        totals.allocations.into(),
        totals.reallocations.into(),
        totals.deallocations.into(),
        totals.allocated_bytes.into(),
        totals.temporary_allocations.into(),
        totals.peak_live_bytes.into(),
        totals.peak_live_blocks.into(),
        totals.live_at_exit_bytes.into(),
        totals.live_at_exit_blocks.into(),
        totals.never_freed_bytes.into(),
        totals.never_freed_blocks.into(),
        totals.failed_allocations.into(),
        totals.lost_events.into(),
        a.memory.peak_rss.into(),
        end.map(|end| end.cpu_ns).filter(|&ns| ns > 0).into(),
        time.map(|time| time.time).into(),
        time.map(|time| time.error).into(),
        sampled.map(|sampled| sampled.requests_error).into(),
        sampled.map(|sampled| sampled.allocated_bytes_error).into(),
        sampled.map(|sampled| sampled.peak_live_bytes_error).into(),
        sampled.map(|sampled| sampled.live_at_exit_bytes_error).into(),
        verdict.map(|verdict| verdict.kind.id()).into(),
        verdict.map(|verdict| verdict.sentence.as_str()).into(),
        a.warnings.iter().map(Warning::id).collect(),
        a.blind_spots.iter().map(|spot| spot.id.as_str()).collect(),
    ]);
}

/// The build id of the program's own file.
fn build_id(analysis: &Analysis) -> Option<&str> {
    let modules = analysis.processes.iter().flat_map(|process| &process.modules);
    let program = modules.into_iter().find(|module| is_program(&module.path))?;
    unless_empty(&program.build_id)
}

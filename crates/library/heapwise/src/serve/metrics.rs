//! Numbers for Prometheus, in its text format, version 0.0.4.

use heapwise_portable::profile::{Memory, Snapshot};
use std::fmt::Write;

/// A number with its name, its kind and what it is.
struct Metric {
    name: &'static str,
    kind: &'static str,
    help: &'static str,
    value: f64,
}

/// All of them. What the system does not say is left out.
pub(super) fn text(now: &Snapshot, memory: Memory) -> String {
    let mut text = String::new();
    for Metric { name, kind, help, value } in metrics(now, memory) {
        let _ = write!(
            text,
            "# HELP heapwise_{name} {help}\n# TYPE heapwise_{name} {kind}\nheapwise_{name} {value}\n"
        );
    }
    text
}

fn metrics(now: &Snapshot, memory: Memory) -> Vec<Metric> {
    let (totals, counts) = (&now.totals, &now.totals.counts);
    let gauge = |name, help, value| Metric { name, kind: "gauge", help, value };
    let whole = |name, help, value: u64| gauge(name, help, value as f64);
    let counter = |name, help, value: u64| Metric { name, kind: "counter", help, value: value as f64 };
    let mut all = vec![
        whole(
            "heap_live_bytes",
            "Estimate of the requested bytes that are live, of blocks since sampling began.",
            counts.live_bytes,
        ),
        whole("heap_live_blocks", "Estimate of the blocks that are live.", counts.live_objects),
        counter(
            "heap_requests_total",
            "Estimate of allocations and reallocations since sampling began.",
            counts.alloc_objects,
        ),
        counter("heap_requested_bytes_total", "Estimate of the bytes of these requests.", counts.alloc_bytes),
    ];
    all.extend(totals.live_bytes_error.map(|error| {
        let help = "Standard error of heapwise_heap_live_bytes. It is not there if none or not all of the samples are, and means little \
             with fewer than 16 of heapwise_profile_live_samples.";
        gauge("heap_live_bytes_standard_error", help, error)
    }));
    all.extend(totals.alloc_bytes_error.map(|error| {
        let help = "Standard error of heapwise_heap_requested_bytes_total. It is not there if none or not all of the samples are, and \
             means little with fewer than 16 of heapwise_profile_samples_total.";
        gauge("heap_requested_bytes_standard_error", help, error)
    }));
    all.extend(memory.resident.map(|bytes| {
        whole("process_resident_bytes", "Resident memory of the process, with code and files.", bytes)
    }));
    all.extend(memory.anonymous.map(|bytes| {
        whole("process_anonymous_bytes", "Resident memory that no file has: heap and stacks.", bytes)
    }));
    all.extend(memory.anonymous.filter(|bytes| *bytes > 0).map(|bytes| {
        let share = 1.0 - counts.live_bytes as f64 / bytes as f64;
        gauge(
            "heap_fragmentation_ratio_estimate",
            "Share of heapwise_process_anonymous_bytes that no live block explains: at most so much is fragmentation and free pages; \
             stacks, blocks from before sampling, memory of C code, the allocator's own and heapwise's are in it. \
             0 also if live blocks have more bytes than are resident, because they were not written to.",
            share.max(0.0),
        )
    }));
    all.extend([
        whole(
            "profile_period_bytes",
            "At most so many bytes lie between two sampled blocks on average.",
            now.sample_bytes,
        ),
        gauge(
            "profile_start_time_seconds",
            "When sampling began, in seconds since 1970.",
            now.started_unix_ns as f64 / 1e9,
        ),
        counter("profile_samples_total", "Blocks that were sampled.", totals.samples),
        whole("profile_live_samples", "Sampled blocks that are live.", totals.live_samples),
        counter(
            "profile_lost_samples_total",
            "Samples that are missing in all numbers, because there was no room for them.",
            totals.lost_samples,
        ),
        counter(
            "profile_unfollowed_samples_total",
            "Samples that are in the numbers of requests and not among the live ones, because there was no place for them.",
            totals.unfollowed_samples,
        ),
        counter(
            "profile_lost_frees_total",
            "Ends of sampled blocks that there was no room for. They are noticed a second later.",
            totals.lost_frees,
        ),
        counter(
            "profile_samples_without_stack_total",
            "Samples that are in the totals only, because there was no room for more stacks.",
            totals.samples_without_stack,
        ),
        whole("profile_stacks", "Different stacks that are kept.", totals.stacks),
        whole(
            "profile_memory_bytes",
            "Memory that is kept for the profile, at most, without names.",
            totals.own_bytes,
        ),
    ]);
    all
}

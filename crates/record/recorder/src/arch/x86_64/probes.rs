//! Probes that other tools attach to: a `nop` each, and a note in the file that says where it is and where its arguments are.
//!
//! They are those of OpenTelemetry's contract for allocators that sample (`otel_memory`, opentelemetry-ebpf-profiler,
//! design-docs/00003-memory-profiling): a tool takes the stack itself. Only what is recorded comes by, so they cost nothing otherwise.

/// A block was handed out that stands for so many bytes.
#[cold]
#[inline(never)]
pub fn allocated(block: usize, size: u64, weighted_bytes: u64) {
    probe::probe!(otel_memory, alloc, block, size, weighted_bytes);
}

/// Such a block is given up.
#[cold]
#[inline(never)]
pub fn freed(block: usize) {
    probe::probe!(otel_memory, free, block);
}

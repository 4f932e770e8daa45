//! One row for each call site of a recording.

use super::RECORDING;
use crate::column::{Column, Kind, Value};
use crate::rows::Rows;
use crate::source::Source;
use crate::stacks::name;
use crate::table::Table;

pub(super) static TABLE: Table = Table {
    name: "sites",
    about: "one row for each stack that allocated: 20,000 of a recording at most, and one without a stack that has the sums of all others",
    columns: &[
        RECORDING,
        Column::optional("stack_id", Kind::Id, "the stack, in `stacks`; none for the sums of all others"),
        Column::optional(
            "place",
            Kind::Text,
            "the nearest function that the user wrote, as in `frames`; or the module and an address",
        ),
        Column::optional("place_file", Kind::Text, "its source file"),
        Column::optional("place_line", Kind::Integer, "its line; of several the one with the most bytes"),
        Column::new("allocations", Kind::Integer, "blocks that were handed out"),
        Column::new("reallocations", Kind::Integer, "blocks that were resized"),
        Column::new("deallocations", Kind::Integer, "blocks that were freed"),
        Column::new("allocated_bytes", Kind::Integer, "requested bytes of allocations and reallocations"),
        Column::new(
            "temporary_allocations",
            Kind::Integer,
            "blocks that were freed before their thread allocated again",
        ),
        Column::new("peak_bytes", Kind::Integer, "live bytes at the peak of the whole recording"),
        Column::new("peak_blocks", Kind::Integer, "live blocks at that moment"),
        Column::new(
            "most_live_bytes",
            Kind::Integer,
            "no less than the most live bytes that it ever had: the sum of what several processes and lines had",
        ),
        Column::new("live_at_exit_bytes", Kind::Integer, "bytes that were never freed"),
        Column::new("live_at_exit_blocks", Kind::Integer, "blocks that were never freed"),
        Column::new("failed_allocations", Kind::Integer, "requests that the allocator refused"),
        Column::new("freed_on_other_thread", Kind::Integer, "blocks that another thread freed"),
        Column::new("copied_bytes", Kind::Integer, "bytes that were copied since buffers grew"),
        Column::new("growth_steps", Kind::Integer, "how often buffers grew"),
        Column::new("lifetimes_us", Kind::Integer, "sum of the lifetimes of all blocks, in microseconds"),
        Column::optional(
            "allocator_time_ns",
            Kind::Integer,
            "time in the allocator, from calls that were measured",
        ),
        Column::new(
            "samples",
            Kind::Integer,
            "requests that were recorded: all of them, unless it is a sample",
        ),
        Column::new(
            "requests_variance",
            Kind::Real,
            "about the variance of allocations and reallocations together, by their sizes; 0 without sampling",
        ),
        Column::new("allocated_bytes_variance", Kind::Real, "about the variance of the allocated bytes"),
        Column::new(
            "sizes",
            Kind::Integers,
            "about how many requests had which size: first those of 0 bytes, then those of 1, 2 to 3, 4 to 7 and so on",
        ),
        Column::new(
            "lifetimes",
            Kind::Integers,
            "about how many freed blocks had which lifetime: first those below 1,024 ns, then those below 2,048, 4,096 and so on",
        ),
    ],
    is_sparse: false,
    fill,
};

fn fill(source: &Source<'_>, rows: &mut Rows) {
    for site in &source.stacks.sites {
        let (sums, numbers) = (&site.sums, &site.sums.numbers);
        let place = site.place.as_ref();
        rows.add([
            source.recording.into(),
            site.stack.into(),
            place.map(name).into(),
            place.and_then(|frame| frame.file).into(),
            place.and_then(|frame| frame.line).into(),
            numbers.allocations.into(),
            numbers.reallocations.into(),
            sums.deallocations.into(),
            numbers.allocated_bytes.into(),
            numbers.temporary_allocations.into(),
            numbers.peak_bytes.into(),
            numbers.peak_blocks.into(),
            numbers.most_live_bytes.into(),
            numbers.live_at_exit_bytes.into(),
            numbers.live_at_exit_blocks.into(),
            sums.failed_allocations.into(),
            sums.freed_on_other_thread.into(),
            sums.copied_bytes.into(),
            sums.growth_steps.into(),
            numbers.lifetimes_us.into(),
            sums.allocator_time_ns.into(),
            sums.samples.into(),
            sums.requests_variance.into(),
            sums.allocated_bytes_variance.into(),
            Value::Integers(sums.sizes.clone()),
            Value::Integers(sums.lifetimes.clone()),
        ]);
    }
}

//! On other systems the program records itself, by a sample of its blocks.

use super::{Function, Mark, Recorded};
use crate::Severity;
use crate::state::{self, RECORDING};
use heapwise_portable::{self as recorder, AllocFunction, EnvironmentFinding, Hooks, MarkKind};
#[cfg(feature = "record-to")]
use heapwise_trace::sampling::DEFAULT_SAMPLE_BYTES;
use std::alloc::Layout;
use std::io;
use std::path::Path;
use std::time::Duration;

/// Whether the first call of a process has to find out whether it is recorded.
pub(crate) const POSSIBLE: bool = true;

/// Whether a recording is a sample.
#[cfg(feature = "serve")]
pub(crate) const IS_SAMPLE: bool = true;

static HOOKS: Hooks = Hooks { ended: || state::clear(RECORDING), environment: findings };

/// Begins to record if the environment says so. `inner` is the name of the inner allocator's type.
pub(crate) fn begin_if_wanted(inner: &'static str) -> bool {
    recorder::begin_if_wanted(inner, &HOOKS)
}

/// Begins to record. The number of the recording.
pub(super) fn start(path: &Path, sample_bytes: Option<u64>) -> io::Result<u32> {
    recorder::start(path, sample_bytes.unwrap_or(DEFAULT_SAMPLE_BYTES), &HOOKS, || state::set(RECORDING))
}

/// Ends a recording and waits until it is written. `None` if it is over, or belongs to another process.
pub(super) fn finish(recording: u32, patience: Option<Duration>) -> Option<io::Result<Recorded>> {
    let outcome = recorder::finish(recording, patience)?;
    Some(outcome.map(|written| Recorded {
        path: written.path,
        events: written.events,
        lost_events: written.lost_events,
        bytes: written.bytes,
    }))
}

pub(crate) use super::elsewhere::{Caller, alloc_below, dealloc_below, with_caller};

#[inline]
pub(crate) fn allocation(
    layout: &Layout,
    function: Function,
    _: &Caller,
    call: impl FnOnce() -> *mut u8,
) -> *mut u8 {
    let function = match function {
        Function::Alloc => AllocFunction::Malloc,
        Function::AllocZeroed => AllocFunction::Calloc,
    };
    recorder::allocation(layout, function, call)
}

#[inline]
pub(crate) fn deallocation(block: *mut u8, _: &Caller, call: impl FnOnce()) {
    recorder::deallocation(block, call);
}

#[inline]
pub(crate) fn reallocation(
    block: *mut u8,
    layout: &Layout,
    size: usize,
    _: &Caller,
    call: impl FnOnce() -> *mut u8,
) -> *mut u8 {
    recorder::reallocation(block, layout, size, call)
}

/// Marks and spans of the program.
pub(crate) fn mark(mark: Mark, name: &str) {
    let kind = match mark {
        Mark::Moment => MarkKind::Point,
        Mark::Begin => MarkKind::Begin,
        Mark::End => MarkKind::End,
    };
    recorder::mark(kind, name);
}

/// What slows this process's heap from outside of its code.
fn findings() -> Vec<EnvironmentFinding> {
    let environment = crate::environment();
    let serious = environment.findings().iter().filter(|finding| finding.severity > Severity::Note);
    serious
        .map(|finding| EnvironmentFinding {
            check: finding.check.to_owned(),
            severity: finding.severity.id().to_owned(),
            title: finding.title.clone(),
            evidence: finding.evidence.clone(),
            cost: finding.cost.clone(),
            remedy: finding.remedy.clone(),
        })
        .collect()
}

/// Here the sampler excludes it, or nothing is recorded.
#[cfg(feature = "serve")]
pub(crate) fn exclude_this_thread() {}

//! The last moment of a process: the collector may take a snapshot of its pages before they are gone.
//!
//! Pages are read from outside, and what a process has kept is best seen when it has done everything and still exists.
//! So a process that ends by itself announces it and waits, for a bounded time and only if a collector is listening.
//! One that is killed, or leaves by `_exit`, does not announce it; then the last snapshot before that is used.

use crate::process::PROCESS;
use crate::sys;
use core::sync::atomic::Ordering;
use heapwise_trace::live::layout::exit_state;

/// How often and how long the process waits: a second at most. A snapshot takes some milliseconds, and of a heap of several gibibytes a
/// tenth of a second; the rest is for a collector that gets no processor, as on a machine that compiles beside it. One that is stopped
/// delays the end by this much.
const STEPS: usize = 100;
const STEP_NS: u64 = 10_000_000;

/// Announces the end and waits.
pub fn say() {
    let (Some(header), Some(session)) = (PROCESS.header(), PROCESS.session()) else { return };
    let exiting = &header.exiting;
    if exiting.swap(exit_state::ANNOUNCED, Ordering::AcqRel) != exit_state::RUNNING {
        return;
    }
    for _ in 0..STEPS {
        if session.is_stopped() || PROCESS.collector_is_gone(session) {
            break;
        }
        PROCESS.region.wake_collector();
        sys::futex_wait(exiting, exit_state::ANNOUNCED, STEP_NS);
        if exiting.load(Ordering::Acquire) != exit_state::ANNOUNCED {
            return;
        }
    }
    // If the collector is taking a snapshot right now, it finds that it was too late.
    let (from, to) = (exit_state::ANNOUNCED, exit_state::GONE_ON);
    let _ = exiting.compare_exchange(from, to, Ordering::AcqRel, Ordering::Relaxed);
}

//! Asks the collector to trace this thread, which is about to execute a program that no library can be preloaded into
//! ([`heapwise_trace::live::traced`]).

use crate::process::PROCESS;
use crate::sys;
use core::sync::atomic::{AtomicBool, Ordering};
use heapwise_trace::live::layout::SessionHeader;
use heapwise_trace::live::traced::{Request, state};

/// How often and how long it waits for the answer: a second, in which the collector starts what traces.
const STEPS: usize = 50;
const STEP_NS: u64 = 20_000_000;

/// Whether there was no answer in time: a collector that stands still is waited for once.
static GAVE_UP: AtomicBool = AtomicBool::new(false);

/// Asks, and waits. Returns whether this thread is traced.
pub(crate) fn ask(session: &SessionHeader) -> bool {
    if session.traces.load(Ordering::Relaxed) == 0 || GAVE_UP.load(Ordering::Relaxed) {
        return false;
    }
    let (Some(process), Some(thread)) = (sys::id_in_proc(), sys::thread_id_in_proc()) else { return false };
    let take = |request: &&Request| {
        let (from, to) = (state::FREE, state::TAKEN);
        request.state.compare_exchange(from, to, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    };
    let Some(request) = session.requests.iter().find(take) else { return false };
    request.process.store(process, Ordering::Relaxed);
    request.thread.store(thread, Ordering::Relaxed);
    sys::allow_tracing_by(session.collector_pid.load(Ordering::Relaxed));
    request.state.store(state::ASKED, Ordering::Release);
    let is_traced = is_traced(session, request);
    request.state.store(state::FREE, Ordering::Release);
    is_traced
}

fn is_traced(session: &SessionHeader, request: &Request) -> bool {
    for _ in 0..STEPS {
        if session.is_stopped() || PROCESS.collector_is_gone(session) {
            return false;
        }
        let wake = &session.wake.0;
        if wake.load(Ordering::Relaxed) == 1 && wake.swap(0, Ordering::AcqRel) == 1 {
            sys::futex_wake(wake);
        }
        sys::futex_wait(&request.state, state::ASKED, STEP_NS);
        match request.state.load(Ordering::Acquire) {
            state::ASKED => {}
            answer => return answer == state::TRACED,
        }
    }
    GAVE_UP.store(true, Ordering::Relaxed);
    false
}

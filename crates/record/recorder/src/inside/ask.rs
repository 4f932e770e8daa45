//! Asks the collector which functions of the files that this process has mapped are to be entered through the recorder.

use super::apply::apply;
use crate::process::{PROCESS, Process};
use crate::sys;
use core::sync::atomic::Ordering;
use heapwise_trace::live::hooks::{HOOK_TABLE_BYTES, MOST_HOOKS, SharedHook};
use heapwise_trace::live::layout::ProcessHeader;

/// How often and how long a process waits for the answer: two seconds, for files with a hundred thousand functions on a busy machine.
const STEPS: usize = 100;
const STEP_NS: u64 = 20_000_000;

/// Has the functions of allocators inside of what is mapped now entered through the recorder. The caller has set the thread's guard,
/// and what is new among the mapped files is not executed yet.
pub fn look() {
    if let Some(header) = PROCESS.header()
        && PROCESS.session().is_some_and(|session| session.plans_hooks.load(Ordering::Relaxed) != 0)
        && let Some(table) = table(&PROCESS, header)
        && is_answered(&PROCESS, header)
    {
        let published = (header.hook_count.load(Ordering::Acquire) as usize).min(MOST_HOOKS);
        let seen = PROCESS.asked.seen.swap(published as u32, Ordering::Relaxed) as usize;
        let mut news = table.iter().enumerate().take(published).skip(seen);
        apply(|| news.next().map(|(index, hook)| (index, hook.load())), &header.hook_results);
    }
}

/// The table of hooks, which is made for the first question.
fn table(process: &'static Process, header: &ProcessHeader) -> Option<&'static [SharedHook]> {
    let mut at = process.asked.table.load(Ordering::Acquire);
    if at.is_null() {
        let held = process.region.hold()?;
        let extent = process.region.allocate(&held, HOOK_TABLE_BYTES)?;
        at = extent.at.cast();
        process.asked.table.store(at, Ordering::Release);
        header.hook_table.store(extent.offset, Ordering::Release);
    }
    // SAFETY: memory of the session of this size, zeroed, aligned to a page and never unmapped, which consists of atomics.
    Some(unsafe { core::slice::from_raw_parts(at, MOST_HOOKS) })
}

/// Asks, and waits. Returns whether there was an answer in time.
fn is_answered(process: &'static Process, header: &ProcessHeader) -> bool {
    if process.asked.gave_up.load(Ordering::Relaxed) != 0 {
        return false;
    }
    let question = header.hooks_asked.fetch_add(1, Ordering::AcqRel) + 1;
    let Some(session) = process.session() else { return false };
    let mut last = header.hooks_answered.load(Ordering::Acquire);
    for _ in 0..STEPS {
        if last >= question {
            return true;
        }
        if session.is_stopped() || process.collector_is_gone(session) {
            break;
        }
        process.region.wake_collector();
        sys::futex_wait(&header.hooks_answered, last, STEP_NS);
        last = header.hooks_answered.load(Ordering::Acquire);
    }
    // A collector that does not answer is stopped, or gone: the program is not to wait for it again.
    process.asked.gave_up.store(u32::from(last < question), Ordering::Relaxed);
    last >= question
}

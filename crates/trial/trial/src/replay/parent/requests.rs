//! Requests to the allocator after the last record, while all threads that stay are still there.

use super::memory::Memory;
use crate::replay::shared::wish;
use crate::supervise::Child;
use heapwise_allocators::OwnStatistics;
use heapwise_analysis::Bytes;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// The allocator's statistics of its memory; `None` if it has none.
pub(super) fn statistics(process: &mut Child, memory: &Memory) -> Option<OwnStatistics> {
    if !fulfilled(process, memory, wish::TELL) {
        return None;
    }
    let numbers = memory.header().own.each_ref().map(|number| number.load(Ordering::Relaxed));
    Some(OwnStatistics::from_numbers(numbers))
}

/// Resident memory after a call that returns free pages to the system, without what the kernel may take.
pub(super) fn purge(process: &mut Child, memory: &Memory) -> Option<Bytes> {
    if !fulfilled(process, memory, wish::PURGE) {
        return None;
    }
    let (rss, lazily_freed) = super::anonymous(process)?;
    Some(Bytes(rss.0.saturating_sub(lazily_freed.0)))
}

fn fulfilled(process: &mut Child, memory: &Memory, what: u32) -> bool {
    let header = memory.header();
    header.wish.store(what, Ordering::Release);
    let began = Instant::now();
    loop {
        match header.wish.load(Ordering::Acquire) {
            wish::DONE => return true,
            wish::NOT_POSSIBLE => return false,
            _ if process.poll().is_some() || began.elapsed() > PATIENCE => return false,
            _ => std::thread::sleep(Duration::from_micros(200)),
        }
    }
}

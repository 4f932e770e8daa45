//! Processor time, where the system reports it precisely enough.

/// How long this thread has had a processor.
#[cfg(unix)]
pub(super) fn thread_ns() -> Option<u64> {
    ns(rustix::time::ClockId::ThreadCPUTime)
}

/// How long all threads of this process have had one, those that have ended among them.
#[cfg(unix)]
pub(super) fn process_ns() -> Option<u64> {
    ns(rustix::time::ClockId::ProcessCPUTime)
}

#[cfg(unix)]
fn ns(clock: rustix::time::ClockId) -> Option<u64> {
    let time = rustix::time::clock_gettime(clock);
    u64::try_from(time.tv_sec * 1_000_000_000 + time.tv_nsec).ok()
}

/// Windows reports it in steps of 15 ms only, which is longer than many a phase.
#[cfg(not(unix))]
pub(super) fn thread_ns() -> Option<u64> {
    None
}

/// Windows reports it in steps of 15 ms only, which is longer than many a phase.
#[cfg(not(unix))]
pub(super) fn process_ns() -> Option<u64> {
    None
}

//! Puts a thread of ours in front of others, which it does for as long as a process stands still.
//!
//! Threads that still run want the processor as much as we do. With sixty of them on two processors, whoever has had its share waits for
//! all of them, for a tenth of a second, and those that have stopped already wait as well.

#![expect(unsafe_code, reason = "system calls that have no function elsewhere")]

/// The lowest place in front of all others.
const PRIORITY: libc::c_int = 1;

/// Puts the calling thread in front of others, for the rest of its time. Whoever may not be there takes turns as before.
pub(super) fn go() {
    // SAFETY: an integer alone.
    let policy = unsafe { libc::sched_getscheduler(0) };
    // What is already in front stays as it is.
    if !matches!(policy & !libc::SCHED_RESET_ON_FORK, libc::SCHED_OTHER | libc::SCHED_BATCH) {
        return;
    }
    // SAFETY: zeros are a valid structure of numbers; C libraries differ in how many there are.
    let mut place: libc::sched_param = unsafe { std::mem::zeroed() };
    place.sched_priority = PRIORITY;
    // SAFETY: the kernel reads one structure, a variable of ours that lives until then.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_RR | libc::SCHED_RESET_ON_FORK, &raw const place) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_in_front_alone() {
        // SAFETY: integers.
        let policy = || unsafe { libc::sched_getscheduler(0) };
        let before = policy();
        let during = std::thread::spawn(move || {
            go();
            policy()
        });
        let during = during.join().expect("it ends");
        assert!([before, libc::SCHED_RR | libc::SCHED_RESET_ON_FORK].contains(&during), "{during}");
        assert_eq!(policy(), before);
    }
}

//! Puts a thread of ours in front of others, for as long as a process stands still.
//!
//! Threads that still run want the processor as much as we do. With sixty of them on two processors, whoever has had its share waits for
//! all of them, for a tenth of a second, and those that have stopped already wait as well.

#![expect(unsafe_code, reason = "system calls that have no function elsewhere")]

/// The lowest place in front of all others.
const PRIORITY: libc::c_int = 1;

/// The calling thread in front of others, until this is dropped. Whoever may not be there takes turns as before.
#[derive(Debug)]
pub(super) struct Ahead {
    thread: libc::pid_t,
    /// What it was before; nothing if it stayed that.
    before: Option<(libc::c_int, libc::sched_param)>,
}

impl Ahead {
    pub(super) fn go() -> Self {
        // SAFETY: integers alone.
        let (thread, policy) = unsafe { (libc::gettid(), libc::sched_getscheduler(0)) };
        // SAFETY: zeros are a valid structure of numbers; C libraries differ in how many there are.
        let (mut old, mut new): (libc::sched_param, libc::sched_param) =
            unsafe { (std::mem::zeroed(), std::mem::zeroed()) };
        new.sched_priority = PRIORITY;
        // SAFETY: the kernel writes one structure, which is a variable of ours and borrowed by nothing else.
        let is_known = policy >= 0 && unsafe { libc::sched_getparam(0, &raw mut old) } == 0;
        // What is already in front stays as it is.
        let is_last = matches!(policy & !libc::SCHED_RESET_ON_FORK, libc::SCHED_OTHER | libc::SCHED_BATCH);
        // SAFETY: the kernel reads one structure, a variable of ours that lives until then.
        let is_ahead = is_known
            && is_last
            && unsafe {
                libc::sched_setscheduler(0, libc::SCHED_RR | libc::SCHED_RESET_ON_FORK, &raw const new)
            } == 0;
        Self { thread, before: is_ahead.then_some((policy, old)) }
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        if let Some((policy, old)) = &self.before {
            // SAFETY: the kernel reads one structure, which is borrowed until then.
            unsafe { libc::sched_setscheduler(self.thread, *policy, std::ptr::from_ref(old)) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_afterwards_what_it_was() {
        // SAFETY: integers.
        let policy = || unsafe { libc::sched_getscheduler(0) };
        let before = policy();
        let ahead = Ahead::go();
        let during = if ahead.before.is_some() { libc::SCHED_RR | libc::SCHED_RESET_ON_FORK } else { before };
        assert_eq!(policy(), during);
        drop(ahead);
        assert_eq!(policy(), before);
    }
}

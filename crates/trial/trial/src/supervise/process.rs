//! Which processes there are, whose they are, and what they needed.

use super::sys::{self, Signal};
use procfs::process::{Process, Stat};
use std::ffi::OsStr;
use std::time::Duration;

/// The unit of processor times in `/proc`, the same on all machines of this processor.
pub(crate) const TICK: Duration = Duration::from_millis(10);

/// One line of `/proc` about a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Account {
    /// Whether it has ended and only waits to be waited for.
    pub(crate) has_ended: bool,
    pub(crate) parent: i32,
    pub(crate) group: i32,
    /// When it began, in ticks since the machine did: with its id, it names it for good.
    pub(crate) began: u64,
    /// Its processor time, without its children.
    pub(crate) own: Duration,
    /// Processor time of the children that it waited for, with theirs.
    pub(crate) waited_for: Duration,
}

impl From<&Stat> for Account {
    fn from(stat: &Stat) -> Self {
        let ticks = |n: u64| TICK * u32::try_from(n).unwrap_or(u32::MAX);
        Self {
            has_ended: matches!(stat.state, 'Z' | 'X'),
            parent: stat.ppid,
            group: stat.pgrp,
            began: stat.starttime,
            own: ticks(stat.utime + stat.stime),
            waited_for: ticks((stat.cutime + stat.cstime).max(0).unsigned_abs()),
        }
    }
}

/// Looks at a process; `None` for one that is gone.
pub(crate) fn account(pid: i32) -> Option<Account> {
    Some(Account::from(&Process::new(pid).ok()?.stat().ok()?))
}

/// Processes that a process started and that are there, by all its threads.
pub fn children(pid: i32) -> Vec<i32> {
    let tasks = Process::new(pid).and_then(|process| process.tasks()).into_iter().flatten().flatten();
    tasks.filter_map(|task| task.children().ok()).flatten().map(u32::cast_signed).collect()
}

/// Ends a process at once.
pub fn end(pid: i32) {
    sys::kill(pid, Signal::KILL);
}

/// Whether a process ignores the ends of its children: the kernel then forgets what they needed.
pub(crate) fn ignores_children(pid: i32) -> bool {
    let ignored = Process::new(pid).and_then(|process| process.status()).map(|status| status.sigign);
    ignored.is_ok_and(|set| set >> (libc::SIGCHLD - 1) & 1 == 1)
}

/// Whether a process was started with this variable.
pub(crate) fn has_variable(pid: i32, name: &str, value: &str) -> bool {
    let environment = Process::new(pid).and_then(|process| process.environ()).unwrap_or_default();
    environment.get(OsStr::new(name)).is_some_and(|found| found == value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use procfs::FromRead;

    #[test]
    fn the_own_process_is_known() {
        let pid = std::process::id() as i32;
        assert!(account(pid).is_some_and(|account| !account.has_ended) && account(i32::MAX).is_none());
        let path = std::env::var("PATH").unwrap();
        assert!(has_variable(pid, "PATH", &path) && !has_variable(pid, "PATH", ""));
        assert!(!ignores_children(pid));
    }

    #[test]
    fn a_child_is_one_whichever_thread_started_it() {
        let start = || std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let mut both = [start(), std::thread::spawn(start).join().unwrap()];
        let found = children(std::process::id() as i32);
        let known = both.each_ref().map(|child| found.contains(&child.id().cast_signed()));
        for child in &mut both {
            child.kill().and_then(|()| child.wait()).unwrap();
        }
        assert_eq!(known, [true; 2]);
    }

    #[test]
    fn a_name_cannot_forge_the_other_fields_of_a_process() {
        let rest = "0 ".repeat(26);
        let line =
            format!("7 (a) Z 1 (b) S 12 34 34 0 -1 4194560 1 2 3 4 150 50 7 3 20 0 1 0 98765 1 1 {rest}");
        let account = Account::from(&Stat::from_read(line.as_bytes()).unwrap());
        assert_eq!((account.has_ended, account.parent, account.group, account.began), (false, 12, 34, 98765));
        assert_eq!((account.own, account.waited_for), (Duration::from_secs(2), Duration::from_millis(100)));
        assert!(Stat::from_read("7 (a) S 1".as_bytes()).is_err());
    }
}

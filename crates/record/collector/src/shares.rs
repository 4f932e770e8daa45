//! Resident memory of processes that share pages, each page counted once.
//!
//! A forked child has all pages of its parent until one of them writes. Added up, they would be there twice. The kernel
//! divides a page by the number of processes that have it (PSS), but it walks through all pages for that. So it is
//! asked a small part of the time only; in between, the share that it found last is applied to the resident size.

use crate::sys::thread_cpu;
use heapwise_trace::file::records::ProcessIndex;
use std::collections::HashMap;
use std::time::Duration;

/// How long a share holds while the same processes are there.
const REFRESH: Duration = Duration::from_millis(100);
/// Reading the shares may take one part in so many of the time, in processor time, after what is allowed at the start.
const PART: u32 = 50;
const ALLOWANCE: Duration = Duration::from_millis(50);

/// What the kernel says of a process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Resident {
    pub(crate) process: ProcessIndex,
    pub(crate) pid: u32,
    /// Resident bytes without the session's.
    pub(crate) rss_bytes: u64,
    /// Resident bytes of the session's memory, which the collector has, too.
    pub(crate) own_bytes: u64,
}

/// The kernel's sums over all pages of a process: resident and proportional bytes. `None` if it is gone, or they cannot be had.
type Ask = fn(u32) -> Option<(u64, u64)>;

#[derive(Clone, Copy, Debug)]
struct Share {
    /// Proportional bytes for each resident one.
    part: f64,
    asked: Duration,
}

/// What share of its resident memory each process has.
#[derive(Debug)]
pub(crate) struct Shares {
    ask: Ask,
    known: HashMap<ProcessIndex, Share>,
    /// Those of the last time.
    together: Vec<ProcessIndex>,
    spent: Duration,
}

impl Shares {
    pub(crate) fn new(ask: Ask) -> Self {
        Self { ask, known: HashMap::new(), together: Vec::new(), spent: Duration::ZERO }
    }

    /// Bytes of each of the processes that are there `now`, in their order, and whether shared pages are counted once in
    /// them. A process that is alone has its whole resident memory.
    pub(crate) fn of(&mut self, all: &[Resident], now: Duration) -> (Vec<u64>, bool) {
        let whole = || all.iter().map(|r| r.rss_bytes).collect();
        if all.len() < 2 {
            self.known.clear();
            self.together.clear();
            return (whole(), true);
        }
        // A process that comes or goes changes the shares of the others.
        if !self.together.iter().eq(all.iter().map(|r| &r.process)) {
            self.together = all.iter().map(|r| r.process).collect();
            self.known.retain(|process, share| {
                share.asked = Duration::ZERO;
                self.together.contains(process)
            });
        }
        let mut is_once = true;
        let bytes = all.iter().map(|resident| match self.part(resident, now) {
            Some(part) => (resident.rss_bytes as f64 * part) as u64,
            None => {
                is_once = false;
                resident.rss_bytes
            }
        });
        (bytes.collect(), is_once)
    }

    fn part(&mut self, resident: &Resident, now: Duration) -> Option<f64> {
        let known = self.known.get(&resident.process).copied();
        let is_fresh = known
            .is_some_and(|share| share.asked > Duration::ZERO && now < share.asked.saturating_add(REFRESH));
        if is_fresh || self.spent > ALLOWANCE + now / PART {
            return known.map(|share| share.part);
        }
        let began = thread_cpu();
        let answer = (self.ask)(resident.pid);
        self.spent += thread_cpu().saturating_sub(began);
        let Some((rss, pss)) = answer else { return known.map(|share| share.part) };
        // The collector has the session's pages as well, so half of each is this process's.
        let (rss, pss) = (rss.saturating_sub(resident.own_bytes), pss.saturating_sub(resident.own_bytes / 2));
        let part = if rss == 0 { 1.0 } else { (pss as f64 / rss as f64).min(1.0) };
        self.known.insert(resident.process, Share { part, asked: now.max(Duration::from_nanos(1)) });
        Some(part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn resident(index: u32, rss_bytes: u64) -> Resident {
        Resident { process: ProcessIndex(index), pid: index, rss_bytes, own_bytes: 0 }
    }

    /// Processes with a hundred mebibytes of which they share eighty with one other; that with the number 9 says nothing.
    fn ask(pid: u32) -> Option<(u64, u64)> {
        (pid != 9).then_some((100 * MIB, 60 * MIB))
    }

    #[test]
    fn shared_pages_are_counted_once_and_only_where_there_are_several() {
        let mut shares = Shares::new(ask);
        let alone = [resident(1, 100 * MIB)];
        assert_eq!(shares.of(&alone, Duration::from_secs(1)), (vec![100 * MIB], true));
        let both = [resident(1, 100 * MIB), resident(2, 50 * MIB)];
        assert_eq!(shares.of(&both, Duration::from_secs(1)), (vec![60 * MIB, 30 * MIB], true));
        assert_eq!(shares.of(&alone, Duration::from_secs(1)).0, [100 * MIB], "the other one has ended");
    }

    #[test]
    fn a_process_of_which_nothing_can_be_had_counts_whole_and_is_not_hidden() {
        let mut shares = Shares::new(ask);
        let both = [resident(1, 100 * MIB), resident(9, 50 * MIB)];
        assert_eq!(shares.of(&both, Duration::from_secs(1)), (vec![60 * MIB, 50 * MIB], false));
    }

    #[test]
    fn the_sessions_memory_is_in_no_share() {
        let mut shares = Shares::new(|_| Some((100 * MIB, 60 * MIB)));
        let of = |index| Resident { own_bytes: 20 * MIB, ..resident(index, 80 * MIB) };
        let (bytes, _) = shares.of(&[of(1), of(2)], Duration::from_secs(1));
        assert_eq!(bytes, [50 * MIB, 50 * MIB]);
    }

    #[test]
    fn asking_takes_a_small_part_of_the_time() {
        fn slow(_: u32) -> Option<(u64, u64)> {
            let began = thread_cpu();
            while thread_cpu() < began + Duration::from_millis(5) {}
            Some((2, 1))
        }
        let mut shares = Shares::new(slow);
        let both = [resident(1, 2), resident(2, 2)];
        for i in 1..=200 {
            shares.of(&both, Duration::from_millis(10 * i));
        }
        // Two seconds of a run allow for ninety milliseconds, and one more question that was begun in time.
        let most = ALLOWANCE + Duration::from_secs(2) / PART + Duration::from_millis(10);
        assert!((ALLOWANCE..most).contains(&shares.spent), "{:?}", shares.spent);
        assert_eq!(shares.known.len(), 2);
    }
}

//! What would be live if threads met in another way.
//!
//! Threads that live for some milliseconds begin and end when the system lets them, so what is live together differs from run to run:
//! four threads that fill 20 MiB each and end had between 50 and 80 MiB at a time in eight runs. A replay keeps the order of the
//! recording. What it can say of other runs is how much more it may be.

use super::epochs::Number;
use heapwise_analysis::Bytes;

/// Threads that live longer meet in any run.
const SHORT_NS: u64 = 1_000_000_000;
/// One part in so many is not worth mentioning, nor is what allocators keep for a thread in any case.
const MATTERS: u64 = 20;
const MATTERS_BYTES: u64 = 1 << 20;

/// More that may be live in another run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overlap {
    /// Threads of less than a second that were there at the same time.
    pub threads: u64,
    /// What would be live at least if each of them had its most at the same time, and longer ones what they had at the peak. Blocks that
    /// short threads left behind are not in it.
    pub live_bytes: Bytes,
}

/// What one thread has handed out and is live, whoever frees it.
#[derive(Clone, Copy, Debug, Default)]
struct Share {
    live: u64,
    most: u64,
    /// What was live at the peak with this number.
    at_peak: (u64, u64),
}

impl Share {
    fn before_change(&mut self, peaks: u64) {
        if self.at_peak.0 != peaks {
            self.at_peak = (peaks, self.live);
        }
    }

    fn at_peak(&self, peaks: u64) -> u64 {
        if self.at_peak.0 == peaks { self.at_peak.1 } else { self.live }
    }
}

/// The shares of all threads.
#[derive(Debug, Default)]
pub(super) struct Shares {
    all: Vec<Share>,
    begins: Vec<Number>,
    /// How often more was live than ever before.
    peaks: u64,
}

impl Shares {
    pub(super) fn add_thread(&mut self) {
        self.all.push(Share::default());
        self.begins.push(Number(0));
    }

    /// A thread has its first event.
    pub(super) fn begin(&mut self, thread: usize, now: Number) {
        self.begins[thread] = now;
    }

    pub(super) fn gain(&mut self, thread: u32, size: u64, is_peak: bool) {
        let share = &mut self.all[thread as usize];
        share.before_change(self.peaks);
        share.live = share.live.saturating_add(size);
        share.most = share.most.max(share.live);
        self.peaks += u64::from(is_peak);
    }

    pub(super) fn lose(&mut self, thread: u32, size: u64) {
        let share = &mut self.all[thread as usize];
        share.before_change(self.peaks);
        share.live = share.live.saturating_sub(size);
    }

    /// What may be live besides what was, if that is much more. `ends` are the ends of all threads.
    pub(super) fn overlap(
        &self,
        ends: &[Number],
        time_ns: impl Fn(Number) -> u64,
        peak: Bytes,
    ) -> Option<Overlap> {
        let mut others = 0u64;
        let mut changes: Vec<(Number, bool, u64)> = Vec::new();
        for (thread, ((share, &begin), &end)) in self.all.iter().zip(&self.begins).zip(ends).enumerate() {
            // What the first one does before it starts others is not by chance.
            if thread == 0 || time_ns(end).saturating_sub(time_ns(begin)) >= SHORT_NS {
                others = others.saturating_add(share.at_peak(self.peaks));
            } else if share.most > 0 {
                // In an epoch in which one ends and another one begins they may meet.
                changes.extend([(begin, false, share.most), (end, true, share.most)]);
            }
        }
        changes.sort_unstable();
        let (mut threads, mut bytes, mut most) = (0u64, 0u64, (0, 0));
        for (_, is_end, share) in changes {
            if is_end {
                (threads, bytes) = (threads.saturating_sub(1), bytes.saturating_sub(share));
            } else {
                (threads, bytes) = (threads + 1, bytes.saturating_add(share));
                most = most.max((bytes, threads));
            }
        }
        let (bytes, threads) = most;
        let live_bytes = Bytes(bytes.saturating_add(others));
        let is_much = live_bytes.0.saturating_sub(peak.0) > MATTERS_BYTES.max(peak.0 / MATTERS);
        (threads > 1 && is_much).then_some(Overlap { threads, live_bytes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Threads with what they have at most in MiB, and when they begin and end in milliseconds. Each frees all of it before the next one
    /// begins to allocate; the first thread of the process does nothing.
    fn overlap(threads: &[(u64, u32, u32)]) -> Option<Overlap> {
        let mut shares = Shares::default();
        let mut peak = 0;
        shares.add_thread();
        for (thread, &(most, begin, _)) in (1..).zip(threads) {
            shares.add_thread();
            shares.begin(thread, Number(begin));
            let most = most << 20;
            shares.gain(thread as u32, most, most > peak);
            shares.lose(thread as u32, most);
            peak = peak.max(most);
        }
        let first = std::iter::once(Number(20));
        let ends: Vec<Number> = first.chain(threads.iter().map(|&(_, _, end)| Number(end))).collect();
        shares.overlap(&ends, |number| u64::from(number.0) * 1_000_000, Bytes(peak))
    }

    #[test]
    fn short_threads_may_have_their_most_at_the_same_time() {
        let both = Some(Overlap { threads: 2, live_bytes: Bytes(50 << 20) });
        assert_eq!(overlap(&[(20, 1, 10), (30, 5, 15)]), both);
        assert_eq!(overlap(&[(20, 1, 5), (30, 5, 15)]), both, "in the same epoch");
        assert_eq!(overlap(&[(20, 1, 4), (30, 5, 15)]), None, "they never met");
        assert_eq!(
            overlap(&[(20, 1, 10), (30, 5, 15), (40, 11, 20)]).map(|o| o.live_bytes.0),
            Some(70 << 20)
        );
    }

    #[test]
    fn long_threads_had_what_they_had() {
        assert_eq!(overlap(&[(20, 1, 2000), (30, 5, 2000)]), None);
        // At the peak, which was the third one's, the first one had nothing.
        let short = overlap(&[(20, 1, 2000), (30, 5, 15), (40, 6, 15)]);
        assert_eq!(short, Some(Overlap { threads: 2, live_bytes: Bytes(70 << 20) }));
        assert_eq!(overlap(&[(1, 1, 15), (30, 5, 15)]), None, "a thirtieth does not matter");
        assert_eq!(
            overlap(&[(0, 1, 15), (30, 5, 15), (20, 16, 18)]),
            None,
            "one that has nothing meets none"
        );
        assert_eq!(overlap(&[]), None);
    }
}

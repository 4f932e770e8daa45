//! How long the allocator takes, from the few calls that were measured.
//!
//! One call in some hundreds has a time. The mean of a site's measured calls times the number of its calls is what the
//! site costs; a site with few measurements is drawn towards the mean of all sites, and has a larger error. A call
//! during which the system took the processor away says nothing about the allocator, and one of these is as long as
//! hundreds of others. So a call for a small block that takes longer than any allocator needs is left out. Where such calls are
//! many, threads wait for each other in the allocator, and they count, up to that limit. Those of large blocks count
//! in full, as the kernel's work for them is real.

use crate::units::Nanos;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Call {
    /// Handing a block out.
    #[default]
    Alloc,
    /// Freeing it; counted for the site that was handed it.
    Free,
    Reallocate,
}

/// A thread's last call, which a time belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LastCall {
    pub(crate) site: u32,
    pub(crate) call: Call,
    pub(crate) size: u64,
}

/// No call yet, or one of which nothing is known.
pub(crate) const NO_CALL: LastCall = LastCall { site: u32::MAX, call: Call::Alloc, size: 0 };

/// Ticks that a call for a small block may take, about 50 µs: more is time of another program, or of another thread.
const MOST_TICKS: u32 = 1 << 17;
/// From one call in so many on, and from so many on, that take longer the program waits for itself. A system that changes programs 250
/// times a second takes the processor away in one call of 10,000 at most, where there are 2.5 million in a second.
const LONG_SHARE: u64 = 100;
const LONG_CALLS: u64 = 8;
/// From here on blocks have separate mappings (glibc's threshold), and the kernel's work is part of the call.
const LARGE_BYTES: u64 = 128 << 10;
/// A site with so many measurements has its own error; others have that of all sites.
const ENOUGH: u64 = 8;
/// What the mean of all sites weighs beside a site's own measurements.
const PRIOR: f64 = 2.0;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Samples {
    n: u64,
    sum: f64,
    squares: f64,
    /// Calls for small blocks that took longer than [`MOST_TICKS`], which are not in the others.
    long: u64,
}

impl Samples {
    fn add(&mut self, ticks: f64) {
        self.n += 1;
        self.sum += ticks;
        self.squares += ticks * ticks;
    }

    fn merge(&mut self, other: &Self) {
        self.n += other.n;
        self.sum += other.sum;
        self.squares += other.squares;
        self.long += other.long;
    }

    /// With the long calls, each of the most ticks that one may take.
    fn with_long(mut self) -> Self {
        let most = f64::from(MOST_TICKS);
        self.n += self.long;
        self.sum += self.long as f64 * most;
        self.squares += self.long as f64 * most * most;
        self
    }

    fn mean(&self) -> f64 {
        if self.n == 0 { 0.0 } else { self.sum / self.n as f64 }
    }

    fn variance(&self) -> f64 {
        if self.n < 2 {
            return 0.0;
        }
        let n = self.n as f64;
        ((self.squares - self.sum * self.sum / n) / (n - 1.0)).max(0.0)
    }
}

/// Measured calls of a site, or of all.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct CallTimes([Samples; 3]);

impl CallTimes {
    pub(crate) fn add(&mut self, call: Call, size: u64, ticks: u32) {
        let samples = &mut self.0[call as usize];
        match size < LARGE_BYTES && ticks > MOST_TICKS {
            true => samples.long += 1,
            false => samples.add(f64::from(ticks)),
        }
    }

    /// Whether so many calls are long that it is the program itself that they wait for.
    fn waits(&self) -> bool {
        let (n, long) = self.0.iter().fold((0, 0), |(n, long), one| (n + one.n + one.long, long + one.long));
        long >= LONG_CALLS && long * LONG_SHARE >= n
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| a.merge(b));
    }

    /// What so many calls of each kind take, given the measurements of all sites; `None` if nothing was measured.
    pub(crate) fn estimate(&self, calls: [u64; 3], all: &Self, clock: TickLength) -> Option<AllocatorTime> {
        let (mut ticks, mut error, mut samples) = (0.0, 0.0, 0);
        let long = if all.waits() { Samples::with_long } else { |samples| samples };
        for ((own, all), calls) in self.0.iter().zip(&all.0).zip(calls) {
            let (own, all) = (long(*own), long(*all));
            if all.n == 0 {
                continue;
            }
            let (n, calls) = (own.n as f64, calls as f64);
            let mean = (own.sum + PRIOR * all.mean()) / (n + PRIOR);
            let variance = if own.n >= ENOUGH { own.variance() } else { all.variance() };
            ticks += calls * (mean - clock.overhead).max(0.0);
            error += calls * calls * variance / (n + PRIOR);
            samples += own.n;
        }
        let measured = all.0.iter().any(|all| all.n > 0) && clock.nanos > 0.0;
        measured.then(|| AllocatorTime {
            time: Nanos((ticks * clock.nanos) as u64),
            error: Nanos((error.sqrt() * clock.nanos) as u64),
            samples,
        })
    }
}

/// What a tick is worth.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TickLength {
    /// Nanoseconds of a tick.
    pub(crate) nanos: f64,
    /// Ticks that measuring takes itself.
    pub(crate) overhead: f64,
}

impl TickLength {
    pub(crate) fn new(per_second: u64, overhead: u64) -> Self {
        let nanos = if per_second == 0 { 0.0 } else { 1e9 / per_second as f64 };
        Self { nanos, overhead: overhead as f64 }
    }
}

/// Time that the allocator took for a site, as far as it was measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AllocatorTime {
    /// For all calls together.
    pub time: Nanos,
    /// Its standard error.
    pub error: Nanos,
    /// How many calls were measured.
    pub samples: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLOCK: TickLength = TickLength { nanos: 0.5, overhead: 20.0 };

    #[test]
    fn the_mean_times_the_calls_without_what_measuring_takes() {
        let mut site = CallTimes::default();
        (0..100).for_each(|i| site.add(Call::Alloc, 24, 100 + i % 2 * 40));
        let found = site.estimate([1000, 0, 0], &site, CLOCK).expect("it was measured");
        // 120 ticks on average, of which 20 are measuring: 1000 times 50 ns.
        assert_eq!((found.time, found.samples), (Nanos(50_000), 100));
        // A standard deviation of 20 ticks, over ten: 2 ticks, or 1 ns, for each of a thousand calls.
        assert!((950..1050).contains(&found.error.0), "{found:?}");
    }

    #[test]
    fn a_site_without_measurements_has_the_mean_of_all_and_a_large_error() {
        let mut all = CallTimes::default();
        (0..10).for_each(|i| all.add(Call::Free, 24, 100 + i % 2 * 100));
        let none = CallTimes::default();
        let found = none.estimate([0, 10, 5], &all, CLOCK).expect("something was measured");
        assert_eq!((found.time, found.samples), (Nanos(650), 0));
        assert!(found.error > Nanos(100), "{found:?}");
        assert_eq!(none.estimate([1, 1, 1], &none, CLOCK), None);
        assert_eq!(none.estimate([1, 1, 1], &all, TickLength::new(0, 0)), None, "ticks of unknown length");
    }

    #[test]
    fn a_call_in_which_the_processor_was_taken_away_does_not_count() {
        let mut site = CallTimes::default();
        (0..1_000).for_each(|_| site.add(Call::Alloc, 24, 120));
        let quiet = site.estimate([1000, 0, 0], &site, CLOCK);
        (0..8).for_each(|_| site.add(Call::Alloc, 24, u32::MAX));
        assert_eq!(site.estimate([1000, 0, 0], &site, CLOCK), quiet);
        // Of a large block it is the kernel that may take long.
        site.add(Call::Reallocate, 1 << 20, 1 << 30);
        assert_eq!(site.0[2].sum, f64::from(1 << 30));
    }

    #[test]
    fn calls_that_are_often_long_wait_for_each_other() {
        let mut site = CallTimes::default();
        (0..990).for_each(|_| site.add(Call::Alloc, 24, 120));
        (0..10).for_each(|_| site.add(Call::Alloc, 24, u32::MAX));
        let found = site.estimate([1000, 0, 0], &site, CLOCK).expect("it was measured");
        // Ten of a thousand take 65 µs each, at most.
        assert_eq!(found.samples, 1_000);
        assert!((650_000..710_000).contains(&found.time.0), "{found:?}");
        // Seven are too few to say so, whatever their share is.
        let mut few = CallTimes::default();
        (0..7).for_each(|_| few.add(Call::Alloc, 24, u32::MAX));
        few.add(Call::Alloc, 24, 120);
        assert_eq!(few.estimate([1, 0, 0], &few, CLOCK).map(|found| found.time), Some(Nanos(50)));
    }
}

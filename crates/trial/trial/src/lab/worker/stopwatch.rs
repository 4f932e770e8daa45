//! Time that parts of a run took.

use super::memory::Memory;
use super::moment::{Moment, Own};
use super::{Phase, clock};
use std::collections::BTreeMap;
use std::time::Instant;

/// Measures phases, and moments.
#[derive(Debug)]
pub struct Stopwatch {
    pub(super) phases: Vec<Phase>,
    pub(super) moments: Vec<Moment>,
    pub(super) allocations: Option<u64>,
    pub(super) measured: BTreeMap<String, u64>,
    began: Instant,
    /// Processor time of the process when it began.
    cpu_began_ns: Option<u64>,
}

impl Stopwatch {
    /// One that has measured nothing. Room for its notes is there from the start, so that they do not disturb.
    pub(crate) fn new() -> Self {
        Self {
            phases: Vec::with_capacity(8),
            moments: Vec::with_capacity(32),
            allocations: None,
            measured: BTreeMap::new(),
            began: Instant::now(),
            cpu_began_ns: clock::process_ns(),
        }
    }

    /// Notes how the process is now.
    pub fn moment(&mut self, name: &str) {
        let cpu_ns = clock::process_ns().zip(self.cpu_began_ns).map(|(now, began)| now.saturating_sub(began));
        let wall_ns = nanoseconds(self.began);
        let (memory, own) = (Memory::now(), Own::now());
        self.moments.push(Moment { name: name.to_owned(), wall_ns, cpu_ns, memory, own });
    }

    /// Notes how the process is when its allocator has returned all free pages that it can, if it can be asked for that.
    pub fn moment_purged(&mut self, name: &str) {
        if purge() {
            self.moment(name);
        }
    }

    /// Notes how many blocks the work asks for, between the baseline and the moment at which all are there.
    pub fn counts(&mut self, allocations: u64) {
        self.allocations = Some(allocations);
    }

    /// Notes what the work has measured or counted itself, after its end.
    pub fn measured(&mut self, name: &str, number: u64) {
        self.measured.insert(name.to_owned(), number);
    }

    /// Does something and notes how long it took.
    pub fn phase<T>(&mut self, name: &str, work: impl FnOnce() -> T) -> T {
        let name = name.to_owned();
        let (wall, cpu) = (Instant::now(), clock::thread_ns());
        let result = work();
        let cpu_ns = clock::thread_ns().zip(cpu).map(|(end, start)| end.saturating_sub(start));
        let wall_ns = nanoseconds(wall);
        self.phases.push(Phase { name, wall_ns, cpu_ns });
        result
    }
}

/// Has the allocator return its free pages. Whether it can be asked for that.
#[cfg(target_os = "linux")]
fn purge() -> bool {
    heapwise_allocators::purge_own()
}

/// Has the allocator return its free pages. Whether it can be asked for that.
#[cfg(not(target_os = "linux"))]
fn purge() -> bool {
    false
}

fn nanoseconds(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(unix)]
    fn sleeping_is_wall_time_and_not_the_processors() {
        let mut watch = Stopwatch::new();
        watch.phase("sleep", || std::thread::sleep(std::time::Duration::from_millis(30)));
        let phase = &watch.phases[0];
        assert!(phase.wall_ns >= 30_000_000);
        assert!(phase.cpu_ns.is_some_and(|cpu| cpu < 15_000_000), "{phase:?}");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_moment_has_the_memory_and_the_time_of_the_process() {
        let mut watch = Stopwatch::new();
        watch.moment("before");
        let block = std::thread::spawn(|| std::hint::black_box(vec![1_u8; 128 << 20])).join().unwrap();
        watch.moment("after");
        let [before, after] = &watch.moments[..] else { panic!("{watch:?}") };
        assert_eq!((before.name.as_str(), after.name.as_str()), ("before", "after"));
        assert!(after.wall_ns > before.wall_ns && after.cpu_ns > before.cpu_ns, "{watch:?}");
        // What is resident may fall meanwhile: other tests free, too. Pages that were made resident only become more.
        let memory = |moment: &Moment| moment.memory.expect("Linux reports it");
        assert!(memory(after).faults > memory(before).faults && memory(after).rss_bytes > 0, "{watch:?}");
        drop(block);
    }

    #[test]
    fn phases_keep_their_order_and_results() {
        let mut watch = Stopwatch::new();
        let a = watch.phase("a", || 1);
        let b = watch.phase("b", || "two");
        assert_eq!((a, b), (1, "two"));
        assert_eq!(watch.phases.iter().map(|p| p.name.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    }
}

//! Time that parts of a run took.

use super::Phase;
use std::time::Instant;

/// Measures phases.
#[derive(Debug, Default)]
pub struct Stopwatch {
    pub(super) phases: Vec<Phase>,
}

impl Stopwatch {
    /// One that has measured nothing. Room for its notes is there from the start, so that they do not disturb.
    pub(crate) fn new() -> Self {
        Self { phases: Vec::with_capacity(8) }
    }

    /// Does something and notes how long it took.
    pub fn phase<T>(&mut self, name: &str, work: impl FnOnce() -> T) -> T {
        let name = name.to_owned();
        let (wall, cpu) = (Instant::now(), thread_time_ns());
        let result = work();
        let cpu_ns = thread_time_ns().zip(cpu).map(|(end, start)| end.saturating_sub(start));
        let wall_ns = u64::try_from(wall.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.phases.push(Phase { name, wall_ns, cpu_ns });
        result
    }
}

/// How long this thread has had a processor.
#[cfg(unix)]
fn thread_time_ns() -> Option<u64> {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    u64::try_from(time.tv_sec * 1_000_000_000 + time.tv_nsec).ok()
}

/// Windows reports it in steps of 15 ms only, which is longer than many a phase.
#[cfg(not(unix))]
fn thread_time_ns() -> Option<u64> {
    None
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
    fn phases_keep_their_order_and_results() {
        let mut watch = Stopwatch::new();
        let a = watch.phase("a", || 1);
        let b = watch.phase("b", || "two");
        assert_eq!((a, b), (1, "two"));
        assert_eq!(watch.phases.iter().map(|p| p.name.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    }
}

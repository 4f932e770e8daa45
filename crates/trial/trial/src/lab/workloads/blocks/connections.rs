//! What an asynchronous server allocates: buffers of many sizes, most of which live for a request, among some that live as
//! long as a connection.

use super::{Workload, block, number, random_of, wait};
use crate::lab::worker::Stopwatch;
use crate::statistics::random::Random;
use std::time::Instant;

pub(super) struct Connections;

const SIZES: [usize; 8] = [128, 256, 512, 1024, 2048, 4096, 8192, 16384];
/// Seven of ten buffers are of requests, which end within so many steps.
const REQUEST_STEPS: u64 = 20;
/// The others are of connections, which stay at least and at most so many.
const CONNECTION_STEPS: (u64, u64) = (100, 2000);

/// What is open.
struct Open {
    /// Buffers by the step in which they end, in a ring.
    ends: Vec<Vec<Vec<u8>>>,
    now: usize,
    random: Random,
}

impl Open {
    fn new() -> Self {
        let ends = (0..=CONNECTION_STEPS.1).map(|_| Vec::new()).collect();
        Self { ends, now: 0, random: random_of(0) }
    }

    /// Two to five new buffers, and an end for those whose time has come.
    fn step(&mut self, checksum: &mut u64) {
        for _ in 0..2 + self.random.below(4) {
            let buffer = block(&mut self.random, &SIZES, checksum);
            let steps = if self.random.below(10) < 7 {
                1 + self.random.below(REQUEST_STEPS)
            } else {
                CONNECTION_STEPS.0 + self.random.below(CONNECTION_STEPS.1 - CONNECTION_STEPS.0)
            };
            let end = (self.now + steps as usize) % self.ends.len();
            self.ends[end].push(buffer);
        }
        self.now = (self.now + 1) % self.ends.len();
        self.ends[self.now].clear();
    }
}

impl Workload for Connections {
    fn name(&self) -> &'static str {
        "connections"
    }

    fn about(&self) -> &'static str {
        "buffers of requests, among those of connections that stay, and then none"
    }

    fn unit(&self) -> &'static str {
        "steps"
    }

    /// The numbers are steps, and milliseconds after the drop.
    fn run(&self, numbers: &[u64], watch: &mut Stopwatch) -> u64 {
        let (steps, after) = (number(numbers, 0, 0), number(numbers, 1, 0));
        let (mut open, mut checksum) = (Open::new(), 0);
        watch.moment("baseline");
        (0..steps / 10).for_each(|_| open.step(&mut checksum));
        watch.moment("a tenth");
        (steps / 10..steps / 2).for_each(|_| open.step(&mut checksum));
        watch.moment("half");
        (steps / 2..steps).for_each(|_| open.step(&mut checksum));
        watch.moment("all");
        drop(open);
        watch.moment("dropped");
        wait(Instant::now(), after);
        watch.moment("later");
        checksum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_open_buffers_settles() {
        let open = |open: &Open| open.ends.iter().map(Vec::len).sum::<usize>();
        let (mut some, mut checksum) = (Open::new(), 0);
        (0..4_000).for_each(|_| some.step(&mut checksum));
        let early = open(&some);
        (0..4_000).for_each(|_| some.step(&mut checksum));
        // 3.5 in a step, of which 30 % stay 1050 steps on average.
        assert!((900..1300).contains(&early) && open(&some).abs_diff(early) < early / 10, "{early}");
    }
}

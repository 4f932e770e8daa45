//! From the counters of all threads to numbers for people.

use super::memory::Memory;
use crate::replay::latency::Histogram;
use crate::replay::outcome::{CallTimes, SlowCall};
use crate::replay::script::Script;
use crate::replay::shared::{KINDS, SLOWEST, Times};
use std::sync::atomic::{AtomicU64, Ordering};

/// The share of calls that are not usual.
const LONGEST: f64 = 0.01;

fn get(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}

/// Times of a kind of call over all threads.
fn times<'a>(of_threads: impl Iterator<Item = &'a Times>, ns_per_tick: f64) -> CallTimes {
    let mut histogram = Histogram::default();
    let (mut timed, mut ticks, mut waited_ticks, mut disturbed) = (0, 0, 0, 0);
    for times in of_threads {
        timed += get(&times.timed);
        ticks += get(&times.ticks);
        waited_ticks += get(&times.waited_ticks);
        disturbed += get(&times.disturbed);
        for (class, count) in times.classes.iter().enumerate() {
            histogram.add(class, count.load(Ordering::Relaxed).into());
        }
    }
    let quantile = |share| histogram.quantile(share).map(|ticks| ticks * ns_per_tick);
    CallTimes {
        timed,
        mean_ns: if timed > 0 { ticks as f64 * ns_per_tick / timed as f64 } else { 0.0 },
        usual_ns: histogram.mean_without_longest(LONGEST, ticks + waited_ticks) * ns_per_tick,
        p50_ns: quantile(0.5),
        p99_ns: quantile(0.99),
        p999_ns: quantile(0.999),
        p9999_ns: quantile(0.9999),
        disturbed,
    }
}

/// Calls that allocate blocks, free them and resize them.
pub(super) fn calls(memory: &Memory, ns_per_tick: f64) -> [CallTimes; KINDS] {
    std::array::from_fn(|kind| times(memory.threads().map(|t| &t.times[kind]), ns_per_tick))
}

/// The slowest calls of all threads.
pub(super) fn slowest(memory: &Memory, script: &Script, ns_per_tick: f64) -> Vec<SlowCall> {
    let all = memory.threads().flat_map(|thread| &thread.slowest);
    let mut all: Vec<(u64, u64)> = all.map(|slow| (get(&slow.ticks), get(&slow.position))).collect();
    all.sort_unstable_by_key(|&(ticks, _)| std::cmp::Reverse(ticks));
    let slow = all.into_iter().take(SLOWEST).filter(|&(ticks, _)| ticks > 0);
    slow.map(|(ticks, position)| SlowCall {
        ns: ticks as f64 * ns_per_tick,
        stack: script.stack(position).filter(|stack| stack.0 != 0),
    })
    .collect()
}

/// Calls that the threads have reported as made.
pub(super) fn n_calls(memory: &Memory) -> u64 {
    memory.threads().map(|thread| get(&thread.calls)).sum()
}

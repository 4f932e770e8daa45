//! What the article about fragmentation has measured: blocks of many sizes, most of which are dropped again, and what is
//! resident then. One file for each of its programs.

mod alternating;
mod connections;
mod handed;
mod threads;

use super::Workload;
use crate::statistics::random::Random;
use std::hint::black_box;
use std::thread::ScopedJoinHandle;
use std::time::{Duration, Instant};

pub(super) const ALTERNATING: &dyn Workload = &alternating::Alternating;
pub(super) const CONNECTIONS: &dyn Workload = &connections::Connections;
pub(super) const HANDED: &dyn Workload = &handed::Handed;
pub(super) const THREADS: &dyn Workload = &threads::Threads;

/// Sizes of buffers, from the small ones of a header to those of a body.
const SIZES: [usize; 7] = [128, 256, 512, 1024, 2048, 4096, 8192];

/// The blocks that a thread holds; a slot is empty until its first block.
type Held = Vec<Option<Vec<u8>>>;

/// The numbers of one thread.
fn random_of(thread: u64) -> Random {
    Random::new(31_337 + thread * 7_919)
}

/// A block of one of these sizes with something in it, and its part of the checksum.
fn block(random: &mut Random, sizes: &[usize], checksum: &mut u64) -> Vec<u8> {
    let mut block = vec![0_u8; sizes[random.below(sizes.len() as u64) as usize]];
    black_box(&mut block)[0] = random.below(256) as u8;
    *checksum = checksum.wrapping_add(block.len() as u64 + u64::from(block[0]));
    block
}

/// Allocates `count` blocks, each of which takes the place of one of at most `live` others.
fn churn(count: u64, live: u64, random: &mut Random, checksum: &mut u64) -> Held {
    let mut held: Held = (0..live).map(|_| None).collect();
    for _ in 0..count {
        let block = block(random, &SIZES, checksum);
        held[random.below(live) as usize] = Some(block);
    }
    held
}

/// Drops all blocks but so many of a thousand, spread evenly over the slots.
fn drop_most(held: &mut Held, keep_per_mille: u64) {
    let mut due = 0;
    for slot in held.iter_mut() {
        due += keep_per_mille;
        match due >= 1000 {
            true => due -= 1000,
            false => *slot = None,
        }
    }
}

/// What a thread has done; a thread that has panicked ends the worker in the same way.
fn joined<T>(handle: ScopedJoinHandle<'_, T>) -> T {
    handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Waits until so many milliseconds have gone by.
fn wait(began: Instant, milliseconds: u64) {
    std::thread::sleep(Duration::from_millis(milliseconds).saturating_sub(began.elapsed()));
}

/// A number for a workload, or what it usually is.
fn number(numbers: &[u64], at: usize, usual: u64) -> u64 {
    numbers.get(at).copied().unwrap_or(usual)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kept_share_is_kept_and_spread() {
        let mut held: Held = (0..1000).map(|i| Some(vec![i as u8])).collect();
        drop_most(&mut held, 10);
        let kept: Vec<_> = (0..1000).filter(|&i| held[i].is_some()).collect();
        assert_eq!(kept.len(), 10, "{kept:?}");
        assert!(kept.windows(2).all(|pair| pair[1] - pair[0] <= 101), "{kept:?}");
        drop_most(&mut held, 0);
        assert!(held.iter().all(Option::is_none));
    }
}

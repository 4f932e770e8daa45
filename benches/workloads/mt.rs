//! Four threads allocate and free at random in separate tables. Argument: allocations in all (2000000).
//! Build: rustc -O --edition 2021 mt.rs

use std::hint::black_box;
use std::thread;

const THREADS: u64 = 4;

fn next(seed: &mut u64) -> u64 {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    *seed
}

#[inline(never)]
fn fresh(size: usize, mark: u8) -> Vec<u8> {
    let mut v = Vec::with_capacity(size);
    v.push(mark);
    black_box(v)
}

fn work(thread: u64, count: u64) -> u64 {
    let mut seed = 0x1234_5678_9abc_def0 ^ (thread + 1);
    let mut table: Vec<Vec<u8>> = (0..1000).map(|_| Vec::new()).collect();
    let mut sum = 0;
    for _ in 0..count {
        let r = next(&mut seed);
        let slot = (r % 1000) as usize;
        // Mostly small blocks; one in 64 is up to 8 KiB.
        let size = if r >> 58 == 0 { 512 + (r >> 20) % 7680 } else { 8 + (r >> 20) % 248 };
        sum += table[slot].first().map_or(0, |&b| b as u64);
        table[slot] = fresh(size as usize, r as u8);
    }
    sum + table.iter().flatten().map(|&b| b as u64).sum::<u64>()
}

pub(crate) fn main() {
    let n: u64 = std::env::args().nth(1).map_or(2_000_000, |a| a.parse().expect("a number of allocations"));
    let threads: Vec<_> = (0..THREADS).map(|t| thread::spawn(move || work(t, n / THREADS))).collect();
    let sum: u64 = threads.into_iter().map(|t| t.join().unwrap()).sum();
    println!("checksum {sum}");
}

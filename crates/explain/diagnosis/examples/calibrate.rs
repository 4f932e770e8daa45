//! Measures what the model of `src/cost.rs` has as constants, on this machine and its allocator.
//!
//! `cargo run --release -p heapwise-diagnosis --example calibrate`

use std::collections::HashMap;
use std::hint::black_box;
use std::time::Instant;

/// The least of several rounds, in nanoseconds for each of `n`: what others do on the machine only adds.
fn least(n: u64, mut work: impl FnMut()) -> f64 {
    let rounds = (0..15).map(|_| {
        let start = Instant::now();
        work();
        start.elapsed().as_nanos() as f64 / n as f64
    });
    rounds.fold(f64::INFINITY, f64::min)
}

fn main() {
    const N: u64 = 200_000;
    let pair = least(N, || {
        (0..N).for_each(|i| drop(black_box(Vec::<u8>::with_capacity(16 + (i % 8) as usize * 8))))
    });
    println!("a pair whose block is freed at once:               {pair:7.1} ns");

    // Blocks that live among others, of many sizes, and are freed in another order.
    let mut live: Vec<Vec<u8>> = (0..20_000).map(|_| Vec::with_capacity(24)).collect();
    let mut seed = 88_172_645_463_325_252_u64;
    let mut random = move || {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed >> 16
    };
    let steps: Vec<(usize, usize)> =
        (0..N).map(|_| ((random() % 20_000) as usize, 16 + (random() % 240) as usize)).collect();
    let among =
        least(N, || steps.iter().for_each(|&(at, size)| live[at] = black_box(Vec::with_capacity(size))));
    let store = least(N, || steps.iter().for_each(|&(at, size)| live[at].reserve(black_box(size).min(1))));
    println!(
        "a pair among 20,000 live blocks of many sizes:     {among:7.1} ns, of which {store:.1} ns are the test's"
    );

    let blocks = || (0..N).map(|i| Vec::<u8>::with_capacity(16 + (i % 8) as usize * 8)).collect::<Vec<_>>();
    let drop_all = |blocks: Vec<Vec<u8>>| {
        let start = Instant::now();
        drop(black_box(blocks));
        start.elapsed().as_nanos() as f64 / N as f64
    };
    let own = (0..15).map(|_| drop_all(blocks())).fold(f64::INFINITY, f64::min);
    let other = |_| {
        let blocks = blocks();
        std::thread::spawn(move || drop_all(blocks)).join().unwrap_or(f64::INFINITY)
    };
    let other = (0..15).map(other).fold(f64::INFINITY, f64::min);
    println!("freeing a block of another thread:                 {other:7.1} ns, and an own one {own:.1} ns");

    let resize = least(N, || {
        for _ in 0..N / 4 {
            let mut buffer: Vec<u8> = Vec::with_capacity(32);
            for size in [64, 128, 256] {
                buffer.reserve_exact(black_box(size));
            }
            black_box(buffer);
        }
    });
    println!(
        "a step of growth from 32 to 256 bytes:             {resize:7.1} ns, with its share of the pair"
    );

    let keys: Vec<String> = (0..50_000).map(|i| format!("keyword {i}")).collect();
    let grown = least(50_000, || fill(&keys, HashMap::new()));
    let reserved = least(50_000, || fill(&keys, HashMap::with_capacity(50_000)));
    println!("an entry of a map that grows, and of one that does not: {grown:.1} and {reserved:.1} ns");

    let (from, mut to) = (vec![1_u8; 1 << 16], vec![0_u8; 1 << 16]);
    let copy =
        least(64 * 200, || (0..200).for_each(|_| black_box(&mut to).copy_from_slice(black_box(&from))));
    println!("copying within the cache:                          {copy:7.1} ns per KiB");
    let (from, mut to) = (vec![1_u8; 1 << 26], vec![0_u8; 1 << 26]);
    let copy = least(1 << 16, || black_box(&mut to).copy_from_slice(black_box(&from)));
    println!("copying beyond it:                                 {copy:7.1} ns per KiB");

    for mib in [1_usize, 4, 64] {
        let size = mib << 20;
        let kib = (size >> 10) as u64;
        let fresh = least(kib, || {
            let mut buffer: Vec<u8> = Vec::with_capacity(size);
            buffer.resize(black_box(size), 1);
            black_box(buffer);
        });
        let mut kept: Vec<u8> = Vec::with_capacity(size);
        let reused = least(kib, || {
            kept.clear();
            kept.resize(black_box(size), 1);
            black_box(&mut kept);
        });
        println!(
            "filling a new buffer of {mib:2} MiB, and one again:      {fresh:7.1} and {reused:.1} ns per KiB"
        );
    }
}

fn fill<'a>(keys: &'a [String], mut map: HashMap<&'a str, u64>) {
    keys.iter().for_each(|key| _ = map.insert(key, 1));
    black_box(map);
}

//! Thirty million allocator events from 2000 different stacks, mixed sizes, up to 200000 live blocks:
//! a large recording for measuring the collector, the file and the analysis. Arguments: events (30000000), places for live blocks, of
//! which three quarters are taken (200000).
//! Build: rustc -O --edition 2021 events30m.rs

use std::hint::black_box;

const PATHS: u64 = 2000;

struct State {
    seed: u64,
    table: Vec<Option<Vec<u8>>>,
    events: u64,
    sum: u64,
}

fn next(seed: &mut u64) -> u64 {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    *seed
}

/// Several blocks per visit: the way down costs more than they do, and the allocator is what counts.
#[inline(never)]
fn leaf(state: &mut State) {
    for _ in 0..8 {
        replace(state);
    }
}

#[inline(always)]
fn replace(state: &mut State) {
    let r = next(&mut state.seed);
    let size = match r >> 54 {
        // About one block in 1024 is large, an eighth are middle-sized, and the rest are small.
        0 => 4096 + (r >> 20) % 28672,
        1..=128 => 256 + (r >> 20) % 768,
        _ => 8 + (r >> 20) % 120,
    };
    // Slots low in the table are used more often, so that lifetimes differ widely.
    let range = (state.table.len() >> ((r >> 4) % 16)).max(1);
    let slot = &mut state.table[(r >> 32) as usize % range];
    if let Some(old) = slot.take() {
        state.sum += old.capacity() as u64;
        state.events += 1;
    }
    let mut block: Vec<u8> = Vec::with_capacity(size as usize);
    block.push(r as u8);
    *slot = Some(block);
    state.events += 1;
}

/// One step of a path. The constant makes eight functions of it that the compiler cannot merge.
#[inline(never)]
fn node<const I: u64>(path: u64, depth: u32, state: &mut State) {
    if depth == 0 {
        leaf(state);
    } else {
        walk(path >> 3, depth - 1, state);
    }
    state.sum += black_box(I);
}

#[inline(always)]
fn walk(path: u64, depth: u32, state: &mut State) {
    match path & 7 {
        0 => node::<0>(path, depth, state),
        1 => node::<1>(path, depth, state),
        2 => node::<2>(path, depth, state),
        3 => node::<3>(path, depth, state),
        4 => node::<4>(path, depth, state),
        5 => node::<5>(path, depth, state),
        6 => node::<6>(path, depth, state),
        _ => node::<7>(path, depth, state),
    }
}

fn main() {
    let n: u64 = std::env::args().nth(1).map_or(30_000_000, |a| a.parse().expect("a number of events"));
    let live: usize = std::env::args().nth(2).map_or(200_000, |a| a.parse().expect("a number of places"));
    let mut state = State { seed: 88_172_645_463_325_252, table: (0..live).map(|_| None).collect(), events: 0, sum: 0 };
    let mut path_seed = 1;
    while state.events < n {
        // The product of two numbers makes some paths much hotter than others.
        let r = next(&mut path_seed);
        let path = (r % PATHS) * ((r >> 32) % PATHS) / PATHS;
        // Four digits of three bits name the path, and the path also names its depth, 5 to 20.
        let depth = 4 + (path % 16) as u32;
        walk(path | path << 12 | path << 24 | path << 36 | path << 48, depth, &mut state);
    }
    println!("checksum {} of {} events", state.sum, state.events);
}

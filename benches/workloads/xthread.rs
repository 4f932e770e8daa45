//! Blocks that one thread allocates are freed by another: four threads in a ring send batches through
//! channels. Argument: allocations in all (2000000).
//! Build: rustc -O --edition 2021 xthread.rs

use std::hint::black_box;
use std::sync::mpsc::{sync_channel, Receiver, SyncSender};
use std::thread;

const THREADS: u64 = 4;
const BATCH: usize = 256;

type Batch = Vec<Vec<u8>>;

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

#[inline(never)]
fn discard(batch: Batch) -> u64 {
    batch.iter().map(|v| v[0] as u64).sum()
}

fn work(thread: u64, count: u64, out: SyncSender<Batch>, inward: Receiver<Batch>) -> u64 {
    let mut seed = 0x0fed_cba9_8765_4321 ^ (thread + 1);
    let mut sum = 0;
    let mut left = count;
    while left > 0 {
        let n = left.min(BATCH as u64);
        let mut batch = Batch::with_capacity(BATCH);
        for _ in 0..n {
            let r = next(&mut seed);
            batch.push(fresh(8 + ((r >> 20) % 500) as usize, r as u8));
        }
        left -= n;
        // Each takes what is there before it sends, so that the ring cannot fill up and stop.
        while let Ok(b) = inward.try_recv() {
            sum += discard(b);
        }
        let mut full = Some(batch);
        while let Some(b) = full.take() {
            match out.try_send(b) {
                Ok(()) => {}
                Err(std::sync::mpsc::TrySendError::Full(b)) => {
                    full = Some(b);
                    match inward.try_recv() {
                        Ok(b) => sum += discard(b),
                        Err(_) => thread::yield_now(),
                    }
                }
                // The neighbour never leaves before this one has dropped its sender.
                Err(_) => unreachable!(),
            }
        }
    }
    drop(out);
    sum + inward.iter().map(discard).sum::<u64>()
}

fn main() {
    let n: u64 = std::env::args().nth(1).map_or(2_000_000, |a| a.parse().expect("a number of allocations"));
    let (mut senders, mut receivers): (Vec<_>, Vec<_>) = (0..THREADS).map(|_| sync_channel::<Batch>(64)).unzip();
    senders.rotate_left(1);
    let mut threads = Vec::new();
    for t in 0..THREADS {
        let (out, inward) = (senders.remove(0), receivers.remove(0));
        threads.push(thread::spawn(move || work(t, n / THREADS, out, inward)));
    }
    let sum: u64 = threads.into_iter().map(|t| t.join().unwrap()).sum();
    println!("checksum {sum}");
}

//! A program to be attached to: it says that it is ready, and as many threads as the argument says allocate until it reads a line.
//! Build: rustc -O --edition 2021 busy_threads.rs

use std::hint::black_box;
use std::io::stdin;
use std::sync::atomic::{AtomicBool, Ordering};

static IS_OVER: AtomicBool = AtomicBool::new(false);

fn allocate_until_the_end(seed: usize) {
    let mut kept: Vec<Vec<u8>> = (0..64).map(|_| Vec::new()).collect();
    let mut at = seed;
    while !IS_OVER.load(Ordering::Relaxed) {
        at = at.wrapping_mul(25_214_903_917).wrapping_add(11);
        kept[at >> 40 & 63] = black_box(Vec::with_capacity(at >> 20 & 0xfff));
        // Something beside allocating: what is recorded while the process is attached to is not what is measured.
        (0..10_000).for_each(|n| _ = black_box(n));
    }
}

fn main() {
    let n: usize = std::env::args().nth(1).expect("how many threads").parse().expect("a number");
    let threads: Vec<_> =
        (0..n).map(|seed| std::thread::spawn(move || allocate_until_the_end(seed))).collect();
    println!("ready");
    stdin().read_line(&mut String::new()).expect("a line");
    IS_OVER.store(true, Ordering::Relaxed);
    threads.into_iter().for_each(|thread| thread.join().expect("it ends"));
}

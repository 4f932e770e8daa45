//! A program to be attached to: it says that it is ready, and begins when it reads a line.
//!
//! With `pairs N` it does the storm's pairs and prints how many nanoseconds they took; with `threads N` as many threads allocate until
//! there is another line.
//! Build: rustc -O --edition 2021 attached.rs

#[allow(dead_code)]
#[path = "storm.rs"]
mod storm;

use std::hint::black_box;
use std::io::stdin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

static IS_OVER: AtomicBool = AtomicBool::new(false);

fn allocate_until_the_end(seed: usize) {
    let mut kept: Vec<Vec<u8>> = (0..64).map(|_| Vec::new()).collect();
    let mut at = seed;
    while !IS_OVER.load(Ordering::Relaxed) {
        at = at.wrapping_mul(25_214_903_917).wrapping_add(11);
        kept[at >> 40 & 63] = black_box(Vec::with_capacity(at >> 20 & 0xfff));
        // Something beside allocating: what is recorded while the process is attached to is not what is measured.
        (0..10_000).for_each(|n| drop(black_box(n)));
    }
}

fn wait() {
    stdin().read_line(&mut String::new()).expect("a line");
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [what, n] = arguments.as_slice() else { panic!("pairs N or threads N") };
    let n: u64 = n.parse().expect("a number");
    if what == "pairs" {
        println!("ready");
        wait();
        let start = Instant::now();
        let sum = storm::down(1, n);
        let took = start.elapsed();
        println!("{} {sum}", took.as_nanos());
        return;
    }
    let threads: Vec<_> =
        (0..n as usize).map(|seed| std::thread::spawn(move || allocate_until_the_end(seed))).collect();
    println!("ready");
    wait();
    IS_OVER.store(true, Ordering::Relaxed);
    threads.into_iter().for_each(|thread| thread.join().expect("it ends"));
}

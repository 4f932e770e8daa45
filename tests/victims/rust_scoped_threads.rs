// victim: scoped threads fill parts of one vector of boxes, which the main thread drops; flags: --edition 2021
use std::hint::black_box;
use std::thread;

#[inline(never)]
fn fill(part: &mut [Option<Box<[u64; 4]>>], n: u64) {
    for (i, slot) in part.iter_mut().enumerate() {
        *slot = Some(black_box(Box::new([n, i as u64, 2, 3])));
    }
}

fn main() {
    let mut all: Vec<Option<Box<[u64; 4]>>> = (0..8000).map(|_| None).collect();
    for _ in 0..5 {
        thread::scope(|scope| {
            for (n, part) in all.chunks_mut(2000).enumerate() {
                scope.spawn(move || fill(part, n as u64));
            }
        });
    }
    let sum: u64 = all.iter().flatten().map(|b| b[0] + b[1]).sum();
    println!("sum {sum}");
    drop(all);
    println!("expect site=fill blocks=40000 bytes=1280000 live=0");
}

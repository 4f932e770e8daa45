// victim: Vecs grow by pushing, by reserve and by extend, and shrink again; flags: --edition 2021
use std::hint::black_box;

#[inline(never)]
fn push_growth(n: u64) -> u64 {
    let mut v = Vec::new();
    for i in 0..n {
        v.push(black_box(i));
    }
    v.iter().sum()
}

#[inline(never)]
fn reserved(n: u64) -> u64 {
    let mut v: Vec<u64> = Vec::with_capacity(n as usize);
    v.extend(0..black_box(n));
    v.iter().sum()
}

#[inline(never)]
fn shrunk(n: u64) -> u64 {
    let mut v: Vec<u64> = Vec::with_capacity(black_box(n as usize) * 4);
    v.push(n);
    v.shrink_to_fit();
    let boxed: Box<[u64]> = black_box(v.into_boxed_slice());
    boxed[0]
}

fn main() {
    let mut sum = 0;
    for _ in 0..10 {
        sum += push_growth(1000) + reserved(1000) + shrunk(1000);
    }
    println!("sum {sum}");
    // Capacities 4, 8 and so on to 1024: one allocation and eight reallocations of a vector.
    let bytes: u64 = (2..=10).map(|p| 8u64 << p).sum::<u64>() * 10;
    println!("expect site=push_growth blocks=90 bytes={bytes} live=0");
    println!("expect site=reserved blocks=10 bytes=80000 live=0");
    println!("expect site=shrunk blocks=20 bytes={} live=0", 10 * (32000 + 8));
}

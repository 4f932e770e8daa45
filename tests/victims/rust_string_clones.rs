// victim: clones the same strings over and over where a reference would do; flags: --edition 2021
use std::hint::black_box;

#[inline(never)]
fn needless_clone(names: &[String]) -> usize {
    let mut total = 0;
    for name in names {
        let copy = black_box(name.clone());
        total += copy.len();
    }
    total
}

#[inline(never)]
fn shout(name: &str) -> String {
    black_box(name.to_uppercase())
}

fn main() {
    let names: Vec<String> = (0..100).map(|i| "x".repeat(20 + i % 10)).collect();
    let mut total = 0;
    for _ in 0..100 {
        total += needless_clone(&names);
        total += names.iter().map(|n| shout(n).len()).sum::<usize>();
    }
    println!("total {total}");
    println!("expect site=needless_clone blocks=10000 bytes={} live=0 temporary=10000", total / 2);
    println!("expect site=shout live=0");
}

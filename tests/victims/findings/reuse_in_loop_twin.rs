// victim: clears a vector in each turn of a loop; flags: --edition 2021
use std::hint::black_box;

#[inline(never)]
fn widest(lines: &[Vec<u64>]) -> usize {
    let mut widest = 0;
    let mut even = Vec::new();
    for line in lines {
        even.clear();
        for n in line {
            if n % 2 == 0 {
                even.push(*n);
            }
        }
        widest = widest.max(black_box(&even).len());
    }
    widest
}

fn main() {
    let lines: Vec<Vec<u64>> = (0..1000).map(|i| (0..20 + i % 10).collect()).collect();
    println!("widest {}", widest(&lines));
}

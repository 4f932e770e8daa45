// victim: fills many vectors of the same size and reserves it before; flags: --edition 2021

#[inline(never)]
fn fill(n: u64) -> Vec<u64> {
    let mut squares = Vec::with_capacity(n as usize);
    for i in 0..n {
        squares.push(i * i);
    }
    squares
}

fn main() {
    let all: Vec<Vec<u64>> = (0..300).map(|i| fill(200 + i % 50)).collect();
    println!("sum {}", all.iter().flatten().sum::<u64>());
}

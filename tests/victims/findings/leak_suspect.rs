// victim: a server that forgets a block with each request; flags: --edition 2021
use std::time::Duration;

#[inline(never)]
fn handle(i: usize) -> usize {
    let state = vec![i as u8; 4096].into_boxed_slice(); // here: leak-suspect
    let answer = state[i % 4096] as usize;
    std::mem::forget(state);
    answer
}

fn main() {
    let mut sum = 0;
    for i in 0..1000 {
        sum += handle(i);
        std::thread::sleep(Duration::from_millis(2));
    }
    println!("sum {sum}");
}

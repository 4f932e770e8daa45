// victim: a server with tables from its start and a bounded cache, of which nothing is freed at the end; flags: --edition 2021
use std::collections::VecDeque;
use std::time::Duration;

#[inline(never)]
fn table(i: usize) -> Box<[u8]> {
    vec![i as u8; 4096].into_boxed_slice()
}

#[inline(never)]
fn handle(i: usize, cache: &mut VecDeque<Box<[u8]>>) -> usize {
    let state = vec![i as u8; 4096].into_boxed_slice();
    let answer = state[i % 4096] as usize;
    cache.push_back(state);
    if cache.len() > 100 {
        cache.pop_front();
    }
    answer
}

fn main() {
    let tables: Vec<Box<[u8]>> = (0..300).map(table).collect();
    let mut cache = VecDeque::new();
    let mut sum = 0;
    for i in 0..1000 {
        sum += handle(i, &mut cache) + tables[i % 300].len();
        std::thread::sleep(Duration::from_millis(2));
    }
    println!("sum {sum}");
    std::mem::forget((tables, cache));
}

// victim: one thread fills buffers that another one drops; flags: --edition 2021
use std::sync::mpsc::sync_channel;

#[inline(never)]
fn fill(i: usize) -> Box<[u8; 48]> {
    Box::new([i as u8; 48]) // here: cross-thread-free
}

fn main() {
    let (send, receive) = sync_channel(64);
    let consumer = std::thread::spawn(move || receive.iter().map(|b: Box<[u8; 48]>| u64::from(b[0])).sum::<u64>());
    (0..20_000).for_each(|i| send.send(fill(i)).unwrap());
    drop(send);
    println!("sum {}", consumer.join().unwrap());
}

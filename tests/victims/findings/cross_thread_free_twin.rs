// victim: one thread fills buffers, and another one returns them to it; flags: --edition 2021
use std::sync::mpsc::sync_channel;

#[inline(never)]
fn fill(i: usize) -> Box<[u8; 48]> {
    Box::new([i as u8; 48])
}

fn main() {
    let (send, receive) = sync_channel(64);
    let (give_back, returned) = sync_channel(128);
    let consumer = std::thread::spawn(move || {
        let mut sum = 0;
        for b in receive {
            let b: Box<[u8; 48]> = b;
            sum += u64::from(b[0]);
            give_back.send(b).unwrap();
        }
        sum
    });
    for i in 0..20_000 {
        send.send(fill(i)).unwrap();
        returned.recv().unwrap();
    }
    drop(send);
    println!("sum {}", consumer.join().unwrap());
}

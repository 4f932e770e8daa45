// victim: three named threads send boxes and strings through channels to a fourth, which drops them; flags: --edition 2021
use std::sync::mpsc;
use std::thread;

#[inline(never)]
fn message(i: usize) -> Box<[u8]> {
    std::hint::black_box(vec![i as u8; 10 + i % 90].into_boxed_slice())
}

fn main() {
    let (sender, receiver) = mpsc::channel::<Box<[u8]>>();
    let mut threads = Vec::new();
    for n in 0..3 {
        let sender = sender.clone();
        let body = move || {
            for i in 0..5000 {
                sender.send(message(i + n)).unwrap();
            }
        };
        threads.push(thread::Builder::new().name(format!("sender-{n}")).spawn(body).unwrap());
    }
    drop(sender);
    let consumer = thread::Builder::new().name("consumer".into());
    let consumer = consumer.spawn(move || receiver.iter().map(|b| b.len() + b[0] as usize).sum::<usize>()).unwrap();
    for t in threads {
        t.join().unwrap();
    }
    println!("sum {}", consumer.join().unwrap());
    let bytes: usize = (0..3).flat_map(|n| (0..5000).map(move |i| 10 + (i + n) % 90)).sum();
    println!("expect site=message blocks=15000 bytes={bytes} live=0");
}

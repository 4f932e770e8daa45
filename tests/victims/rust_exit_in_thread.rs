// victim: process::exit is called on a thread while another one holds and makes allocations; flags: --edition 2021
use std::hint::black_box;
use std::sync::mpsc;
use std::thread;

#[inline(never)]
fn held() -> Vec<u8> {
    black_box(vec![3; 333])
}

fn main() {
    let (ready, wait) = mpsc::channel();
    thread::spawn(move || {
        let all: Vec<Vec<u8>> = (0..10).map(|_| held()).collect();
        ready.send(()).unwrap();
        loop {
            black_box(vec![all[0][0]; 64]);
        }
    });
    let leaving = thread::spawn(move || {
        wait.recv().unwrap();
        println!("expect site=held blocks=10 bytes=3330 live=10 live_bytes=3330");
        std::process::exit(17);
    });
    leaving.join().unwrap();
}

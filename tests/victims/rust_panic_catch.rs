// victim: panics in deep frames 500 times, catches them and captures a backtrace in the hook each time; flags: --edition 2021
use std::backtrace::Backtrace;
use std::hint::black_box;
use std::panic;
use std::sync::atomic::{AtomicUsize, Ordering};

static HOOKS: AtomicUsize = AtomicUsize::new(0);

struct Guard(Vec<u8>);

impl Drop for Guard {
    fn drop(&mut self) {
        // Allocates while the stack is being unwound.
        black_box(vec![self.0[0]; 40]);
    }
}

#[inline(never)]
fn fall(depth: u32, number: u32) -> u32 {
    let guard = Guard(vec![depth as u8; 16]);
    if depth == 0 {
        panic!("number {number} fell");
    }
    let below = fall(depth - 1, number);
    below + guard.0[0] as u32
}

#[inline(never)]
fn after_catch() {
    black_box(vec![1u8; 77]);
}

fn main() {
    panic::set_hook(Box::new(|_| {
        // Every fiftieth backtrace is resolved too, which reads and maps the debug information.
        let trace = Backtrace::force_capture();
        if HOOKS.fetch_add(1, Ordering::Relaxed) % 50 == 0 {
            black_box(trace.to_string());
        }
    }));
    let mut caught = 0;
    let mut length = 0;
    for i in 0..500 {
        match panic::catch_unwind(|| fall(i % 20, i)) {
            Ok(_) => unreachable!(),
            Err(payload) => {
                caught += 1;
                length += payload.downcast_ref::<String>().map_or(0, |s| s.len());
            }
        }
        after_catch();
    }
    println!("caught {caught}, length {length}, hooks {}", HOOKS.load(Ordering::Relaxed));
    println!("expect site=after_catch blocks=500 bytes=38500 live=0");
}

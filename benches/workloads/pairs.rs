//! The storm's pairs, which begin when it reads a line: it can be attached to before. It says that it is ready, and in the end how many
//! nanoseconds the pairs took, and how many of processor time.
//! Build: rustc -O --edition 2021 pairs.rs

#[allow(dead_code)]
#[path = "storm.rs"]
mod storm;

use std::ffi::c_int;
use std::io::stdin;

#[repr(C)]
#[derive(Default)]
struct Time {
    seconds: i64,
    nanoseconds: i64,
}

const MONOTONIC: c_int = 1;
const PROCESSOR_TIME_OF_THREAD: c_int = 3;

unsafe extern "C" {
    fn clock_gettime(clock: c_int, time: *mut Time) -> c_int;
}

/// Nanoseconds on a clock.
fn now(clock: c_int) -> i64 {
    let mut time = Time::default();
    // SAFETY: the clock exists, and `time` has the layout of `struct timespec`.
    unsafe { clock_gettime(clock, &mut time) };
    time.seconds * 1_000_000_000 + time.nanoseconds
}

pub(crate) fn main() {
    let n: u64 = std::env::args().nth(1).map_or(15_000_000, |n| n.parse().expect("a number of pairs"));
    println!("ready");
    stdin().read_line(&mut String::new()).expect("a line");
    let clocks = [MONOTONIC, PROCESSOR_TIME_OF_THREAD];
    let start = clocks.map(now);
    let sum = storm::down(1, n);
    let [time, processor] = clocks.map(now);
    println!("{} {} {sum}", time - start[0], processor - start[1]);
}

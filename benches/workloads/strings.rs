//! A map of strings is filled, and then dropped; each is timed apart, in processor time of the thread. Argument: entries
//! (1000000). Prints the nanoseconds of both.
//! Build: rustc -O --edition 2021 strings.rs

use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::ffi::{c_int, c_long};
use std::hash::BuildHasherDefault;

/// The hasher with fixed keys: the usual one is seeded at random, and every run has to do the same work.
type Map = HashMap<String, String, BuildHasherDefault<DefaultHasher>>;

#[repr(C)]
struct Timespec {
    seconds: c_long,
    nanoseconds: c_long,
}

extern "C" {
    fn clock_gettime(clock: c_int, time: *mut Timespec) -> c_int;
}

const CLOCK_THREAD_CPUTIME_ID: c_int = 3;

fn cpu_ns() -> i64 {
    let mut time = Timespec { seconds: 0, nanoseconds: 0 };
    // SAFETY: the structure is that of the C library and is written to during the call only.
    unsafe { clock_gettime(CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.seconds as i64 * 1_000_000_000 + time.nanoseconds as i64
}

fn main() {
    let n: u64 = std::env::args().nth(1).map_or(1_000_000, |a| a.parse().expect("a number of entries"));
    let start = cpu_ns();
    let mut map = Map::default();
    for i in 0..n {
        map.insert(i.to_string(), i.to_string());
    }
    let filled = cpu_ns();
    drop(std::hint::black_box(map));
    println!("{} {}", filled - start, cpu_ns() - filled);
}

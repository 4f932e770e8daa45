//! Exactly as many blocks of 48 bytes as the argument says, all from one function, below a chain of functions of which the
//! compiler inlines two. Argument: blocks (1000000).
//! Build: rustc -O -C debuginfo=line-tables-only --edition 2021 known.rs

use std::hint::black_box;

/// All blocks come from here.
#[inline(never)]
fn known_leaf(n: u64) -> u64 {
    let mut sum = 0;
    for i in 0..n {
        let block = black_box(Box::new([i as u8; 48]));
        sum += u64::from(block[17]);
    }
    sum
}

#[inline(always)]
fn known_inlined_b(n: u64) -> u64 {
    black_box(known_leaf(n)) ^ 1
}

#[inline(always)]
fn known_inlined_a(n: u64) -> u64 {
    black_box(known_inlined_b(n)) + 1
}

/// Functions that call the next one. What is done after the call keeps a separate frame for each.
macro_rules! steps {
    ($($name:ident calls $next:ident,)*) => {
        $(
            #[inline(never)]
            fn $name(n: u64) -> u64 {
                black_box($next(n)) + 1
            }
        )*
    };
}

steps! {
    known_step_01 calls known_step_02,
    known_step_02 calls known_step_03,
    known_step_03 calls known_step_04,
    known_step_04 calls known_step_05,
    known_step_05 calls known_step_06,
    known_step_06 calls known_step_07,
    known_step_07 calls known_step_08,
    known_step_08 calls known_step_09,
    known_step_09 calls known_step_10,
    known_step_10 calls known_step_11,
    known_step_11 calls known_step_12,
    known_step_12 calls known_step_13,
    known_step_13 calls known_step_14,
    known_step_14 calls known_step_15,
    known_step_15 calls known_step_16,
    known_step_16 calls known_step_17,
    known_step_17 calls known_step_18,
    known_step_18 calls known_step_19,
    known_step_19 calls known_step_20,
    known_step_20 calls known_inlined_a,
}

#[inline(never)]
fn known_main(n: u64) -> u64 {
    black_box(known_step_01(n)) + 1
}

pub(crate) fn main() {
    let n: u64 = std::env::args().nth(1).map_or(1_000_000, |a| a.parse().expect("a number of blocks"));
    println!("checksum {}", known_main(n));
}

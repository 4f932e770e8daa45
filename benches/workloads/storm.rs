//! A storm of malloc and immediate free on one thread, about ten frames deep (most of them of the runtime):
//! nearly nothing but the allocator, so it shows the cost of one event. Argument: pairs (15000000).
//! Build: rustc -O --edition 2021 storm.rs

use std::alloc::{Layout, alloc, dealloc};
use std::hint::black_box;

#[inline(never)]
fn pairs(n: u64) -> u64 {
    let mut sum = 0;
    for i in 0..n {
        let layout = Layout::from_size_align(16 + (i as usize & 0xf0), 8).unwrap();
        // SAFETY: the layout is never of size zero, and the block is freed with the same one.
        unsafe {
            let p = black_box(alloc(layout));
            assert!(!p.is_null());
            *p = i as u8;
            sum += *black_box(p) as u64;
            dealloc(p, layout);
        }
    }
    sum
}

/// Depth without allocation. The addition after the call keeps a separate frame for each level.
#[inline(never)]
pub(crate) fn down(level: u32, n: u64) -> u64 {
    if level == 0 {
        return pairs(n);
    }
    black_box(down(level - 1, n)) + level as u64
}

/// Does as many pairs as the first argument says.
pub(crate) fn main() {
    let n: u64 = std::env::args().nth(1).map_or(15_000_000, |a| a.parse().expect("a number of pairs"));
    println!("checksum {}", down(1, n));
}

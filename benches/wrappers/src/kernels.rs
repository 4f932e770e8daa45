//! What is measured: loops that do little but to call the allocator.
//!
//! Each size and each number of calls in a row is a separate function, so the loops lie differently in memory and no single
//! alignment decides. [`black_box`] sees each block, or the compiler would leave both calls out.

use std::hint::black_box;

/// Calls the allocator about as many times as its argument.
pub(crate) type Kernel = fn(u64);

/// The loop for a kind, a size in bytes and a number of calls in a row.
pub(crate) fn find(kind: &str, bytes: u64, unrolled: u64) -> Option<Kernel> {
    Some(match (kind, bytes, unrolled) {
        ("pair", 24, _) => pairs_of::<3>(unrolled)?,
        ("pair", 32, _) => pairs_of::<4>(unrolled)?,
        ("pair", 40, _) => pairs_of::<5>(unrolled)?,
        ("pair", 48, _) => pairs_of::<6>(unrolled)?,
        ("pair", 56, _) => pairs_of::<7>(unrolled)?,
        ("pair", 64, _) => pairs_of::<8>(unrolled)?,
        ("zeroed", 48, 1) => zeroed,
        ("realloc", 32, 1) => reallocations,
        _ => return None,
    })
}

fn pairs_of<const WORDS: usize>(unrolled: u64) -> Option<Kernel> {
    Some(match unrolled {
        1 => pairs::<WORDS, 1>,
        2 => pairs::<WORDS, 2>,
        3 => pairs::<WORDS, 3>,
        _ => return None,
    })
}

/// Boxes that are made and dropped.
#[inline(never)]
fn pairs<const WORDS: usize, const UNROLLED: usize>(calls: u64) {
    for _ in 0..calls / UNROLLED as u64 {
        for _ in 0..UNROLLED {
            drop(black_box(Box::<[u64; WORDS]>::new_uninit()));
        }
    }
}

/// Blocks of zeroes that are made and dropped.
#[inline(never)]
fn zeroed(calls: u64) {
    for _ in 0..calls {
        drop(black_box(vec![0u8; black_box(48)]));
    }
}

/// A block that grows from 32 bytes to 64 and shrinks again: each is a call.
#[inline(never)]
fn reallocations(calls: u64) {
    let mut bytes: Vec<u8> = black_box(Vec::with_capacity(32));
    for _ in 0..calls / 2 {
        bytes.reserve_exact(black_box(64));
        bytes = black_box(bytes);
        bytes.shrink_to(black_box(32));
        bytes = black_box(bytes);
    }
}

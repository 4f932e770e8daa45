//! A list grows from nothing although its length is known.

use std::hint::black_box;

/// Texts of one list.
const LENGTH: usize = 100;

pub(super) fn before(texts: &[String]) -> u64 {
    texts.chunks(LENGTH).map(|part| lengths(part, Vec::new())).sum()
}

pub(super) fn after(texts: &[String]) -> u64 {
    texts.chunks(LENGTH).map(|part| lengths(part, Vec::with_capacity(part.len()))).sum()
}

fn lengths(part: &[String], mut list: Vec<u64>) -> u64 {
    for text in part {
        list.push(text.len() as u64);
    }
    black_box(&list).iter().sum()
}

//! Branches of other functions into the bytes that make way.
//!
//! A compiler has none, but for the pieces into which it cuts a function (`.cold`). Code that was written by hand has: glibc's `mempcpy`
//! goes on behind the first instruction of `memcpy`, a few bytes further.

use crate::Svma;
use crate::code::Code;
use heapwise_trace::live::hooks::Hook;
use iced_x86::{Decoder, DecoderOptions, FlowControl, OpKind};
use std::collections::BTreeSet;

/// How far away functions are looked at.
const NEAR: u64 = 4 << 10;
/// Bytes of a function that are looked at.
const LONGEST: u64 = 64 << 10;
/// What the names of pieces have behind those of their functions.
const PIECES: &[&str] = &[".cold", ".part."];

/// The functions of a file, by their addresses.
#[derive(Debug, Default)]
pub struct Neighbours {
    /// Addresses and sizes, by address.
    sizes: Vec<(u64, u64)>,
    /// Where the branches of pieces go, wherever those lie.
    from_pieces: BTreeSet<u64>,
}

impl Neighbours {
    /// Those of a file, with the pieces of the functions that `wanted` accepts by their names.
    pub fn of(code: &Code<'_>, wanted: impl Fn(&str) -> bool) -> Self {
        let (mut sizes, mut pieces) = (Vec::new(), Vec::new());
        code.functions(|function| {
            if function.size > 0 {
                sizes.push((function.address.0, function.size));
            }
            if memchr::memchr(b'.', function.name.as_bytes()).is_none() {
                return;
            }
            let base = PIECES.iter().find_map(|piece| Some(function.name.split_once(piece)?.0));
            if base.is_some_and(&wanted) {
                pieces.push((function.address.0, function.size));
            }
        });
        // Of several names of one function, the last one counts.
        sizes.reverse();
        sizes.sort_by_key(|(address, _)| *address);
        sizes.dedup_by_key(|(address, _)| *address);
        let mut from_pieces = BTreeSet::new();
        for (address, size) in pieces {
            targets(code, address, size, |target| {
                from_pieces.insert(target);
            });
        }
        Self { sizes, from_pieces }
    }

    /// Whether both addresses lie within one function.
    pub fn are_of_one(&self, first: u64, second: u64) -> bool {
        let of = self.sizes[..self.before(first.saturating_add(1))].last();
        of.is_some_and(|(start, size)| first.max(second) - start < *size)
    }

    /// Where the function begins in which an address lies.
    pub fn start_of(&self, address: u64) -> Option<u64> {
        let (start, size) = self.sizes.get(self.before(address.saturating_add(1)).checked_sub(1)?)?;
        (address - start < *size).then_some(*start)
    }

    /// How many functions begin before an address.
    fn before(&self, address: u64) -> usize {
        self.sizes.partition_point(|(start, _)| *start < address)
    }

    /// Whether another function branches behind the first of the bytes that a hook displaces.
    pub fn branch_into(&self, code: &Code<'_>, hook: &Hook) -> bool {
        let range = hook.address + 1..hook.address.saturating_add(u64::from(hook.displaced_len));
        if self.from_pieces.range(range.clone()).next().is_some() {
            return true;
        }
        let near =
            self.before(hook.address.saturating_sub(NEAR))..self.before(hook.address.saturating_add(NEAR));
        let mut found = false;
        for &(address, size) in &self.sizes[near] {
            targets(code, address, size, |target| found |= range.contains(&target));
        }
        found
    }
}

/// Calls back with the targets of the branches of a function. A call of what lies in the middle of a function is data that was taken
/// for code.
fn targets(code: &Code<'_>, address: u64, size: u64, mut each: impl FnMut(u64)) {
    let bytes = code.bytes(Svma(address), size.min(LONGEST));
    for instruction in Decoder::with_ip(64, bytes, address, DecoderOptions::NONE) {
        let is_near = matches!(instruction.op0_kind(), OpKind::NearBranch32 | OpKind::NearBranch64);
        if is_near && instruction.flow_control() != FlowControl::Call {
            each(instruction.near_branch_target());
        }
    }
}

//! The rules of all addresses met so far, in one word each.
//!
//! A set-associative table. An entry holds the rule in its low 33 bits and in its high 31 bits as much of the address
//! as the position in the table does not already say: the position is a one-to-one function of the middle bits for given
//! high bits, so a hit is certain, and an entry is read and written with one instruction (no tearing).

use super::rule::{RULE_BITS, Rule};
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Binary logarithm of the number of sets.
const SET_BITS: u32 = 16;
/// Entries per set.
const WAYS: usize = 4;
const SETS: usize = 1 << SET_BITS;
const TAG_BITS: u32 = u64::BITS - RULE_BITS;
/// Addresses have 47 bits: the position holds 16 of them, the tag 31.
const _: () = assert!(SET_BITS + TAG_BITS >= 47);
/// PERF: eight neighbouring addresses share a set, so that a page of the table has the rules of a kibibyte of code. With
/// a set for every address it is 128 bytes, and looking a rule up then often misses the address translation as well.
const NEAR_BITS: u32 = 3;

#[repr(C, align(32))]
struct Set([AtomicU64; WAYS]);

static SETS_TABLE: [Set; SETS] = [const { Set([const { AtomicU64::new(0) }; WAYS]) }; SETS];
static VICTIM: AtomicU32 = AtomicU32::new(0);

#[inline(always)]
fn locate(address: usize) -> (&'static Set, u64) {
    let near = address as u64 & ((1 << NEAR_BITS) - 1);
    let far = (address >> (SET_BITS + NEAR_BITS)) as u64;
    let tag = (far << NEAR_BITS | near) & ((1 << TAG_BITS) - 1);
    // Mixing the high bits into the position keeps modules, which begin at round addresses, apart. (Without it a walk,
    // which waits for each rule before it knows the next address, is no faster.)
    let mixed = (far.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - SET_BITS)) as usize;
    let set = (address >> NEAR_BITS ^ mixed) & (SETS - 1);
    (&SETS_TABLE[set], tag << RULE_BITS)
}

/// The rule for an address, if it was met before.
#[inline(always)]
pub fn get(address: usize) -> Option<Rule> {
    let (set, tag) = locate(address);
    for way in &set.0 {
        let entry = way.load(Ordering::Relaxed);
        if entry ^ tag < 1 << RULE_BITS && entry != 0 {
            return Some(Rule(entry & ((1 << RULE_BITS) - 1)));
        }
    }
    None
}

/// Remembers a rule.
pub fn insert(address: usize, rule: Rule) {
    let (set, tag) = locate(address);
    let entry = tag | rule.0;
    let free = set.0.iter().find(|way| way.load(Ordering::Relaxed) == 0);
    let victim = || &set.0[VICTIM.fetch_add(1, Ordering::Relaxed) as usize % WAYS];
    free.unwrap_or_else(victim).store(entry, Ordering::Relaxed);
}

/// Forgets all rules: some of them belong to a module that is gone.
pub fn clear() {
    for way in SETS_TABLE.iter().flat_map(|set| &set.0) {
        if way.load(Ordering::Relaxed) != 0 {
            way.store(0, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unwind::rule::Kind;

    #[test]
    fn every_address_keeps_its_own_rule() {
        let addresses = (0..20_000usize).map(|i| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 17) | 1);
        for address in addresses.clone() {
            insert(address, Rule(Kind::StackPointer as u64 | (address as u64 & 0xfff) << 16));
        }
        let mut hits = 0;
        for address in addresses {
            if let Some(rule) = get(address) {
                hits += 1;
                assert_eq!(rule.0 >> 16, address as u64 & 0xfff, "a hit is for that address");
            }
        }
        assert!(hits > 19_000, "{hits} of 20000 are still there");
    }
}

//! The names of marks: the process keeps a table of those that it has used, and an event has only the id.
//!
//! Looking a name up takes no lock; a new one is written to a log that the collector reads
//! ([`heapwise_trace::live::marks`]), under the lock of the rare paths. The table is bounded: a name for which there is no room
//! has the id of all such names. So no mark is lost because it has no name.

use crate::region::Region;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};
use heapwise_trace::event::MarkId;
use heapwise_trace::live::layout::{MARK_LOG_BYTES, MARK_NAME_BYTES, MAX_MARK_NAMES};
use heapwise_trace::live::marks::id_of;

/// Slots of the hash table: twice as many as names, so that a search is short and always ends at an empty one.
const SLOTS: usize = 2 * MAX_MARK_NAMES;

/// The names of this process. All zeroes is the empty table, so a forked child begins anew.
#[derive(Debug)]
#[repr(C)]
pub struct MarkNames {
    /// The log, null until there is a name.
    log: AtomicPtr<u8>,
    /// How many names there are.
    count: AtomicU32,
    /// Where each name begins in the log.
    offsets: [AtomicU32; MAX_MARK_NAMES],
    /// `hash << 32 | id`, 0 where it is empty. Stored last, so a thread that sees a slot sees the name.
    slots: [AtomicU64; SLOTS],
}

impl MarkNames {
    /// No names yet.
    pub const fn new() -> Self {
        Self {
            log: AtomicPtr::new(core::ptr::null_mut()),
            count: AtomicU32::new(0),
            offsets: [const { AtomicU32::new(0) }; MAX_MARK_NAMES],
            slots: [const { AtomicU64::new(0) }; SLOTS],
        }
    }

    /// The id of a name, if it has one, and else the slot where it would be.
    fn find(&self, name: &[u8], hash: u32) -> Result<MarkId, usize> {
        let mut at = hash as usize % SLOTS;
        // There are fewer names than slots, so this ends.
        loop {
            let slot = self.slots[at].load(Ordering::Acquire);
            if slot == 0 {
                return Err(at);
            }
            let id = MarkId(slot as u32);
            if (slot >> 32) as u32 == hash && self.name(id) == name {
                return Ok(id);
            }
            at = (at + 1) % SLOTS;
        }
    }

    /// The name of an id that was found in a slot.
    fn name(&self, id: MarkId) -> &[u8] {
        let log = self.log.load(Ordering::Relaxed);
        let offset = self.offsets[id.0 as usize - 1].load(Ordering::Relaxed) as usize;
        // SAFETY: a slot is stored after its name was written there and never again, with its length in front; the log is never
        // unmapped. The length is the recorder's own, for nothing else writes to this memory.
        unsafe {
            let start = log.add(offset);
            let len = usize::from(u16::from_le_bytes([start.read(), start.add(1).read()]));
            core::slice::from_raw_parts(start.add(2), len.min(MARK_NAME_BYTES))
        }
    }

    /// Gives a new name an id; [`MarkId::OTHER`] if there is no room for it.
    #[cold]
    #[inline(never)]
    fn add(&self, region: &Region, name: &[u8], hash: u32) -> MarkId {
        let Some(held) = region.hold() else { return MarkId::OTHER };
        let slot = match self.find(name, hash) {
            Ok(id) => return id,
            Err(slot) => slot,
        };
        let count = self.count.load(Ordering::Relaxed) as usize;
        let Some(header) = region.header().filter(|_| count < MAX_MARK_NAMES) else { return MarkId::OTHER };
        if self.log.load(Ordering::Relaxed).is_null() {
            let Some(log) = region.allocate(&held, MARK_LOG_BYTES) else { return MarkId::OTHER };
            self.log.store(log.at, Ordering::Release);
            header.mark_log.store(log.offset, Ordering::Release);
        }
        let used = header.mark_log_len.load(Ordering::Relaxed) as usize;
        let len = name.len() + 2;
        if used + len > MARK_LOG_BYTES {
            return MarkId::OTHER;
        }
        // SAFETY: within the log, which only the holder of the lock writes to, and of which no thread reads this part before
        // the new length or the slot is stored.
        unsafe {
            let at = self.log.load(Ordering::Relaxed).add(used);
            core::ptr::copy_nonoverlapping((name.len() as u16).to_le_bytes().as_ptr(), at, 2);
            core::ptr::copy_nonoverlapping(name.as_ptr(), at.add(2), name.len());
        }
        let id = id_of(count);
        self.offsets[count].store(used as u32, Ordering::Relaxed);
        self.count.store(count as u32 + 1, Ordering::Relaxed);
        self.slots[slot].store(u64::from(hash) << 32 | u64::from(id.0), Ordering::Release);
        header.mark_log_len.store((used + len) as u32, Ordering::Release);
        id
    }

    /// The id of a name of at most [`MARK_NAME_BYTES`].
    pub fn intern(&self, region: &Region, name: &[u8]) -> MarkId {
        let hash = hash(name);
        self.find(name, hash).unwrap_or_else(|_| self.add(region, name, hash))
    }
}

impl Default for MarkNames {
    fn default() -> Self {
        Self::new()
    }
}

/// FNV-1a: short, and names are few.
fn hash(name: &[u8]) -> u32 {
    name.iter().fold(0x811c_9dc5, |hash, &byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_table_has_no_name_and_a_place_for_each() {
        let names = MarkNames::new();
        for name in [&b""[..], b"a", b"phase"] {
            assert_eq!(names.find(name, hash(name)), Err(hash(name) as usize % SLOTS));
        }
    }

    #[test]
    fn names_with_the_same_slot_are_distinguished() {
        let names = MarkNames::new();
        let log = Box::leak(Box::new(*b"\x01\0a\x02\0bc"));
        names.log.store(log.as_mut_ptr(), Ordering::Relaxed);
        names.offsets[1].store(3, Ordering::Relaxed);
        let same = u64::from(7u32) << 32;
        names.slots[7].store(same | 1, Ordering::Relaxed);
        names.slots[8].store(same | 2, Ordering::Relaxed);
        assert_eq!(names.find(b"a", 7), Ok(MarkId(1)));
        assert_eq!(names.find(b"bc", 7), Ok(MarkId(2)));
        assert_eq!(names.find(b"b", 7), Err(9));
    }
}

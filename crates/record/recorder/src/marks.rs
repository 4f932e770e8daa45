//! Marks: a recorded program says what it is doing.
//!
//! A mark is an event like any other: it stands in its thread's ring between the calls that happened before and after it, and
//! has no stack. Its name is *interned*: the process keeps a table of the names that it has used, and an event has only the
//! id. Looking a name up takes no lock; a new one is written to a log that the collector reads
//! ([`heapwise_trace::live::marks`]), under the lock of the rare paths.
//!
//! The table is bounded. A name that is too long is cut, and says so by ending in `…`; a name for which there is no room has
//! the id of all such names. So no mark is lost that could not say what it is called.

use crate::arch::entry::Entry;
use crate::confined;
use crate::process::PROCESS;
use crate::turn::begin;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};
use heapwise_trace::event::{Event, MarkId, MarkKind};
use heapwise_trace::live::layout::{
    CLOCK_PAUSED, CLOCK_STOPPED, MARK_LOG_BYTES, MARK_NAME_BYTES, MAX_MARK_NAMES,
};
use heapwise_trace::live::marks::id_of;

/// Slots of the hash table: twice as many as names, so that a search is short and always ends at an empty one.
const SLOTS: usize = 2 * MAX_MARK_NAMES;
/// What a name that was cut ends in.
const CUT: &[u8] = "…".as_bytes();

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
    /// `hash << 32 | id`, 0 where it is empty. Stored last, so whoever sees a slot sees the name.
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
        // unmapped. The length is the recorder's own, for nobody else writes to this memory.
        unsafe {
            let start = log.add(offset);
            let len = usize::from(u16::from_le_bytes([start.read(), start.add(1).read()]));
            core::slice::from_raw_parts(start.add(2), len.min(MARK_NAME_BYTES))
        }
    }

    /// Gives a new name an id; [`MarkId::OTHER`] if there is no room for it.
    #[cold]
    #[inline(never)]
    fn add(&self, name: &[u8], hash: u32) -> MarkId {
        let Some(held) = PROCESS.lock.acquire() else { return MarkId::OTHER };
        let slot = match self.find(name, hash) {
            Ok(id) => return id,
            Err(slot) => slot,
        };
        let count = self.count.load(Ordering::Relaxed) as usize;
        let Some(header) = PROCESS.header().filter(|_| count < MAX_MARK_NAMES) else { return MarkId::OTHER };
        if self.log.load(Ordering::Relaxed).is_null() {
            let Some(log) = PROCESS.allocate(&held, MARK_LOG_BYTES) else { return MarkId::OTHER };
            self.log.store(log.at, Ordering::Release);
            header.mark_log.store(log.offset, Ordering::Release);
        }
        let used = header.mark_log_len.load(Ordering::Relaxed) as usize;
        let len = name.len() + 2;
        if used + len > MARK_LOG_BYTES {
            return MarkId::OTHER;
        }
        // SAFETY: within the log, which only the holder of the lock writes to, and of which nobody reads this part before
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

    fn intern(&self, name: &[u8]) -> MarkId {
        let hash = hash(name);
        self.find(name, hash).unwrap_or_else(|_| self.add(name, hash))
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

/// A copy of a name, cut if it is too long: the program may change the original meanwhile.
struct Name {
    bytes: [u8; MARK_NAME_BYTES],
    len: usize,
}

impl Name {
    fn copy(name: &[u8]) -> Self {
        let mut copy = Self { bytes: [0; MARK_NAME_BYTES], len: name.len().min(MARK_NAME_BYTES) };
        if name.len() > MARK_NAME_BYTES {
            let mut kept = MARK_NAME_BYTES - CUT.len();
            // Not within a character: its later bytes begin with the bits 10.
            while kept > 0 && name[kept] & 0xc0 == 0x80 {
                kept -= 1;
            }
            copy.bytes[..kept].copy_from_slice(&name[..kept]);
            copy.bytes[kept..kept + CUT.len()].copy_from_slice(CUT);
            copy.len = kept + CUT.len();
        } else {
            copy.bytes[..copy.len].copy_from_slice(name);
        }
        copy
    }

    fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

/// Marks this moment of the calling thread. Does nothing if this process is not recorded, or not at the moment.
pub fn mark(kind: MarkKind, name: &[u8]) {
    let here = 0usize;
    let entry = Entry { stack_pointer: &raw const here as usize, frame_pointer: 0 };
    let Some(mut turn) = begin(&entry) else { return };
    let clock = turn.clock();
    if !turn.at(clock) {
        return;
    }
    let name = PROCESS.marks.intern(Name::copy(name).bytes());
    // Without ticks the collector's clock has to do, which is less precise.
    turn.push(Event::Mark { kind, name, ticks: confined::ticks().unwrap_or(0) });
}

/// Whether a mark would be recorded now.
pub fn is_recording() -> bool {
    if PROCESS.clock.load(Ordering::Acquire).is_null() {
        // A forked child joins at its first event; this counts as one.
        let here = 0usize;
        let entry = Entry { stack_pointer: &raw const here as usize, frame_pointer: 0 };
        if begin(&entry).is_none() {
            return false;
        }
    }
    let clock = PROCESS.clock.load(Ordering::Acquire);
    // SAFETY: null, or the session's clock, which is never unmapped and is an atomic.
    unsafe { clock.as_ref() }
        .is_some_and(|clock| clock.load(Ordering::Acquire) & (CLOCK_PAUSED | CLOCK_STOPPED) == 0)
}

/// The C function `heapwise_mark`: `kind` is 0 for a moment, 1 for the begin of a span, 2 for its end; others are ignored. A
/// null `name` is an empty one.
///
/// # Safety
/// `name` is null, or points to `len` bytes that can be read.
pub unsafe extern "C" fn mark_from_c(kind: u32, name: *const u8, len: usize) {
    let Some(kind) = MarkKind::from_code(u64::from(kind)) else { return };
    // One byte more than is kept shows that there was more.
    let len = len.min(MARK_NAME_BYTES + 1);
    // SAFETY: the caller's promise; not more than it said.
    let name = if name.is_null() { &[] } else { unsafe { core::slice::from_raw_parts(name, len) } };
    mark(kind, name);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_too_long_says_so() {
        assert_eq!(Name::copy(b"phase").bytes(), b"phase");
        let longest = [b'a'; MARK_NAME_BYTES];
        assert_eq!(Name::copy(&longest).bytes(), longest);
        let cut = Name::copy(&[b'a'; MARK_NAME_BYTES + 1]);
        assert_eq!(cut.bytes(), [&longest[..MARK_NAME_BYTES - 3], "…".as_bytes()].concat());
        let umlauts = "ä".repeat(150);
        let cut = Name::copy(umlauts.as_bytes());
        assert_eq!(core::str::from_utf8(cut.bytes()), Ok(&*format!("{}…", "ä".repeat(98))));
        let no_text = Name::copy(&[0x80; 300]);
        assert_eq!(no_text.bytes(), CUT, "whatever the bytes are");
    }

    #[test]
    fn an_empty_table_has_no_name_and_a_place_for_each() {
        let names = MarkNames::new();
        for name in [&b""[..], b"a", b"phase"] {
            assert_eq!(names.find(name, hash(name)), Err(hash(name) as usize % SLOTS));
        }
    }

    #[test]
    fn names_with_the_same_slot_are_told_apart() {
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

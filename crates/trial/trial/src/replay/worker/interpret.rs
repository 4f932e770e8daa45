//! One thread's stream, record by record.

use super::memory::Memory;
use super::meter::{Kind, Meter};
use super::threads::Ending;
use super::{calls, threads, touch, wait};
use crate::replay::script::record::{Operation, RECORD_BYTES, Record};
use crate::replay::shared::Slot;
use std::sync::atomic::Ordering;

/// Addresses have 47 bits; the generation is above.
const ADDRESS: u64 = (1 << 48) - 1;
/// In place of a block that could not be had.
const REFUSED: u64 = 1;

fn content(generation: u16, address: u64) -> u64 {
    u64::from(generation) << 48 | address & ADDRESS
}

/// The state of a thread's interpreter.
#[derive(Debug)]
struct Interpreter<'a> {
    memory: &'a Memory,
    thread: usize,
    meter: Meter<'a>,
    calls: u64,
    /// What no other thread was behind when it was looked at last.
    slowest_epoch: u32,
    notes_pages: bool,
}

/// Executes the thread's stream.
pub(super) fn stream(memory: &Memory, thread: usize) -> Ending {
    let header = memory.header();
    let state = memory.thread(thread);
    let get = |field: &std::sync::atomic::AtomicU32| field.load(Ordering::Relaxed);
    let (time_every, is_empty) = (get(&header.time_every), get(&header.is_empty) != 0);
    let mut interpreter = Interpreter {
        memory,
        thread,
        meter: Meter::new(state, header.suspicious_ticks.load(Ordering::Relaxed)),
        calls: 0,
        slowest_epoch: 0,
        notes_pages: get(&header.notes_pages) != 0,
    };
    let mut at = state.first.load(Ordering::Relaxed);
    let mut piece = thread as u32;
    loop {
        let timed = time_every != 0 && piece.is_multiple_of(time_every);
        let result = match (timed, is_empty) {
            (true, false) => interpreter.piece::<true, false>(at),
            (false, false) => interpreter.piece::<false, false>(at),
            (true, true) => interpreter.piece::<true, true>(at),
            (false, true) => interpreter.piece::<false, true>(at),
        };
        state.calls.store(interpreter.calls, Ordering::Relaxed);
        piece = piece.wrapping_add(1);
        match result {
            Ok(next) => at = next,
            Err(ending) => return ending,
        }
    }
}

impl Interpreter<'_> {
    /// Does a piece of a stream; the next one, or how it ended.
    fn piece<const TIMED: bool, const EMPTY: bool>(&mut self, at: u64) -> Result<u64, Ending> {
        let memory = self.memory;
        let records = memory.piece(self.thread, at);
        let stop = memory.thread(self.thread).stop.load(Ordering::Relaxed);
        let stop = stop.checked_sub(at).map(|bytes| (bytes / RECORD_BYTES) as usize);
        let (before, after) = stop.and_then(|stop| records.split_at_checked(stop)).unwrap_or((records, &[]));
        let mut place = at;
        // PERF: from one place, so that it is inlined.
        for part in [before, after] {
            if let Some(result) = self.records::<TIMED, EMPTY>(part, place) {
                return result;
            }
            place += part.len() as u64 * RECORD_BYTES;
            if !after.is_empty() {
                threads::park(memory);
            }
        }
        // Each stream has an end record, so the file could not be read to its end. The header has the reason; if not, the file is
        // shorter than it was.
        let _ = memory.header().trouble.compare_exchange(0, libc::EIO, Ordering::AcqRel, Ordering::Relaxed);
        Err(Ending::Stays)
    }

    /// Does some records, up to one that ends the piece or the stream.
    #[inline(always)]
    fn records<const TIMED: bool, const EMPTY: bool>(
        &mut self,
        records: &[Record],
        at: u64,
    ) -> Option<Result<u64, Ending>> {
        let memory = self.memory;
        if TIMED {
            self.meter.begin();
        }
        for (index, &record) in records.iter().enumerate() {
            let position = || at + index as u64 * RECORD_BYTES;
            match record.operation() {
                Operation::Free => self.free::<TIMED, EMPTY>(record, position),
                Operation::Realloc => self.resize::<TIMED, EMPTY>(record, position),
                Operation::Epoch => {
                    threads::enter(memory, self.thread, record, &mut self.slowest_epoch);
                    if TIMED {
                        self.meter.begin();
                    }
                }
                Operation::Spawn => {
                    threads::spawn(memory, self.thread, record.number());
                    if TIMED {
                        self.meter.begin();
                    }
                }
                Operation::Join => {
                    threads::join(memory, record.number() as usize);
                    if TIMED {
                        self.meter.begin();
                    }
                }
                Operation::Next => return Some(Ok(record.0[1])),
                Operation::End => return Some(Err(Ending::Ends)),
                Operation::Stay => return Some(Err(Ending::Stays)),
                _ => self.allocate::<TIMED, EMPTY>(record, position),
            }
        }
        None
    }

    #[inline(always)]
    fn allocate<const TIMED: bool, const EMPTY: bool>(&mut self, record: Record, position: impl Fn() -> u64) {
        let slot = self.memory.slot(record.number());
        if record.waits() {
            let empty = content(record.generation().wrapping_sub(1), 0);
            wait::until(self.memory.place(record.number()), record.number(), || {
                slot.content.load(Ordering::Acquire) == empty
            });
            if TIMED {
                self.meter.begin();
            }
        }
        let block = if EMPTY { REFUSED as *mut u8 } else { calls::allocate(record) };
        if TIMED {
            self.meter.end(Kind::Allocate, position);
        }
        self.calls += 1;
        self.fill::<TIMED, EMPTY>(slot, block, record, record.generation(), 0);
    }

    #[inline(always)]
    fn free<const TIMED: bool, const EMPTY: bool>(&mut self, record: Record, position: impl Fn() -> u64) {
        let slot = self.memory.slot(record.number());
        let block = self.take::<TIMED>(slot, record);
        if !EMPTY && block > REFUSED {
            // SAFETY: the block came from the allocator and was put into this slot; whoever empties the slot is the only
            // one who has the address, and the script empties it once in each generation.
            unsafe { calls::free(block as *mut u8) };
        }
        if TIMED {
            self.meter.end(Kind::Free, position);
        }
        self.calls += 1;
        self.put::<TIMED>(slot, record, content(record.generation(), 0));
    }

    #[inline(always)]
    fn resize<const TIMED: bool, const EMPTY: bool>(&mut self, record: Record, position: impl Fn() -> u64) {
        let slot = self.memory.slot(record.number());
        let before = self.take::<TIMED>(slot, record);
        let old_size = slot.size.load(Ordering::Relaxed) as usize;
        let mut block = before as *mut u8;
        if !EMPTY {
            let old = if before > REFUSED { block } else { std::ptr::null_mut() };
            // SAFETY: as in `free`; a null pointer is a block of no size.
            block = unsafe { calls::resize(old, record.size()) };
        }
        if TIMED {
            self.meter.end(Kind::Reallocate, position);
        }
        self.calls += 1;
        if block.is_null() && before > REFUSED {
            // The old block is still there and is kept, as the program would.
            self.memory.header().refused.fetch_add(1, Ordering::Relaxed);
            self.put::<TIMED>(slot, record, content(record.generation().wrapping_add(1), before));
            return;
        }
        self.fill::<TIMED, EMPTY>(slot, block, record, record.generation().wrapping_add(1), old_size);
    }

    /// The address in a slot, once the block that the record means is there.
    #[inline(always)]
    fn take<const TIMED: bool>(&mut self, slot: &Slot, record: Record) -> u64 {
        if record.waits() {
            let generation = u64::from(record.generation());
            let is_there = |content: u64| content >> 48 == generation && content & ADDRESS != 0;
            wait::until(self.memory.place(record.number()), record.number(), || {
                is_there(slot.content.load(Ordering::Acquire))
            });
            if TIMED {
                self.meter.begin();
            }
        }
        slot.content.load(Ordering::Acquire) & ADDRESS
    }

    /// Puts something into a slot, which other threads may wait for.
    #[inline(always)]
    fn put<const TIMED: bool>(&mut self, slot: &Slot, record: Record, content: u64) {
        slot.content.store(content, Ordering::Release);
        if wait::is_slot_awaited() {
            wait::tell(self.memory.place(record.number()), record.number());
            // To wake others is no part of the next call.
            if TIMED {
                self.meter.begin();
            }
        }
    }

    /// Uses a new block and puts it into its slot.
    #[inline(always)]
    fn fill<const TIMED: bool, const EMPTY: bool>(
        &mut self,
        slot: &Slot,
        block: *mut u8,
        record: Record,
        generation: u16,
        used: usize,
    ) {
        if EMPTY || block.is_null() {
            if !EMPTY {
                self.memory.header().refused.fetch_add(1, Ordering::Relaxed);
            }
            slot.size.store(0, Ordering::Relaxed);
            self.put::<TIMED>(slot, record, content(generation, REFUSED));
            return;
        }
        // SAFETY: a new block of the requested size, of which at most so much is touched, and no other thread has it yet.
        unsafe { touch::touch(block, used.min(record.size()), record.touched_bytes()) };
        if self.notes_pages {
            self.memory.note_pages(block as usize, record.size());
        }
        slot.size.store(record.size() as u64, Ordering::Relaxed);
        self.put::<TIMED>(slot, record, content(generation, block as u64));
        if TIMED {
            self.meter.begin();
        }
    }
}

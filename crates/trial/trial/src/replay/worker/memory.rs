//! The shared memory as the replaying process sees it.

use crate::replay::script::record::{PIECE_BYTES, PIECE_RECORDS, Record};
use crate::replay::shared::{Header, Layout, MAGIC, PAGE_SHIFT, PLACES, Place, Slot, ThreadState};
use std::fs::{File, OpenOptions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// The mapping, and the records. It is never unmapped: the process ends with it.
#[derive(Debug)]
pub(super) struct Memory {
    at: *mut u8,
    layout: Layout,
    n_threads: usize,
    n_creations: usize,
    n_slots: usize,
    records: File,
}

// SAFETY: all of the mapping is atomics, except for the pieces, each of which is used by one thread.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

impl Memory {
    /// Maps what the parent has made. `None` if it is not what it should be.
    pub(super) fn open(parent: &str, shared: &str, records: &str) -> Option<Self> {
        let path = |fd: &str| format!("/proc/{parent}/fd/{fd}");
        let file = OpenOptions::new().read(true).write(true).open(path(shared)).ok()?;
        let records = File::open(path(records)).ok()?;
        let bytes = usize::try_from(file.metadata().ok()?.len()).ok()?;
        if bytes < size_of::<Header>() {
            return None;
        }
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_SHARED | libc::MAP_NORESERVE;
        // SAFETY: the kernel chooses free addresses.
        let at = unsafe { libc::mmap(std::ptr::null_mut(), bytes, protection, flags, file.as_raw_fd(), 0) };
        if at == libc::MAP_FAILED {
            return None;
        }
        let at: *mut u8 = at.cast();
        // SAFETY: the mapping is at least as large as a header, aligned to a page, and all fields are atomics, for which
        // any bytes are valid and which may be changed by others.
        let header = unsafe { &*at.cast::<Header>() };
        let number = |field: &AtomicU32| field.load(Ordering::Acquire);
        let (threads, creations, slots) =
            (number(&header.n_threads), number(&header.n_creations), number(&header.n_slots));
        let layout = Layout::new(threads, creations, slots);
        if header.magic.load(Ordering::Acquire) != MAGIC || layout.bytes > bytes {
            return None;
        }
        // All that grows with the script is made resident now: what is resident later is the heap's. A failure costs
        // exactness only.
        // SAFETY: a range within the mapping.
        unsafe { libc::madvise(at.cast(), layout.pieces, libc::MADV_POPULATE_WRITE) };
        let (n_threads, n_creations, n_slots) = (threads as usize, creations as usize, slots as usize);
        Some(Self { at, layout, n_threads, n_creations, n_slots, records })
    }

    /// # Safety
    /// `offset` is within the mapping and aligned for `T`, which is made of atomics.
    unsafe fn get<T>(&self, offset: usize) -> &T {
        // SAFETY: the caller's promise; the mapping lives as long as the process.
        unsafe { &*self.at.add(offset).cast::<T>() }
    }

    #[inline(always)]
    pub(super) fn header(&self) -> &Header {
        // SAFETY: at the start of the mapping.
        unsafe { self.get(0) }
    }

    pub(super) fn n_threads(&self) -> usize {
        self.n_threads
    }

    /// The epochs that all threads are in.
    #[inline(always)]
    pub(super) fn progress(&self) -> &[AtomicU32] {
        // SAFETY: the layout has room for so many numbers there, aligned to a page.
        unsafe {
            let first: *const AtomicU32 = self.at.add(self.layout.progress).cast();
            std::slice::from_raw_parts(first, self.n_threads)
        }
    }

    /// The thread that a creation makes, [`NO_THREAD`](crate::replay::shared::NO_THREAD) if it never did anything.
    pub(super) fn created(&self, creation: u32) -> u32 {
        if creation as usize >= self.n_creations {
            return crate::replay::shared::NO_THREAD;
        }
        // SAFETY: within the table, whose size was just compared.
        let entry: &AtomicU32 = unsafe { self.get(self.layout.creations + creation as usize * 4) };
        entry.load(Ordering::Relaxed)
    }

    pub(super) fn thread(&self, thread: usize) -> &ThreadState {
        assert!(thread < self.n_threads, "the script names no thread that it does not have");
        // SAFETY: within the table, whose size was just compared.
        unsafe { self.get(self.layout.threads + thread * size_of::<ThreadState>()) }
    }

    /// A slot of a record. Scripts come from our own parent; a number that is too large would be its mistake and must not
    /// become a write to somewhere.
    #[inline(always)]
    pub(super) fn slot(&self, slot: u32) -> &Slot {
        assert!((slot as usize) < self.n_slots, "the script names no slot that it does not have");
        // SAFETY: within the table, whose size was just compared.
        unsafe { self.get(self.layout.slots + slot as usize * size_of::<Slot>()) }
    }

    /// Where threads sleep that wait for something about this slot, thread or epoch. Different ones may have the same place.
    #[inline(always)]
    pub(super) fn place(&self, number: u32) -> &Place {
        // SAFETY: within the table, which begins at a page and has so many; a place is made of atomics, which all threads may share.
        unsafe { self.get(self.layout.places + number as usize % PLACES * size_of::<Place>()) }
    }

    /// Reads a piece of a thread's stream. Only that thread may call this.
    pub(super) fn piece(&self, thread: usize, offset: u64) -> &[Record] {
        assert!(thread < self.n_threads, "the script names no thread that it does not have");
        let at = self.layout.pieces + thread * PIECE_BYTES as usize;
        // SAFETY: the thread's own part of the mapping, aligned to a page. The slice that an earlier call returned is not
        // used any more when the thread asks for the next piece.
        let buffer = unsafe { std::slice::from_raw_parts_mut(self.at.add(at), PIECE_BYTES as usize) };
        let mut read = 0;
        while read < buffer.len() {
            match self.records.read_at(&mut buffer[read..], offset + read as u64) {
                Ok(0) => break,
                Ok(n) => read += n,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => {
                    let code = error.raw_os_error().unwrap_or(libc::EIO);
                    self.header().trouble.store(code, Ordering::Release);
                    break;
                }
            }
        }
        let records = (read / size_of::<Record>()).min(PIECE_RECORDS);
        // SAFETY: as many records as were read; any two words are one.
        unsafe { std::slice::from_raw_parts(self.at.add(at).cast::<Record>(), records) }
    }

    /// Notes that a block lies on its pages.
    #[inline(always)]
    pub(super) fn note_pages(&self, address: usize, size: usize) {
        let (first, last) = (address >> PAGE_SHIFT, (address + size.max(1) - 1) >> PAGE_SHIFT);
        let limit = (self.layout.bytes - self.layout.pages) * 8;
        for page in first..=last.min(limit - 1) {
            // SAFETY: within the table of pages: `page` is less than the number of its bits.
            let word: &AtomicU64 = unsafe { self.get(self.layout.pages + page / 64 * 8) };
            let bit = 1u64 << (page % 64);
            if word.load(Ordering::Relaxed) & bit == 0 {
                word.fetch_or(bit, Ordering::Relaxed);
            }
        }
    }

    /// Returns the memory of a thread's piece to the system.
    pub(super) fn forget_piece(&self, thread: usize) {
        let at = self.layout.pieces + thread * PIECE_BYTES as usize;
        // SAFETY: the thread's own part of the mapping, which it does not use any more.
        unsafe { libc::madvise(self.at.add(at).cast(), PIECE_BYTES as usize, libc::MADV_DONTNEED) };
    }
}

//! The shared memory as the watching process sees it.

#![expect(unsafe_code, reason = "maps memory that it shares with the replaying process")]

use crate::replay::script::Script;
use crate::replay::shared::{Header, Layout, MAGIC, NO_THREAD, NOT_RUNNING, PAGE_SHIFT, Slot, ThreadState};
use rustix::fs::MemfdFlags;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// The file and its mapping.
#[derive(Debug)]
pub(super) struct Memory {
    pub(super) file: File,
    at: *mut u8,
    layout: Layout,
    n_threads: usize,
    n_slots: usize,
}

// SAFETY: the mapping is plain memory, and what is in it is only reached through atomics.
unsafe impl Send for Memory {}

impl Memory {
    /// Makes it for a script.
    pub(super) fn new(script: &Script) -> io::Result<Self> {
        let threads = u32::try_from(script.threads.len()).map_err(io::Error::other)?;
        let creations = u32::try_from(script.created.len()).map_err(io::Error::other)?;
        let layout = Layout::new(threads, creations, script.slots);
        let file = File::from(rustix::fs::memfd_create("heapwise-replay", MemfdFlags::CLOEXEC)?);
        // Nearly all of it is never touched, but a limit on the size of files counts it.
        heapwise_collector::set_len_unlimited(&file, layout.bytes as u64)?;
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_SHARED | libc::MAP_NORESERVE;
        // SAFETY: the kernel chooses free addresses.
        let at =
            unsafe { libc::mmap(std::ptr::null_mut(), layout.bytes, protection, flags, file.as_raw_fd(), 0) };
        if at == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let memory =
            Self { file, at: at.cast(), layout, n_threads: threads as usize, n_slots: script.slots as usize };
        memory.fill(script, threads, creations);
        Ok(memory)
    }

    fn fill(&self, script: &Script, threads: u32, creations: u32) {
        let header = self.header();
        header.n_threads.store(threads, Ordering::Relaxed);
        header.n_creations.store(creations, Ordering::Relaxed);
        header.n_slots.store(script.slots, Ordering::Relaxed);
        for (i, thread) in script.threads.iter().enumerate() {
            self.number(self.layout.progress + i * 4).store(NOT_RUNNING, Ordering::Relaxed);
            let state = self.thread(i);
            state.first.store(thread.first, Ordering::Relaxed);
            state.stop.store(thread.stop.map_or(u64::MAX, |at| at.0), Ordering::Relaxed);
            state.is_spawned.store(thread.is_spawned.into(), Ordering::Relaxed);
            state.is_joined.store(thread.is_joined.into(), Ordering::Relaxed);
        }
        for (i, created) in script.created.iter().enumerate() {
            let entry = self.number(self.layout.creations + i * 4);
            entry.store(created.unwrap_or(NO_THREAD), Ordering::Relaxed);
        }
        header.magic.store(MAGIC, Ordering::Release);
    }

    /// # Safety
    /// `offset` is within the mapping and aligned for `T`, which is made of atomics.
    unsafe fn get<T>(&self, offset: usize) -> &T {
        // SAFETY: the caller's promise; the mapping lives as long as `self`, and any bytes are valid atomics.
        unsafe { &*self.at.add(offset).cast::<T>() }
    }

    fn number(&self, offset: usize) -> &AtomicU32 {
        assert!(offset + 4 <= self.layout.threads && offset.is_multiple_of(4));
        // SAFETY: within the tables in front of those of the threads, as was just compared.
        unsafe { self.get(offset) }
    }

    pub(super) fn header(&self) -> &Header {
        // SAFETY: at the start of the mapping, which is larger.
        unsafe { self.get(0) }
    }

    pub(super) fn inode(&self) -> u64 {
        self.file.metadata().map_or(0, |facts| facts.ino())
    }

    pub(super) fn threads(&self) -> impl Iterator<Item = &ThreadState> {
        (0..self.n_threads).map(|thread| self.thread(thread))
    }

    fn thread(&self, thread: usize) -> &ThreadState {
        assert!(thread < self.n_threads);
        // SAFETY: within the table, whose size was just compared.
        unsafe { self.get(self.layout.threads + thread * size_of::<ThreadState>()) }
    }

    /// Address and requested bytes of the blocks that are live now.
    pub(super) fn live_blocks(&self) -> Vec<(u64, u64)> {
        const ADDRESS: u64 = (1 << 48) - 1;
        let slot = |i: usize| {
            // SAFETY: within the table: `i` is less than the number of slots, for which the layout has room.
            let slot: &Slot = unsafe { self.get(self.layout.slots + i * size_of::<Slot>()) };
            (slot.content.load(Ordering::Acquire) & ADDRESS, slot.size.load(Ordering::Relaxed))
        };
        // 0 is an empty slot, 1 a block that could not be had.
        (0..self.n_slots).map(slot).filter(|&(address, _)| address > 1).collect()
    }

    /// Ranges of addresses whose pages ever held blocks, within the given ones.
    pub(super) fn pages_that_held_blocks(&self, within: &[Range<u64>]) -> Vec<Range<u64>> {
        let bits = (self.layout.bytes - self.layout.pages) as u64 * 8;
        let mut found: Vec<Range<u64>> = Vec::new();
        for range in within {
            let (first, last) = (range.start >> PAGE_SHIFT, (range.end >> PAGE_SHIFT).min(bits));
            for page in first..last {
                let offset = self.layout.pages + (page / 64 * 8) as usize;
                // SAFETY: within the table of pages: `page` is less than the number of its bits.
                let word: &AtomicU64 = unsafe { self.get(offset) };
                if word.load(Ordering::Relaxed) & 1 << (page % 64) == 0 {
                    continue;
                }
                let (start, end) = (page << PAGE_SHIFT, (page + 1) << PAGE_SHIFT);
                match found.last_mut() {
                    Some(before) if before.end == start => before.end = end,
                    _ => found.push(start..end),
                }
            }
        }
        found
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: made by `new`; no reference into it outlives the owner.
        unsafe { libc::munmap(self.at.cast(), self.layout.bytes) };
    }
}

//! The part of the session that this process fills now, mapped in pieces.
//!
//! A whole arena would take more address space than most processes need, which counts where that is limited. So a small piece
//! is mapped at first, and more when it is used up. The file is not needed for that: the kernel extends a copy of what is
//! mapped already. So a process can go on in a `chroot`, after it gave up its privileges or closed its descriptors.

use crate::sys::{self, File, PAGE};
use crate::{address_space, confined};
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use heapwise_trace::live::layout::{ARENA_BYTES, SessionHeader};

const ARENA: usize = ARENA_BYTES as usize;
/// The first piece: the process's header and logs, the beginning of its trie, and the ring of its first thread.
const FIRST: usize = 17 << 18;
/// The same with the small ring of a limited address space.
const FIRST_LIMITED: usize = 5 << 19;
/// The least of another piece there. Without a limit a piece is as large as all before it.
const NEXT_LIMITED: usize = 256 << 10;

/// Memory of an arena.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    /// Where it is mapped here; zeroed.
    pub at: *mut u8,
    /// Where it lies in the session file.
    pub offset: u64,
}

/// Where the session's memory comes from.
#[derive(Debug)]
pub(crate) enum Source {
    /// Its file, opened by its path.
    File(File),
    /// What is mapped of it: its header.
    Mapped(*const SessionHeader),
}

/// The newest arena. Changed under the process's lock only; all zeroes is none.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Arena {
    /// Where its first byte would be, going by the newest piece.
    base: AtomicUsize,
    /// Where it lies in the session file.
    offset: AtomicU64,
    /// Bytes that were handed out.
    used: AtomicUsize,
    /// Bytes up to the end of the newest piece.
    mapped: AtomicUsize,
}

impl Arena {
    /// No arena.
    pub(crate) const fn none() -> Self {
        Self {
            base: AtomicUsize::new(0),
            offset: AtomicU64::new(0),
            used: AtomicUsize::new(0),
            mapped: AtomicUsize::new(0),
        }
    }

    /// Begins another arena, at this offset of the session file, with so many bytes at least.
    pub(crate) fn begin(&self, from: &Source, offset: u64, needed: usize) -> Option<()> {
        let bytes = if address_space::limit().is_some() { FIRST_LIMITED } else { FIRST }.max(needed);
        let base = match from {
            Source::File(file) => file.map_shared(offset, bytes),
            // SAFETY: the session's header, which is mapped for the rest of the process's life and lies at the file's beginning.
            Source::Mapped(header) => unsafe {
                sys::map_shared_further(header.cast_mut().cast(), offset as usize, bytes)
            },
        }
        .ok()?;
        self.base.store(base as usize, Ordering::Relaxed);
        self.offset.store(offset, Ordering::Relaxed);
        self.used.store(0, Ordering::Relaxed);
        self.mapped.store(bytes, Ordering::Relaxed);
        Some(())
    }

    /// Whether so many bytes are left, mapped or not.
    pub(crate) fn has(&self, len: usize) -> bool {
        self.mapped.load(Ordering::Relaxed) != 0 && len <= ARENA - self.used.load(Ordering::Relaxed)
    }

    /// Takes whole pages; `None` if they are not left or cannot be mapped.
    pub(crate) fn take(&self, len: usize) -> Option<Extent> {
        let used = self.used.load(Ordering::Relaxed);
        if !self.has(len) || (used + len > self.mapped.load(Ordering::Relaxed) && !self.extend(len)) {
            return None;
        }
        self.used.store(used + len, Ordering::Relaxed);
        let at = self.base.load(Ordering::Relaxed) + used;
        Some(Extent { at: at as *mut u8, offset: self.offset.load(Ordering::Relaxed) + used as u64 })
    }

    /// Maps as much as there may be: the program is about to forbid itself what is needed to do so later.
    pub(crate) fn map_ahead(&self) {
        let (used, mapped) = (self.used.load(Ordering::Relaxed), self.mapped.load(Ordering::Relaxed));
        let ahead = if address_space::limit().is_some() { NEXT_LIMITED } else { ARENA };
        let len = ahead.min(ARENA - used);
        if mapped != 0 && used + len > mapped {
            self.extend(len);
        }
    }

    /// Maps what follows the used part.
    fn extend(&self, len: usize) -> bool {
        let (used, mapped) = (self.used.load(Ordering::Relaxed), self.mapped.load(Ordering::Relaxed));
        let step = if address_space::limit().is_some() { NEXT_LIMITED } else { mapped };
        let wished = step.max(len).min(ARENA - used);
        self.map_piece(used, wished) || (wished > len && self.map_piece(used, len))
    }

    /// Maps a piece that begins at `used`. It has the page before as well, which is where the copy begins.
    fn map_piece(&self, used: usize, len: usize) -> bool {
        let bytes = PAGE + len;
        if confined::is_strict() || !address_space::take(bytes) {
            return false;
        }
        let page = self.base.load(Ordering::Relaxed) + used - PAGE;
        // SAFETY: the page belongs to the mapping of this arena: it was handed out before, and the first bytes of an
        // arena always are.
        match unsafe { sys::map_shared_again(page as *mut u8, bytes) } {
            Ok(at) => {
                self.base.store((at as usize + PAGE).wrapping_sub(used), Ordering::Relaxed);
                self.mapped.store(used + len, Ordering::Relaxed);
                true
            }
            Err(_) => {
                address_space::put_back(bytes);
                false
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd;

    /// A sparse file in memory, as the collector makes it.
    fn session() -> (std::fs::File, File) {
        let kept = tempfile_in_memory();
        let path =
            std::ffi::CString::new(format!("/proc/self/fd/{}", kept.as_raw_fd())).expect("no zero byte");
        let file = File::open_shared(&path).expect("the file is there");
        (kept, file)
    }

    fn tempfile_in_memory() -> std::fs::File {
        // Tests that run at the same time have a file each.
        static COUNT: core::sync::atomic::AtomicU32 = core::sync::atomic::AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = format!("/dev/shm/heapwise-arena-{}-{count}", std::process::id());
        let mut options = std::fs::File::options();
        let file = options.read(true).write(true).create(true).truncate(true).open(&path).expect("a file");
        std::fs::remove_file(&path).expect("it was just made");
        file.set_len(4 * ARENA_BYTES).expect("a sparse file");
        file
    }

    #[test]
    fn an_arena_begins_without_the_file_where_its_beginning_is_mapped() {
        let (kept, file) = session();
        let header = file.map_shared(0, PAGE).expect("there is memory");
        drop(file);
        let arena = Arena::none();
        arena.begin(&Source::Mapped(header.cast()), 2 * ARENA_BYTES, PAGE).expect("there is memory");
        let extent = arena.take(PAGE).expect("its first page");
        // SAFETY: the extent is mapped, ours, and a page.
        unsafe { extent.at.cast::<u64>().write_volatile(4711) };
        let mut word = [0; 8];
        std::os::unix::fs::FileExt::read_exact_at(&kept, &mut word, 2 * ARENA_BYTES).expect("it is as long");
        assert_eq!((u64::from_le_bytes(word), extent.offset), (4711, 2 * ARENA_BYTES));
    }

    #[test]
    fn pieces_follow_one_another_without_the_file() {
        let (kept, file) = session();
        let arena = Arena::none();
        arena.begin(&Source::File(file), ARENA_BYTES, PAGE).expect("there is memory");
        let mut extents = Vec::new();
        let sizes = [PAGE, 1 << 20, 2 << 20, 128 << 10];
        while let Some(extent) = arena.take(sizes[extents.len() % sizes.len()]) {
            extents.push(extent);
            // SAFETY: the extent is mapped, ours, and at least a page.
            unsafe { extent.at.cast::<u64>().write_volatile(extent.offset) };
        }
        assert!(extents.len() > 60, "the arena was left after {} extents", extents.len());
        for extent in &extents {
            let mut word = [0; 8];
            std::os::unix::fs::FileExt::read_exact_at(&kept, &mut word, extent.offset)
                .expect("the file is as long");
            assert_eq!(u64::from_le_bytes(word), extent.offset, "every extent is where it says");
        }
        let end = extents.iter().zip(sizes.iter().cycle()).map(|(e, &len)| e.offset + len as u64).max();
        assert!(end <= Some(2 * ARENA_BYTES), "nothing beyond the arena");
    }
}

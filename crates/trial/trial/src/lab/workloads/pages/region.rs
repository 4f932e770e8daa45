//! Memory that the kernel gave, without an allocator between.

#![expect(unsafe_code, reason = "maps memory and advises the kernel on it")]

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};
use std::ffi::c_void;
use std::io;
use std::ptr::NonNull;

pub(super) const PAGE: usize = 4096;
/// What a huge page has.
pub(super) const HUGE: usize = 2 << 20;

/// A mapping of whole huge pages, which belongs to this value alone.
#[derive(Debug)]
pub(super) struct Region {
    at: NonNull<c_void>,
    /// Bytes of the mapping, of which the first huge page that is whole begins at `start`.
    mapped: usize,
    start: usize,
    length: usize,
}

impl Region {
    /// One of so many bytes, rounded up to whole pages, that begins where a huge page may.
    pub(super) fn new(length: usize) -> io::Result<Self> {
        let length = length.max(PAGE).next_multiple_of(PAGE);
        let mapped = length + HUGE;
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        // SAFETY: a new mapping at an address that the kernel chooses overlaps nothing.
        let at = unsafe {
            mmap_anonymous(std::ptr::null_mut(), mapped, ProtFlags::READ | ProtFlags::WRITE, flags)?
        };
        let at = NonNull::new(at).ok_or(io::ErrorKind::OutOfMemory)?;
        let start = at.addr().get().next_multiple_of(HUGE) - at.addr().get();
        Ok(Self { at, mapped, start, length })
    }

    pub(super) const fn pages(&self) -> usize {
        self.length / PAGE
    }

    /// Writes into a page.
    pub(super) fn write(&mut self, page: usize, value: u8) {
        assert!(page < self.pages(), "the page is in the region");
        // SAFETY: the page lies in the mapping, which is readable and writable and belongs to this value alone; a byte needs no
        // alignment.
        unsafe { self.page(page).write_volatile(value) }
    }

    /// Reads what is in a page.
    pub(super) fn read(&self, page: usize) -> u8 {
        assert!(page < self.pages(), "the page is in the region");
        // SAFETY: as for `write`; the kernel fills pages with zeros, so all are initialised.
        unsafe { self.page(page).read_volatile() }
    }

    /// Advises the kernel on all pages.
    pub(super) fn advise(&mut self, advice: Advice) -> io::Result<()> {
        // SAFETY: the range is that of the region. Some advice has the kernel replace its bytes by zeros: they are only ever read
        // as bytes, for which each value is valid, and no reference to them exists.
        unsafe { madvise(self.page(0).cast(), self.length, advice)? };
        Ok(())
    }

    fn page(&self, page: usize) -> *mut u8 {
        // SAFETY: behind `start` there are `length` bytes in the mapping: it is longer by a whole huge page.
        unsafe { self.at.as_ptr().cast::<u8>().add(self.start + page * PAGE) }
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: the mapping belongs to this value alone, whose methods were the only ones to have pointers into it.
        let unmapped = unsafe { munmap(self.at.as_ptr(), self.mapped) };
        debug_assert!(unmapped.is_ok(), "a whole mapping can be unmapped");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_keep_what_was_written_until_the_kernel_is_advised_that_they_are_not_needed() {
        let mut region = Region::new(HUGE + 1).expect("there is memory");
        assert_eq!(region.pages(), HUGE / PAGE + 1);
        assert_eq!(region.page(0).addr() % HUGE, 0);
        let last = region.pages() - 1;
        region.write(0, 7);
        region.write(last, 9);
        assert_eq!((region.read(0), region.read(1), region.read(last)), (7, 0, 9));
        region.advise(Advice::LinuxDontNeed).expect("it is always possible");
        assert_eq!((region.read(0), region.read(last)), (0, 0));
    }

    #[test]
    #[should_panic(expected = "in the region")]
    fn behind_the_end_there_is_nothing() {
        let mut region = Region::new(PAGE).expect("there is memory");
        region.write(1, 1);
    }
}

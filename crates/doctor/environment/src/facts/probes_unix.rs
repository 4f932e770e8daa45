//! Finds out what the C library's allocator of this process does with blocks.
//!
//! A variable or a library may be set and still have no effect, so blocks are examined. A block that is full of one byte was
//! filled, and a checking allocator takes the last bytes of a block for itself.

use super::Probes;

/// The size at which glibc's checking allocator shows: 193 bytes where the usual one gives 200.
const TELLING: usize = 193;
/// What a probe writes into a block before freeing it. No allocator fills with it.
const WRITTEN: u8 = 0x11;
/// So many bytes at the start of a freed block may be the allocator's own notes.
const NOTES: usize = 32;
/// A size that the thread caches of glibc and of other allocators do not keep for long.
const PROBED: usize = 3000;

/// Allocates a few blocks and looks at them.
pub fn probe() -> Probes {
    let fresh = Block::new(PROBED).and_then(|block| filled(&block.bytes()));
    // A block of the same size that is allocated after one was freed is, with all allocators, likely the same.
    let freed_fill = fresh.is_none().then(|| {
        if let Some(block) = Block::new(PROBED) {
            block.write(WRITTEN);
        }
        Block::new(PROBED).and_then(|again| filled(&again.bytes()[NOTES..])).filter(|byte| *byte != WRITTEN)
    });
    Probes {
        fresh_fill: fresh,
        freed_fill: freed_fill.flatten(),
        usable_of_193: Block::new(TELLING).map_or(0, |block| block.usable()),
    }
}

/// The byte that all of them are, unless it is zero.
fn filled(bytes: &[u8]) -> Option<u8> {
    let (first, rest) = bytes.split_first()?;
    (*first != 0 && rest.iter().all(|byte| byte == first)).then_some(*first)
}

/// A block of the C library's allocator.
struct Block {
    start: *mut u8,
    size: usize,
}

impl Block {
    fn new(size: usize) -> Option<Self> {
        // SAFETY: any size may be requested. The compiler must not reason about a block that is looked at before it is
        // written to, hence it does not get to know where the address comes from.
        let start = std::hint::black_box(unsafe { libc::malloc(size) }).cast::<u8>();
        (!start.is_null()).then_some(Self { start, size })
    }

    fn bytes(&self) -> Vec<u8> {
        // SAFETY: the block has this many bytes and no other user. What is in it is unspecified, not uninitialised: the
        // compiler cannot know that nothing was written, and volatile reads take what is there.
        (0..self.size).map(|i| unsafe { self.start.add(i).read_volatile() }).collect()
    }

    fn write(&self, byte: u8) {
        for i in 0..self.size {
            // SAFETY: within the block, which has no other user.
            unsafe { self.start.add(i).write_volatile(byte) };
        }
    }

    #[cfg(any(target_os = "linux", target_os = "android"))]
    fn usable(&self) -> usize {
        // SAFETY: a block of this allocator that has not been freed.
        unsafe { libc::malloc_usable_size(self.start.cast()) }
    }

    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    fn usable(&self) -> usize {
        0
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        // SAFETY: the block was allocated here and is freed once.
        unsafe { libc::free(self.start.cast()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_usual_allocator_fills_nothing() {
        let probes = probe();
        assert_eq!((probes.fresh_fill, probes.freed_fill), (None, None));
        assert!(probes.usable_of_193 >= TELLING);
    }

    #[test]
    fn filled_means_one_byte_that_is_not_zero() {
        assert_eq!(filled(&[5; 10]), Some(5));
        assert_eq!(filled(&[0; 10]), None);
        assert_eq!(filled(&[5, 5, 6]), None);
        assert_eq!(filled(&[]), None);
    }
}

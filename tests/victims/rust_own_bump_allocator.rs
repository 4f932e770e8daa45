// victim: its #[global_allocator] is its own bump allocator, so libc sees none of its blocks; flags: --edition 2021
use std::alloc::{GlobalAlloc, Layout};
use std::cell::UnsafeCell;
use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering};

const SIZE: usize = 64 << 20;

#[repr(align(4096))]
struct Bump {
    room: UnsafeCell<[u8; SIZE]>,
    used: AtomicUsize,
    served: AtomicUsize,
}

unsafe impl Sync for Bump {}

unsafe impl GlobalAlloc for Bump {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // Room is taken for the worst alignment and never freed.
        let n = self.used.fetch_add(layout.size() + layout.align(), Ordering::Relaxed);
        if n + layout.size() + layout.align() > SIZE {
            return std::ptr::null_mut();
        }
        self.served.fetch_add(1, Ordering::Relaxed);
        let start = self.room.get() as usize + n;
        ((start + layout.align() - 1) & !(layout.align() - 1)) as *mut u8
    }
    unsafe fn dealloc(&self, _: *mut u8, _: Layout) {}
}

#[global_allocator]
static GLOBAL: Bump =
    Bump { room: UnsafeCell::new([0; SIZE]), used: AtomicUsize::new(0), served: AtomicUsize::new(0) };

#[inline(never)]
fn invisible(n: usize) -> usize {
    black_box(vec![1u8; n]).len()
}

fn main() {
    let before = GLOBAL.served.load(Ordering::Relaxed);
    let sum: usize = (1..=1000).map(invisible).sum();
    println!("sum {sum}, served {}", GLOBAL.served.load(Ordering::Relaxed) - before);
    println!("expect site=invisible blocks=0");
}

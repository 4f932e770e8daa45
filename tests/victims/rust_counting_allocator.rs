// victim: its #[global_allocator] counts and forwards to System, so its own count can be compared with the recorded one; flags: --edition 2021
use std::alloc::{GlobalAlloc, Layout, System};
use std::collections::BTreeMap;
use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

struct Counting;

static ALLOCS: AtomicUsize = AtomicUsize::new(0);
static BYTES: AtomicUsize = AtomicUsize::new(0);
static FREES: AtomicUsize = AtomicUsize::new(0);

unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCS.fetch_add(1, Relaxed);
        BYTES.fetch_add(layout.size(), Relaxed);
        System.alloc(layout)
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        ALLOCS.fetch_add(1, Relaxed);
        BYTES.fetch_add(layout.size(), Relaxed);
        System.alloc_zeroed(layout)
    }
    unsafe fn realloc(&self, p: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCS.fetch_add(1, Relaxed);
        BYTES.fetch_add(size, Relaxed);
        FREES.fetch_add(1, Relaxed);
        System.realloc(p, layout, size)
    }
    unsafe fn dealloc(&self, p: *mut u8, layout: Layout) {
        FREES.fetch_add(1, Relaxed);
        System.dealloc(p, layout)
    }
}

#[global_allocator]
static GLOBAL: Counting = Counting;

#[inline(never)]
fn work(n: usize) -> usize {
    let mut map: BTreeMap<String, Vec<u32>> = BTreeMap::new();
    for i in 0..n {
        map.entry(format!("key {}", i % 97)).or_default().push(i as u32);
    }
    // A zeroed block and one of large alignment take the other doors of System.
    black_box(vec![0u64; 1000]);
    #[repr(align(256))]
    struct Wide(#[allow(dead_code)] [u8; 256]);
    black_box(Box::new(Wide([1; 256])));
    map.values().map(|v| v.len()).sum()
}

fn main() {
    let read = || (ALLOCS.load(Relaxed), BYTES.load(Relaxed), FREES.load(Relaxed));
    let before = read();
    let sum = work(10000);
    let after = read();
    println!("sum {sum}, frees {}", after.2 - before.2);
    println!("expect site=work blocks={} bytes={} live=0", after.0 - before.0, after.1 - before.1);
}

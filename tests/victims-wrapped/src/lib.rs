//! What the programs here have in common: work of many kinds, and an allocator below the wrapper that counts what arrives.
//!
//! Each program ends by saying what it counted, in a line that begins with `expect`, as the other victims do.

#![expect(unsafe_code, reason = "the interface of allocators is unsafe")]

use std::alloc::{GlobalAlloc, Layout};
use std::hint::black_box;
use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counts calls on their way to another allocator.
#[derive(Debug)]
pub struct Counting<A>(pub A);

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);
static REALLOCATIONS: AtomicU64 = AtomicU64::new(0);
static BYTES: AtomicU64 = AtomicU64::new(0);

// SAFETY: every call is passed on as it is.
unsafe impl<A: GlobalAlloc> GlobalAlloc for Counting<A> {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        BYTES.fetch_add(layout.size() as u64, Ordering::Relaxed);
        // SAFETY: the caller's call.
        unsafe { self.0.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        BYTES.fetch_add(layout.size() as u64, Ordering::Relaxed);
        // SAFETY: the caller's call.
        unsafe { self.0.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller's call.
        unsafe { self.0.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        REALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        BYTES.fetch_add(size as u64, Ordering::Relaxed);
        // SAFETY: the caller's call.
        unsafe { self.0.realloc(block, layout, size) }
    }
}

/// Blocks that are kept, grown, zeroed and aligned, in a stack of some depth.
#[inline(never)]
fn nested(depth: usize, kept: &mut Vec<Box<[u8]>>) -> usize {
    let mut text = String::new();
    for i in 0..20 {
        text.push_str(&format!("{depth} {i} "));
    }
    kept.push(black_box(vec![0u8; 1 + depth * 7]).into_boxed_slice());
    let aligned = Layout::from_size_align(100 + depth, 64).expect("a power of two");
    // SAFETY: the layout has a size, and the block goes back with the same one.
    unsafe { std::alloc::dealloc(black_box(std::alloc::alloc(aligned)), aligned) };
    let below = if depth == 0 { 0 } else { nested(depth - 1, kept) };
    // Something happens after the call, so that it is none at the end.
    black_box(text.len() + below)
}

/// Work in four threads.
fn work() {
    let threads: Vec<_> = (0..4)
        .map(|n| {
            let work = move || {
                let mut kept = Vec::new();
                (0..200).map(|i| nested((i * 7 + n) % 23, &mut kept)).sum::<usize>()
            };
            std::thread::Builder::new()
                .name(format!("worker {n}"))
                .spawn(work)
                .expect("a thread can be started")
        })
        .collect();
    let sum: usize = threads.into_iter().map(|thread| thread.join().expect("it does not panic")).sum();
    black_box(sum);
}

/// What was counted.
fn counted() -> [u64; 3] {
    [&ALLOCATIONS, &REALLOCATIONS, &BYTES].map(|counter| counter.load(Ordering::Relaxed))
}

/// Says what was counted. Nothing is allocated for that.
fn say([allocations, reallocations, bytes]: [u64; 3]) {
    let mut line = [0u8; 128];
    let mut rest = &mut line[..];
    writeln!(rest, "expect {allocations} {reallocations} {bytes}").expect("there is room");
    let left = rest.len();
    std::io::stdout().write_all(&line[..line.len() - left]).expect("it is read");
}

/// Waits for a signal that it holds back.
fn wait_for(signal: i32) {
    // SAFETY: zeroes are a set of signals, and the functions only read and write what they are given.
    unsafe {
        let (mut set, mut got) = (std::mem::zeroed(), 0);
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, signal);
        libc::sigprocmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut());
        if signal == libc::SIGUSR1 {
            writeln!(std::io::stdout(), "ready").expect("it is read");
        }
        libc::sigwait(&raw const set, &raw mut got);
    }
}

/// Does the work, in a child as well, and says what was counted. With the argument `wait` it does it when it gets the signal `SIGUSR1`,
/// says what was counted since, and waits for `SIGTERM`.
pub fn main() {
    if std::env::args().nth(1).as_deref() == Some("wait") {
        work();
        wait_for(libc::SIGUSR1);
        let before = counted();
        work();
        let now = counted();
        say(std::array::from_fn(|n| now[n] - before[n]));
        return wait_for(libc::SIGTERM);
    }
    let mut out = std::io::stdout();
    writeln!(out, "at work").expect("it is read");
    work();
    if std::env::args().nth(1).as_deref() != Some("child") {
        let own = std::env::current_exe().expect("there is a /proc");
        let status = std::process::Command::new(own).arg("child").status().expect("it can be started again");
        assert!(status.success());
    }
    say(counted());
}

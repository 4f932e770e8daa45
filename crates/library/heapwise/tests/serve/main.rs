//! Programs that serve their own profile: what is in it is what they did.
#![cfg(feature = "serve")]

mod answers;
mod client;
mod life;
mod profile;

use heapwise::serve::{Options, Server};
use std::hint::black_box;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

#[global_allocator]
static ALLOCATOR: heapwise::Allocator = heapwise::Allocator::system();

const MIB: usize = 1 << 20;

/// A program has one server at a time, and other tests would allocate in between.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn serve(every: u64) -> (Server, SocketAddr) {
    let server = Options::new().sample_every_bytes(every).start("127.0.0.1:0").expect("a port is free");
    let address = server.address();
    (server, address)
}

#[inline(never)]
fn keep_small(count: usize) -> Vec<Box<dyn AsRef<[u8]>>> {
    (0..count).map(|n| black_box(Box::new([n as u8; 100])) as Box<dyn AsRef<[u8]>>).collect()
}

/// Blocks that are always sampled. Their list may be by chance, and so is allocated elsewhere.
fn keep_large(count: usize) -> Vec<Vec<u8>> {
    let mut list = Vec::with_capacity(count);
    fill_large(&mut list, count);
    list
}

#[inline(never)]
fn fill_large(list: &mut Vec<Vec<u8>>, count: usize) {
    list.extend((0..count).map(|n| black_box(vec![n as u8 | 1; MIB])));
}

#[inline(never)]
fn drop_small(count: usize) {
    (0..count).for_each(|n| drop(black_box(Box::new([n as u8; 200]))));
}

#[inline(never)]
fn grow() -> Vec<u64> {
    let mut list = Vec::new();
    (0..1 << 20).for_each(|n| list.push(black_box(n)));
    list
}

/// Ends the threads that look at it, also if a check fails.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

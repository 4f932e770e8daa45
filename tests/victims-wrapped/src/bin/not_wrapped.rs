//! Uses the library for something else, and has not wrapped its allocator.

fn main() {
    heapwise::warn_at_start();
    let blocks: Vec<Box<u64>> = (0..1000).map(Box::new).collect();
    println!("{}", blocks.len());
}

// victim: leaks cycles of Rc nodes, a Box::leak and a mem::forget, beside nodes without a cycle that are freed; flags: --edition 2021
use std::cell::RefCell;
use std::hint::black_box;
use std::rc::{Rc, Weak};

struct Node {
    next: RefCell<Option<Rc<Node>>>,
    back: RefCell<Weak<Node>>,
    payload: [u64; 5],
}

#[inline(never)]
fn make_node() -> Rc<Node> {
    black_box(Rc::new(Node { next: RefCell::new(None), back: RefCell::new(Weak::new()), payload: [1; 5] }))
}

#[inline(never)]
fn strong_cycle() -> u64 {
    let (a, b) = (make_node(), make_node());
    *a.next.borrow_mut() = Some(b.clone());
    *b.next.borrow_mut() = Some(a.clone());
    a.payload[0] + b.payload[1]
}

#[inline(never)]
fn weak_cycle() -> u64 {
    let (a, b) = (make_node(), make_node());
    *a.next.borrow_mut() = Some(b.clone());
    *b.back.borrow_mut() = Rc::downgrade(&a);
    a.payload[2] + b.payload[3]
}

#[inline(never)]
fn forgotten() {
    let leaked: &mut [u8; 100] = Box::leak(Box::new([1; 100]));
    black_box(leaked);
    std::mem::forget(black_box(vec![1u8; 60]));
}

fn main() {
    let mut sum = 0;
    for _ in 0..50 {
        sum += strong_cycle() + weak_cycle();
        forgotten();
    }
    println!("sum {sum}");
    // An Rc puts two counters before its value.
    let size = std::mem::size_of::<Node>() + 16;
    println!("expect site=make_node blocks=200 bytes={} live=100 live_bytes={}", 200 * size, 100 * size);
    println!("expect under=strong_cycle blocks=100 bytes={} live=100 live_bytes={}", 100 * size, 100 * size);
    println!("expect under=weak_cycle blocks=100 bytes={} live=0", 100 * size);
    println!("expect site=forgotten blocks=100 bytes=8000 live=100 live_bytes=8000");
}

// victim: thread_local values whose Drop allocates, also through another thread_local that is gone already; flags: --edition 2021
use std::cell::RefCell;
use std::hint::black_box;
use std::thread;

struct Late(Vec<u8>);

impl Drop for Late {
    fn drop(&mut self) {
        in_drop();
        // The other value may have been destroyed before this one; try_with tells.
        let _ = OTHER.try_with(|o| o.borrow_mut().push(self.0[0]));
    }
}

thread_local! {
    static OTHER: RefCell<Vec<u8>> = RefCell::new(Vec::new());
    static LATE: Late = Late(vec![1; 30]);
}

#[inline(never)]
fn in_drop() {
    black_box(vec![2u8; 65]);
}

fn main() {
    let mut sum = 0;
    for i in 0..100 {
        // Every second thread touches the values in the other order.
        let body = move || {
            if i % 2 == 0 {
                OTHER.with(|o| o.borrow_mut().push(1));
            }
            LATE.with(|l| l.0.len())
        };
        sum += thread::spawn(body).join().unwrap();
    }
    println!("sum {sum}");
    println!("expect site=in_drop blocks=100 bytes=6500 live=0");
}

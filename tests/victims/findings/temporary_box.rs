// victim: boxes each shape only to measure it; flags:
// remedy: &mut dyn Trait

trait Shape {
    fn area(&self) -> u64;
}

struct Square(u64);

impl Shape for Square {
    fn area(&self) -> u64 {
        self.0 * self.0
    }
}

#[inline(never)]
fn measure(shape: &dyn Shape) -> u64 {
    std::hint::black_box(shape).area()
}

fn main() {
    let mut total = 0;
    for side in 0..5000 {
        let shape: Box<dyn Shape> = Box::new(std::hint::black_box(Square(side))); // here: temporary-box
        total += measure(shape.as_ref());
    }
    println!("total {total}");
}

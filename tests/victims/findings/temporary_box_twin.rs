// victim: measures each shape where it is; flags:

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
    let mut kept: Vec<Box<dyn Shape>> = Vec::with_capacity(5000);
    let mut total = 0;
    for side in 0..5000 {
        let shape = std::hint::black_box(Square(side));
        total += measure(&shape);
        kept.push(Box::new(shape));
    }
    println!("total {total} of {}", kept.len());
}

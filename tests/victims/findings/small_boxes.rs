// victim: puts each number of a list into a box; flags: --edition 2021

struct Node {
    value: u64,
    next: Option<Box<Node>>,
}

#[inline(never)]
fn prepend(list: Option<Box<Node>>, value: u64) -> Option<Box<Node>> {
    Some(Box::new(Node { value, next: list })) // here: small-boxes
}

fn main() {
    let mut list = (0..30_000).fold(None, prepend);
    let mut sum = 0;
    while let Some(node) = list {
        sum += node.value;
        list = node.next;
    }
    println!("sum {sum}");
}

// victim: keeps the numbers of a list in one vector; flags: --edition 2021

struct Node {
    value: u64,
    next: usize,
}

#[inline(never)]
fn prepend(nodes: &mut Vec<Node>, value: u64) {
    let next = nodes.len();
    nodes.push(Node { value, next });
}

fn main() {
    let mut nodes = Vec::with_capacity(30_000);
    (0..30_000).for_each(|value| prepend(&mut nodes, value));
    println!("sum {}", nodes.iter().map(|n| n.value + (n.next > 1 << 40) as u64).sum::<u64>());
}

// victim: reads each file into a separate string; flags: --edition 2021

#[inline(never)]
fn length(name: &str) -> usize {
    std::fs::read_to_string(name).unwrap().len() // here: read-to-string-per-item
}

fn main() {
    let names: Vec<String> = (0..20).map(|i| format!("text{i}")).collect();
    let text = "line\n".repeat(20_000);
    names.iter().for_each(|name| std::fs::write(name, &text).unwrap());
    println!("length {}", names.iter().map(|name| length(name)).sum::<usize>());
}

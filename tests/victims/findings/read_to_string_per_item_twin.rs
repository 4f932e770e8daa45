// victim: reads all files into the same string; flags: --edition 2021
use std::io::Read;

#[inline(never)]
fn length(name: &str, text: &mut String) -> usize {
    text.clear();
    std::fs::File::open(name).unwrap().read_to_string(text).unwrap()
}

fn main() {
    let names: Vec<String> = (0..20).map(|i| format!("text{i}")).collect();
    let text = "line\n".repeat(20_000);
    names.iter().for_each(|name| std::fs::write(name, &text).unwrap());
    let mut buffer = String::new();
    println!("length {}", names.iter().map(|name| length(name, &mut buffer)).sum::<usize>());
}

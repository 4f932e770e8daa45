//! Makes a fleet of some real recordings: `cargo run --release --example made_fleet -- FOLDER FIRST LAST RECORDING…`.

#[path = "../tests/it/made.rs"]
mod made;

use std::path::PathBuf;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [folder, first, last, recordings @ ..] = words.as_slice() else {
        panic!("FOLDER FIRST LAST RECORDING…")
    };
    let read = |path: &String| std::fs::read(path).expect("a recording");
    let recordings: Vec<Vec<u8>> = recordings.iter().map(read).collect();
    let number = |text: &String| text.parse().expect("a number");
    made::add(&PathBuf::from(folder), &recordings, number(first)..number(last));
}

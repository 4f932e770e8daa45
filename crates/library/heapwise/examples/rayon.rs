//! Counts what a parallel sum of word lengths allocates on all of rayon's threads: `cargo run -p heapwise --example rayon`

use rayon::prelude::*;

#[global_allocator]
static ALLOCATOR: heapwise::Allocator = heapwise::Allocator::system();

fn longest_word(line: &str) -> usize {
    let words: Vec<String> = line.split(' ').map(str::to_uppercase).collect();
    words.iter().map(String::len).max().unwrap_or(0)
}

fn main() {
    let lines: Vec<String> = (1..=1000).map(|n| "la ".repeat(n % 7 + 1)).collect();
    let session = heapwise::Session::new();

    // Only this thread: nearly nothing, as the work is done elsewhere.
    let span = session.operation("this thread alone").measure_thread().iterations(lines.len() as u64);
    let alone: usize = lines.par_iter().map(|line| longest_word(line)).sum();
    drop(span);

    // Every thread that takes part, and only while it does.
    let scope = session.operation("all that takes part").measure_scope().iterations(lines.len() as u64);
    let handle = scope.handle();
    let together: usize = lines.par_iter().map(|line| handle.run(|| longest_word(line))).sum();
    drop(scope);

    assert_eq!(alone, together);
    session.print_to_stdout();
}

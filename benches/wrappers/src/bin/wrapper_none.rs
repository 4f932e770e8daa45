//! A program that names no global allocator: a control. What it seems to add is the jump to std's default, and where code lies.

fn main() {
    wrappers::serve(|| ());
}

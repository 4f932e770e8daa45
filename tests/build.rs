//! What the tests link has no debug information. Panics name their lines without it, and each executable is a twelfth as large: all of
//! them take gigabytes otherwise.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-link-arg-tests=-Wl,--strip-debug");
}

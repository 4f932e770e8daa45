//! Puts functions to other places in the programs, if `HEAPWISE_BENCH_LAYOUT` is a number other than 0.
//!
//! A call costs more or less by where its code happens to lie, and by more than what is to be measured here. So each program is
//! linked several times, in different orders that lld draws.

fn main() {
    println!("cargo::rerun-if-env-changed=HEAPWISE_BENCH_LAYOUT");
    println!("cargo::rerun-if-changed=build.rs");
    let layout = std::env::var("HEAPWISE_BENCH_LAYOUT").ok().and_then(|number| number.parse::<u32>().ok());
    if let Some(seed) = layout.filter(|seed| *seed != 0) {
        println!("cargo::rustc-link-arg-bins=-Wl,--shuffle-sections=.text*={seed}");
    }
}

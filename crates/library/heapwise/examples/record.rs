//! A program that records itself, and says what that costs: `cargo run --release -p heapwise --features record-to --example
//! record -- FILE [BYTES]`
//!
//! BYTES is at most how many lie between two recorded blocks; the default is 512 KiB. `heapwise report FILE` shows what is in it.

#[global_allocator]
static ALLOCATOR: heapwise::Allocator = heapwise::Allocator::system();

#[cfg(not(all(
    feature = "record-to",
    any(feature = "portable-recorder", not(all(target_os = "linux", target_arch = "x86_64")))
)))]
fn main() {
    println!("nothing records a program from inside here");
}

#[cfg(all(
    feature = "record-to",
    any(feature = "portable-recorder", not(all(target_os = "linux", target_arch = "x86_64")))
))]
fn main() -> std::io::Result<()> {
    use std::hint::black_box;
    use std::time::Instant;

    /// Nanoseconds for a block that is allocated and freed, the least of a few rounds.
    fn pair_ns() -> f64 {
        const PAIRS: u32 = 2_000_000;
        let round = || {
            let begin = Instant::now();
            for i in 0..PAIRS {
                drop(black_box(Vec::<u8>::with_capacity(16 + (i as usize & 63))));
            }
            begin.elapsed().as_nanos() as f64 / f64::from(PAIRS)
        };
        (0..7).map(|_| round()).fold(f64::INFINITY, f64::min)
    }

    let mut arguments = std::env::args().skip(1);
    let (Some(file), bytes) = (arguments.next(), arguments.next()) else {
        return Err(std::io::Error::other("name the file to record to"));
    };
    let bytes = bytes.map_or(Ok(512 << 10), |bytes| bytes.parse().map_err(std::io::Error::other))?;
    let before = pair_ns();
    let recording = heapwise::Recorder::options().sample_every_bytes(bytes).start(file)?;
    let during = pair_ns();
    let recorded = recording.finish()?;
    println!("{before:.1} ns for a block, {during:.1} ns while it was recorded; {recorded:?}");
    Ok(())
}

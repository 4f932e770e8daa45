//! How long opening a file and naming its addresses takes, and how much memory: `measure FILE [COUNT]`.

use std::path::Path;
use std::time::Instant;

use heapwise_symbols::{DebugSearch, ModuleSymbols, Svma};
use object::{Object, ObjectSection};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().expect("usage: measure FILE [COUNT]");
    let count: u64 = arguments.next().map_or(20_000, |count| count.parse().expect("a number"));
    let addresses = spread_over_code(Path::new(&path), count);

    let started = Instant::now();
    let module = ModuleSymbols::open(path.as_ref(), &[], &DebugSearch::default()).expect("the file opens");
    println!("opened in {:?}: {module:?}\n  {}", started.elapsed(), memory());

    let started = Instant::now();
    let (mut frames, mut n_frames, mut n_named) = (Vec::new(), 0, 0);
    for &address in &addresses {
        module.resolve_into(address, &mut frames);
        n_frames += frames.len();
        n_named += usize::from(frames.iter().any(|frame| frame.function.is_some()));
    }
    println!(
        "{count} addresses in {:?}: {n_frames} frames, {n_named} named\n  {}",
        started.elapsed(),
        memory()
    );
}

/// Addresses at equal distances, which touch as many units as there can be.
fn spread_over_code(path: &Path, count: u64) -> Vec<Svma> {
    let data = std::fs::read(path).expect("the file can be read");
    let object = object::File::parse(&*data).expect("an ELF file");
    let text = object.section_by_name(".text").expect("a file with code");
    let step = (text.size() / count).max(1);
    (0..count).map(|i| Svma(text.address() + i * step)).collect()
}

/// What the kernel counts: own memory, mapped files, and the peak of both.
fn memory() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let lines =
        status.lines().filter(|line| ["RssAnon", "RssFile", "VmHWM"].iter().any(|key| line.starts_with(key)));
    lines.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect::<Vec<_>>().join(", ")
}

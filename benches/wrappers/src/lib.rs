//! The same loops for all programs of `bench library`, each of which has another global allocator.
//!
//! A program waits for requests on its standard input and answers each with a time, so that programs can take turns every few
//! milliseconds: a machine that is slower for a second is so for all of them. Times are those of the processor in the
//! thread itself, so waiting for a processor, of which there may be fewer than threads, is not in them.

#![forbid(unsafe_code)]

mod kernels;

use kernels::Kernel;
use rustix::time::{ClockId, clock_gettime};
use std::io::{BufRead, Write};
use std::sync::Barrier;

/// The request in one line: `KIND SIZE UNROLLED THREADS CHUNKS CALLS`.
#[derive(Clone, Copy, Debug)]
struct Request {
    kernel: Kernel,
    threads: usize,
    /// How often to measure; the median counts.
    chunks: usize,
    /// What each of them does.
    calls: u64,
}

/// Whether the program was started to turn on what its allocator can do.
pub fn is_to_watch() -> bool {
    std::env::args().nth(1).is_some_and(|mode| mode == "watched")
}

/// [`serve`] for a program whose allocator is heapwise's.
pub fn serve_heapwise() {
    if !is_to_watch() {
        return serve(|| ());
    }
    let session = heapwise::Session::new();
    let operation = session.operation("pairs");
    serve(|| operation.measure_thread());
}

/// Answers requests until there are no more. What `watch` returns lives while a thread is measured.
///
/// # Panics
/// When a request makes no sense, or the answer is not read.
pub fn serve<G>(watch: impl Fn() -> G + Sync) {
    let mut answers = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let line = line.expect("requests are text");
        let request = parse(&line).unwrap_or_else(|| panic!("not a request: {line}"));
        let nanoseconds = answer(request, &watch);
        writeln!(answers, "{nanoseconds:.4}").and_then(|()| answers.flush()).expect("answers are read");
    }
}

fn parse(line: &str) -> Option<Request> {
    let mut words = line.split(' ');
    let kind = words.next()?;
    let mut number = || words.next()?.parse::<u64>().ok();
    let kernel = kernels::find(kind, number()?, number()?)?;
    let (threads, chunks, calls) = (number()? as usize, number()? as usize, number()?);
    (threads > 0 && chunks > 0 && calls > 0).then_some(Request { kernel, threads, chunks, calls })
}

/// Nanoseconds of processor time per call, on average over the threads.
fn answer<G>(request: Request, watch: &(impl Fn() -> G + Sync)) -> f64 {
    let together = Barrier::new(request.threads);
    if request.threads == 1 {
        return measure(request, watch, &together);
    }
    let sum: f64 = std::thread::scope(|scope| {
        let one = || scope.spawn(|| measure(request, watch, &together));
        let threads: Vec<_> = (0..request.threads).map(|_| one()).collect();
        threads.into_iter().map(|thread| thread.join().expect("it does not panic")).sum()
    });
    sum / request.threads as f64
}

fn measure<G>(request: Request, watch: &impl Fn() -> G, together: &Barrier) -> f64 {
    let _watched = watch();
    // Fills caches, and the allocator's and the wrapper's structures of this thread.
    (request.kernel)(request.calls / 4 + 1);
    together.wait();
    let mut chunks: Vec<f64> = (0..request.chunks)
        .map(|_| {
            let before = thread_nanoseconds();
            (request.kernel)(request.calls);
            (thread_nanoseconds() - before) as f64 / request.calls as f64
        })
        .collect();
    chunks.sort_by(f64::total_cmp);
    chunks[chunks.len() / 2]
}

fn thread_nanoseconds() -> i64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_read_and_answered_on_all_threads() {
        let watched = std::sync::atomic::AtomicUsize::new(0);
        let watch = || watched.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        for kind in ["pair 24 1", "pair 64 3", "zeroed 48 1", "realloc 32 1"] {
            let request = parse(&format!("{kind} 3 2 1000")).expect("it is a request");
            assert!(answer(request, &watch) > 0.0);
        }
        assert_eq!(watched.into_inner(), 12);
    }

    /// The code in the documents is in a program that is compiled, and their versions are those that it is compiled with.
    #[test]
    fn the_documents_show_what_is_compiled() {
        let document = include_str!("../../../docs/library-costs.md");
        let rustdoc = include_str!("../../../crates/library/heapwise/src/allocator.rs").replace("/// ", "");
        let manifests = [include_str!("../Cargo.toml"), include_str!("../../../Cargo.toml")]
            .map(|text| text.replace(' ', ""));
        let switches = [
            ("tikv-jemallocator = \"0.7\"", include_str!("bin/over_jemalloc.rs")),
            ("mimalloc = \"0.1.52\"", include_str!("bin/over_mimalloc.rs")),
            ("snmalloc-rs = \"0.7.6\"", include_str!("bin/over_snmalloc.rs")),
        ];
        for (dependency, program) in switches {
            let starts = ["use ", "static "];
            let lines: Vec<_> =
                program.lines().filter(|line| starts.iter().any(|start| line.starts_with(start))).collect();
            assert_eq!(lines.len(), 2, "{program}");
            let switch = format!("{}\n\n#[global_allocator]\n{}\n", lines[0], lines[1]);
            assert!(document.contains(&switch), "docs/library-costs.md lacks {switch}");
            let (name, version) = dependency.split_once(" = ").expect("it is a line of Cargo.toml");
            let version = version.trim_matches('"');
            let is_used = |text: &String| {
                text.contains(&format!("{name}=\"{version}"))
                    || text.contains(&format!("{name}={{version=\"{version}"))
            };
            assert!(manifests.iter().any(is_used), "{dependency} is not what is compiled");
            for text in [document, &rustdoc] {
                assert!(
                    text.contains(dependency) && text.contains(lines[0]) && text.contains(lines[1]),
                    "{dependency}"
                );
            }
        }
    }

    #[test]
    fn nonsense_is_no_request() {
        for line in
            ["", "pair", "pair 24 1 1 1 0", "pair 23 1 1 1 10", "pear 24 1 1 1 10", "pair 24 9 1 1 10"]
        {
            assert!(parse(line).is_none(), "{line}");
        }
    }
}

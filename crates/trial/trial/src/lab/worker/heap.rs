//! The heap that a process really has.
//!
//! A loader that cannot find a library reports that and goes on, and a variable that is not read has no effect: that a command
//! was prepared proves nothing about the process. So a worker examines its own allocators, and an experiment trusts only that.

use heapwise_environment::facts::Probes;
use serde::{Deserialize, Serialize};

/// The allocator of a worker, as it was found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Heap {
    /// Where blocks of Rust's come from: `system` or `mimalloc`.
    pub allocator: String,
    /// The path of the object that has the C library's `malloc`, as the loader was given it. Empty where it cannot be found out.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub malloc: String,
    /// Usable bytes of a block of 193 of the C library's allocator: 200 with glibc, 193 if it checks blocks. Zero if it cannot be
    /// found out.
    pub usable_of_193: u64,
    /// The byte that new blocks of the C library's allocator are full of, if it is one.
    pub fresh_fill: Option<u8>,
    /// The byte that its freed blocks are full of, if it is one.
    pub freed_fill: Option<u8>,
    /// `ForceFlags` of the process heap of Windows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub force_flags: Option<u32>,
    /// File names of the libraries in the process that have to do with allocation.
    pub libraries: Vec<String>,
}

impl Heap {
    /// Looks.
    pub(super) fn of_this_process() -> Self {
        let Probes { fresh_fill, freed_fill, usable_of_193 } = probes();
        let usable_of_193 = usable_of_193 as u64;
        Self {
            allocator: allocator().to_owned(),
            malloc: malloc(),
            usable_of_193,
            fresh_fill,
            freed_fill,
            force_flags: force_flags(),
            libraries: libraries(),
        }
    }

    /// Whether a library is in the process whose name contains this.
    pub fn has_library(&self, word: &str) -> bool {
        self.libraries.iter().any(|library| library.contains(word))
    }
}

#[cfg(feature = "worker")]
fn allocator() -> &'static str {
    let block = "x".repeat(193);
    if crate::lab::allocator::is_in_mimalloc(block.as_str()) { "mimalloc" } else { "system" }
}

#[cfg(not(feature = "worker"))]
fn allocator() -> &'static str {
    "system"
}

#[cfg(target_os = "linux")]
fn malloc() -> String {
    heapwise_allocators::own_object()
}

#[cfg(not(target_os = "linux"))]
fn malloc() -> String {
    String::new()
}

#[cfg(unix)]
fn probes() -> Probes {
    heapwise_environment::facts::probe()
}

#[cfg(not(unix))]
fn probes() -> Probes {
    Probes::default()
}

#[cfg(windows)]
fn force_flags() -> Option<u32> {
    heapwise_environment::facts::own().windows?.force_flags
}

#[cfg(not(windows))]
fn force_flags() -> Option<u32> {
    None
}

#[cfg(target_os = "linux")]
fn libraries() -> Vec<String> {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let files =
        maps.lines().filter_map(|line| line.rsplit('/').next().filter(|name| name.len() < line.len()));
    let mut names: Vec<String> = files.filter(|name| is_of_interest(name)).map(str::to_owned).collect();
    names.sort_unstable();
    names.dedup();
    names
}

#[cfg(not(target_os = "linux"))]
fn libraries() -> Vec<String> {
    Vec::new()
}

/// Whether a file's name is that of a library that has to do with allocation.
#[cfg(target_os = "linux")]
fn is_of_interest(name: &str) -> bool {
    let words = ["alloc", "efence", "duma", "memusage", "libasan", "libtsan", "libhwasan", "vgpreload"];
    name.contains(".so") && words.iter().any(|word| name.contains(word))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn this_process_has_a_usual_heap() {
        let heap = Heap::of_this_process();
        assert_eq!(heap.allocator, "system");
        assert!(heap.usable_of_193 >= 193, "{heap:?}");
        assert_eq!((heap.fresh_fill, heap.freed_fill), (None, None));
        assert!(!heap.has_library("malloc_debug"), "{heap:?}");
    }

    #[test]
    fn libraries_are_distinguished_from_other_files() {
        assert!(is_of_interest("libtcmalloc_debug.so.4.5.10") && is_of_interest("libc_malloc_debug.so.0"));
        assert!(!is_of_interest("libc.so.6") && !is_of_interest("allocate") && !is_of_interest("libm.so.6"));
    }
}

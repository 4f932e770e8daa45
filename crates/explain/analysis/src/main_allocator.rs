//! Which of several allocators is a process's main one, and what they are called.

use crate::analysis::{Analysis, Process};
use crate::by_allocator::OfAllocator;
use crate::units::Bytes;
use heapwise_allocators::by_library;
use heapwise_trace::file::records::CLibrary;

impl Analysis {
    /// What an allocator is called in words, by the path of its library, with the version where it is known. What is no path is its name
    /// already.
    pub fn allocator_name(&self, path: &str) -> String {
        allocator_name(path, &self.meta.c_library)
    }

    /// The allocator that has most of what a process has live at the peak, and how much of how much that is. `None` if it has allocated
    /// nothing.
    pub fn main_allocator(&self, process: &Process) -> Option<(&OfAllocator, Bytes, Bytes)> {
        let &(number, bytes) = process.allocators.first()?;
        let all = process.allocators.iter().fold(0u64, |sum, (_, bytes)| sum.saturating_add(bytes.0));
        Some((self.allocators.iter().find(|of| of.number == number)?, bytes, Bytes(all)))
    }

    /// What the main allocator of a process is called; see [`Process::calls`].
    pub fn called_main<'a>(&'a self, process: &'a Process) -> &'a str {
        self.main_allocator(process).map_or(&process.allocator, |(of, _, _)| process.calls(of))
    }
}

/// What the allocator is called that a path leads to.
pub(crate) fn allocator_name(path: &str, known: &CLibrary) -> String {
    let file = path.rsplit('/').next().unwrap_or(path);
    let name = by_library(file).map_or(file, |family| family.name);
    let is_known = !path.is_empty() && path == known.path && !known.version.is_empty();
    if is_known { format!("{name} {}", known.version) } else { name.to_owned() }
}

impl Process {
    /// What an allocator of it is called: by its path, its type below a wrapper, or its family where it is inside of a file.
    pub fn calls<'a>(&'a self, of: &'a OfAllocator) -> &'a str {
        match &of.inside {
            Some(inside) if !inside.allocator.is_empty() => &inside.allocator,
            Some(inside) => &inside.file,
            None if self.by_name.is_empty() => &self.allocator,
            None => &self.by_name,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_allocator_has_the_version_of_the_c_library_that_is_known() {
        let known = CLibrary { path: "/lib/libc.so.6".into(), version: "2.36".into() };
        let of = |path: &str| allocator_name(path, &known);
        assert_eq!(of("/lib/libc.so.6"), "glibc 2.36");
        assert_eq!(of("/container/lib/libc.so.6"), "glibc", "another one may have another version");
        assert_eq!(of("/lib/libjemalloc.so.2"), "jemalloc");
        assert_eq!(of("/lib/libmine.so"), "libmine.so");
        assert_eq!(of("tikv_jemallocator::Jemalloc"), "tikv_jemallocator::Jemalloc");
        assert_eq!((of(""), allocator_name("", &CLibrary::default())), (String::new(), String::new()));
    }
}

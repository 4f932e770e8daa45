//! A program file.

use std::path::PathBuf;

/// The properties of a program file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    /// The file that is executed in the end: the interpreter of a script.
    pub path: PathBuf,
    pub libc: Libc,
    /// Whether no library can be loaded into it.
    pub is_static: bool,
    /// Whether it gains privileges when it starts, so that the loader and glibc ignore variables.
    pub is_privileged: bool,
    /// Whether it has a `malloc` that takes the place of the C library's.
    pub exports_malloc: bool,
    /// Allocators that are linked into it.
    pub allocators: Vec<OwnAllocator>,
    /// Sanitizers that it was built with: `AddressSanitizer`.
    pub sanitizers: Vec<&'static str>,
}

/// An allocator inside of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnAllocator {
    /// `jemalloc`, `mimalloc` and so on.
    pub name: &'static str,
    /// A symbol by which it was found; empty if its symbols are stripped, and it was found by its messages.
    pub symbol: String,
}

impl OwnAllocator {
    /// What it is, and how that was found out.
    pub fn with_evidence(&self) -> String {
        match self.symbol.as_str() {
            "" => format!("{} (its messages are in there; symbols are stripped)", self.name),
            symbol => format!("{} (symbol {symbol})", self.name),
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Libc {
    /// The GNU C library.
    Glibc,
    Musl,
    /// Another or an unknown one.
    #[default]
    Unknown,
}

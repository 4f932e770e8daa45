//! What an executable is, before it is run: whether its allocations can be seen by a preloaded library.
//!
//! Preloading needs the dynamic linker, so a static executable is out of reach; the dynamic linker ignores it for a
//! program that gains privileges; and calls that an executable makes to its own allocator never leave it. All of this
//! is in the file, and the user should know it before an hour of recording and not after.
//!
//! ```no_run
//! # fn main() -> Result<(), heapwise_symbols::Error> {
//! let program = heapwise_symbols::inspect::inspect("/usr/bin/ls".as_ref(), std::env::var_os("PATH").as_deref())?;
//! if program.interpreter.is_none() {
//!     println!("{} is linked statically", program.path.display());
//! }
//! # Ok(())
//! # }
//! ```

mod allocators;
mod file;
mod images;
mod privileges;
mod script;
mod texts;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::error::Error;
use crate::mmap::MappedFile;
use texts::Bound;

pub use allocators::{AllocatorFound, Evidence};
pub use images::Search;
pub use privileges::Privileges;

/// How much of one program's strings is searched: more than a program of a gibibyte has of constants.
const MOST_SEARCHED_BYTES: u64 = 8 << 30;
const LONGEST_SEARCH: Duration = Duration::from_secs(2);

/// What an executable is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Executable {
    /// The ELF file that the kernel will map. For a script this is its interpreter.
    pub path: PathBuf,
    /// The scripts that lead to it, the requested one first. Empty if that was the ELF file itself.
    pub scripts: Vec<PathBuf>,
    /// Whether addresses have 32 or 64 bits.
    pub class: Class,
    pub machine: Machine,
    /// The dynamic linker (`PT_INTERP`). None for a static executable, and for a static one that is position
    /// independent: nothing can be preloaded into them.
    pub interpreter: Option<String>,
    /// The C library, as far as the name of the dynamic linker shows it.
    pub libc: Libc,
    /// The shared libraries that the file itself needs.
    pub needed: Vec<String>,
    /// What makes the dynamic linker distrust its environment.
    pub privileges: Privileges,
    /// The allocators that the executable contains, as its own symbols and strings show. If it is
    /// [`stripped`](Self::stripped), an empty list proves nothing.
    pub own_allocators: Vec<AllocatorFound>,
    /// If its global allocator is heapwise's wrapper, which records by itself: the version of the shared memory that it speaks.
    pub wrapper_version: Option<u32>,
    /// Whether the executable exports `malloc`: then its own one is used by all libraries, whatever is preloaded.
    pub exports_malloc: bool,
    /// Whether the full symbol table is missing, and with it most of the evidence for `own_allocators`.
    pub stripped: bool,
}

impl Executable {
    /// Whether the preload library can be loaded into it: by the dynamic linker of the GNU C library, or by musl's.
    pub fn is_preloaded_into(&self) -> bool {
        matches!(self.libc, Libc::Glibc | Libc::Musl) && self.interpreter.is_some()
    }
}

/// What of allocators is inside a file that was mapped as code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Inside {
    /// The allocators of the table.
    pub allocators: Vec<AllocatorFound>,
    /// Whether it exports `malloc`: then calls of that from outside go to whatever is preloaded.
    pub exports_malloc: bool,
}

/// Whether addresses have 32 or 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// 32 bits. Such a file can still be for a 64-bit processor (x32).
    Elf32,
    Elf64,
}

/// The instruction set of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Machine {
    /// 32-bit x86.
    X86,
    /// 64-bit x86.
    X86_64,
    /// 64-bit Arm.
    Aarch64,
    /// 64-bit RISC-V, or the 32-bit one, by the class.
    RiscV,
    /// Any other, by its number in the ELF header.
    Other(u16),
}

/// The C library of a dynamically linked executable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Libc {
    /// The GNU C library.
    Glibc,
    Musl,
    /// Android's.
    Bionic,
    /// One whose dynamic linker has a name not known here.
    Unknown,
    /// There is no dynamic linker, so whatever the executable uses is inside.
    Static,
}

/// Says what the file at `path` is, following a script to its interpreter.
///
/// `search_path` is the value of `PATH` for the program to be run; `#!/usr/bin/env python3` needs it.
///
/// # Errors
///
/// If the file, or an interpreter it leads to, is missing, unreadable, empty, damaged, or neither an ELF file nor a
/// script.
pub fn inspect(path: &Path, search_path: Option<&OsStr>) -> Result<Executable, Error> {
    let mut scripts = Vec::new();
    let mut path = path.to_owned();
    let mut bound = Bound::new(MOST_SEARCHED_BYTES, LONGEST_SEARCH);
    loop {
        let file = MappedFile::open(&path)?;
        match script::interpreter(&path, file.data(), search_path)? {
            Some(interpreter) => {
                script::check_depth(&scripts, &path)?;
                scripts.push(std::mem::replace(&mut path, interpreter));
            }
            None => {
                let privileges = privileges::of(&path, &file.metadata);
                return file::describe(path, scripts, file.data(), privileges, &mut bound);
            }
        }
    }
}

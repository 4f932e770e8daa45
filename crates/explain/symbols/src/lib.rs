//! From addresses to functions, files and lines; and what an executable is, before it is run.
//!
//! A recording holds addresses. They mean something only together with the files that the recorded process had
//! loaded, on the machine where it ran. So the names are looked up once, at the end of the recording, and stored with
//! it: from then on the recording can be read anywhere. This crate does that look-up, for one file at a time
//! ([`resolve_module`]), and it answers the question that comes before every recording: will the allocations of this
//! program be seen at all ([`inspect`])?
//!
//! The words used here:
//!
//! * *Svma*, the stated virtual memory address: an address relative to the file's own link-time addresses, as `nm`
//!   and `addr2line` print it. It is the address in the process minus the load bias of the module.
//! * *Build id*: bytes that the linker wrote into the file and that name this one build of it. Equal build ids mean
//!   equal code; the path alone means nothing, because a program may have been rebuilt while it ran.
//! * *Debug file*: a separate file that holds the debug information of a stripped one.
//! * *Supplementary file*: what `dwz` moved out of several debug files into one that they share.
//! * *Frame*: one function at one address. An address has several frames where the compiler inlined calls.
//!
//! The key decision: nothing is ever refused for lack of names. Debug information that is missing or damaged degrades
//! to the symbol table, and that to a frame without a name; each step is reported as a [`Warning`]. Only a file that
//! cannot be the one that was loaded is an [`Error`].
//!
//! What is read comes from untrusted files. The parsers do not trust it: damaged files give fewer
//! names, not a panic. The limits are in the modules that set them: the length of names, the growth of compressed
//! sections, the number of nested interpreters.
//!
//! From the network nothing is read here. If the environment asks for debuginfod, its program is started, which does.

#![deny(unsafe_code)]

mod batch;
mod bounds;
pub mod code;
mod debuginfod;
mod demangle;
mod dwarf;
mod elf;
mod endings;
pub mod entry_points;
mod error;
mod frame;
pub mod frame_table;
pub mod inspect;
mod language;
mod mini;
#[expect(unsafe_code, reason = "maps files")]
mod mmap;
mod module;
mod package;
mod search;
mod section;
mod source_path;
mod split;
mod svma;
mod symtab;
mod warning;

pub use batch::{Summary, resolve_module};
pub use demangle::{LONGEST_NAME, demangle};
pub use error::{Error, ErrorKind};
pub use frame::Frame;
pub use language::is_of_rustc;
pub use module::ModuleSymbols;
pub use package::debug_package;
pub use search::DebugSearch;
pub use svma::Svma;
pub use warning::Warning;

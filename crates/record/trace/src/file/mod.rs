//! The recording file: what is in it and how it lies on disk (docs/format.md describes it for other readers).
//!
//! ```text
//! 16 bytes     file header: magic, major and minor version
//! section      kind, length, checksum, payload (zstd)
//! section      …
//! ```
//!
//! Sections are appended while the program runs, so a file that lost its tail is readable up to its last whole
//! section. Kinds that a reader does not know are skipped; a newer major version is refused.
//!
//! Small facts are JSON ([`records`]), since they grow new fields; events ([`columns`]), stacks, samples and symbols
//! ([`tables`]) are columns of variable-length integers.

pub mod allocator;
pub mod carried;
pub mod columns;
mod cursor;
mod error;
mod kind;
pub mod limits;
pub mod pages;
pub mod reader;
pub mod records;
mod section;
pub mod tables;
pub mod writer;

pub use error::{Error, ErrorKind};
pub use limits::Claim;
pub use reader::{Reader, Section};
pub use writer::Writer;

pub use crate::versions::{MAJOR, MINOR};

/// The first eight bytes: not text, not cut by a transfer that changes line ends.
pub const MAGIC: [u8; 8] = *b"\x89hw\r\n\x1a\n\0";
/// Bytes of the file header.
pub const HEADER_BYTES: usize = 16;

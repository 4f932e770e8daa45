//! The plan for one file: which functions of the allocators inside of it are entered through the recorder, and how.
//!
//! What makes plans reads files and decodes code; the collector only hands them on, with the addresses of a process.

use super::hooks::Hook;
use std::string::String;
use std::vec::Vec;

/// What is to be done with one file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FilePlan {
    /// The file's number in its file system.
    pub inode: u64,
    /// Functions that can be entered through the recorder.
    pub planned: Vec<Planned>,
    /// Functions that cannot.
    pub refused: Vec<Refused>,
}

/// A function that can be entered through the recorder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planned {
    /// What its allocator is called; empty if only `malloc` is known of it.
    pub family: &'static str,
    pub name: String,
    /// Where in the file the jump goes.
    pub in_file: u64,
    /// How; addresses are those of the file.
    pub hook: Hook,
}

/// A function that cannot be entered so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    pub family: &'static str,
    pub name: String,
    pub why: String,
}

/// The frame descriptions of a file, in the order of their functions. Addresses are those of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FrameTable {
    /// The file's first instruction.
    pub entry: u64,
    /// Where the descriptions begin.
    pub frames: u64,
    /// Where each function begins, and its description.
    pub rows: Vec<(u64, u64)>,
}

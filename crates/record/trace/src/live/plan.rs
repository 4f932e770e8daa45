//! The plan for one file: which functions of the allocators inside of it are entered through the recorder, and how.
//!
//! What makes plans reads files and decodes code; the collector only hands them on, with the addresses of a process.

use super::hooks::Hook;
use std::string::String;
use std::vec::Vec;

/// What stands in front of functions that are found by their names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum InFront {
    /// The preloaded library, or nothing is found so: the program is linked statically.
    Library,
    /// Nothing: the process has no preloaded library, since the recorder was written into it.
    Nothing,
    /// This file itself: the preloaded library comes behind it.
    Itself,
}

/// What is to be done with one file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FilePlan {
    /// The file's number in its file system.
    pub inode: u64,
    /// Functions that can be entered through the recorder.
    pub planned: Vec<Planned>,
    /// Whether `malloc` is one of these, maybe by another of its names.
    pub enters_malloc: bool,
    /// Functions that cannot.
    pub refused: Vec<Refused>,
    /// Where its code begins in the file, and at which address.
    pub code: (u64, u64),
    /// Names of [`KNOWN`] that it defines for others, and their addresses.
    pub known: Vec<(&'static str, u64)>,
}

/// What a recorder that no loader has bound to them has to be given: the loader's function that finds the file of an address, and its
/// list of files.
pub const KNOWN: [&str; 3] = [FIND_OBJECT, LOADER_LIST, LOADER_LIST_AT];
pub const FIND_OBJECT: &str = "_dl_find_object";
pub const LOADER_LIST: &str = "_r_debug";
/// Where musl says where its own is.
pub const LOADER_LIST_AT: &str = "_dl_debug_addr";

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
    /// Where each of the displaced instructions begins, and where it is in the moved code.
    pub steps: Vec<(u8, u8)>,
    /// Whether it is a library's that programs find by the C library's name.
    pub is_by_name: bool,
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

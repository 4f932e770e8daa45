//! What a stack consists of, for those who read it and those who look names up.

use super::modules::Image;
use super::owner::Owner;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// Name of the function.
    pub function: Option<&'a str>,
    pub file: Option<&'a str>,
    pub line: Option<u32>,
    /// Whether the compiler inlined it into the next frame.
    pub inlined: bool,
    /// The object file, if there is one.
    pub module: Option<&'a Image>,
    /// Linked address in the module (in the process without one) of a frame without a function; else 0.
    pub address: u64,
    /// Whose code it is.
    pub owner: Owner,
}

/// Addresses of an object file that occur in stacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageAddresses {
    /// Path as the processes saw it.
    pub path: String,
    /// Build id in hexadecimal digits, empty if it has none.
    pub build_id: String,
    /// Addresses as they were linked, ascending, ready to be looked up: already moved back into the call.
    pub addresses: Vec<u64>,
}

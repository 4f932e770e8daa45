//! The one kind of address that this crate takes.

use std::fmt;

/// An address relative to the link-time addresses of its file, as `nm` and `addr2line` print it.
///
/// It is the address seen in the process minus the load bias of the module. For the caller's side of a call, pass the
/// return address minus one: the return address itself may already belong to the next line or to the next function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Svma(pub u64);

impl From<u64> for Svma {
    fn from(address: u64) -> Svma {
        Svma(address)
    }
}

impl fmt::Display for Svma {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

impl fmt::LowerHex for Svma {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::LowerHex::fmt(&self.0, f)
    }
}

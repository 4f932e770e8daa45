//! The versions of the two formats.

/// A recorder and a collector of different versions do not talk to each other. Raised when anything in [`crate::live`] changes,
/// or a kind of [`Event`](crate::event::Event) in words.
pub const LIVE_VERSION: u32 = 17;

/// Raised when old readers of the file would misread; they refuse. A new kind of event is such a change: an old reader cannot
/// follow the columns past it.
#[cfg(feature = "file")]
pub const MAJOR: u16 = 3;

/// Raised when something is added to the file that old readers may skip.
#[cfg(feature = "file")]
pub const MINOR: u16 = 2;

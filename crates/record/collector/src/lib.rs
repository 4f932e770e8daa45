//! Runs a program with the recorder in it, and writes what it hears to a recording.
//!
//! * [`session`]: the shared memory, owned here, and the preload library as an anonymous file,
//! * [`process`]: one recorded process as seen from outside: its rings, nodes and modules,
//! * [`collect`]: the loop that moves the clock, drains the rings and samples memory,
//! * [`encode`]: the thread that packs what was drained and writes the file,
//! * `rotation` and `parts`: recordings in several files, of which the last are kept,
//! * `snapshots` and `residency`: when to take snapshots of the pages of a process, and how,
//! * [`hooks`]: which functions of allocators inside of files are entered through the recorder,
//! * `images`: the files that processes have mapped as code,
//! * `inject`: writes the recorder into a process that no library can be preloaded into,
//! * [`ticks`]: the processor's clock,
//! * [`usable`]: how large an allocator's blocks really are,
//! * [`command`]: starts the program, passes signals on and waits,
//! * [`record`]: all of it together,
//! * [`attach`]: the same for a process that runs already,
//! * [`nested`]: heapwise inside of a recording,
//! * `unreached`: programs that recorded processes started and that are not recorded,
//! * [`inside`]: the same for the process that it runs in.
//!
//! Decision: the loop only copies. Packing has a separate thread behind a bounded queue, so a slow disk slows
//! draining, then fills the rings, and only then makes the program wait; nothing is dropped silently and memory stays
//! bounded at each step.

mod answers;
mod arenas;
pub mod attach;
mod blind_spots;
pub mod buffers;
mod claims;
pub mod collect;
pub mod command;
mod distrust;
pub mod encode;
mod error;
mod examine;
pub mod hooks;
mod images;
mod inject;
pub mod inside;
mod joins;
mod loaded;
mod maps;
pub mod nested;
mod news;
mod other_ids;
pub mod output;
mod parts;
pub mod process;
pub mod record;
mod refusals;
mod request;
pub mod residency;
mod ring;
mod rotation;
pub mod session;
mod shares;
pub mod signals;
mod snapshots;
mod strays;
mod sys;
#[cfg(test)]
mod tests;
pub mod ticks;
mod unreached;
pub mod usable;
mod writing;

pub use attach::{Begun, attach};
pub use error::{Error, ErrorKind};
pub use inject::helper::{COMMAND as TRACE_CHILDREN, Recorder, serve as trace_children};
pub use inject::image::Image;
pub use parts::{newest_part, next_part};
pub use record::record;
pub use request::{Left, Limits, Recorded, Request};
pub use rotation::Rotation;
pub use sys::page_bytes;
pub use sys::run_when_idle;
pub use sys::set_len_unlimited;
pub use sys::yield_to_others;

//! Which functions of the allocators inside of a file the recorder can be put in front of, and how.
//!
//! A preloaded library stands in front of the C library's `malloc`. An allocator inside of an executable, or inside of a library
//! that brings its own, is called directly: its functions have to be changed where they are. That is planned here, from the file
//! alone, and applied by the recorder inside of the process, which compares what it finds with the plan.
//!
//! * [`points`] says which functions of which allocators are *entry points*: an exact list of public names,
//! * `find` finds them in a file,
//! * `go` finds where Go makes system calls,
//! * [`neighbours`] looks for branches of other functions into that room,
//! * [`displace`] makes room at the beginning of each for a jump,
//! * [`clobbers`] says whether callers may rely on registers that it leaves alone, and [`callers`] whether any does.
//!
//! Decision: only what is known by its name is touched. A name with something behind it (`.cold`, `.part.0`) is a piece of a
//! function with a calling convention of its own, and a stripped allocator is not guessed at. The one exception is the function by which
//! Go makes system calls: what it consists of says all that it does.

pub mod callers;
pub mod clobbers;
pub mod displace;
mod find;
mod go;
pub mod neighbours;
pub mod points;

pub use displace::Refusal;
pub use find::plan;

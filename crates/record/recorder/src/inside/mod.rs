//! Allocators inside of the program and of its libraries: their functions are entered through the recorder.
//!
//! A program calls its own allocator directly, and nothing can be put in front of it by name. So the first bytes of
//! its functions become a jump. Outside, the collector looks at the files that the process has mapped, and plans which bytes make
//! way and what they become elsewhere ([`heapwise_trace::live::hooks`]); here the plan is compared with what is there, and applied.
//!
//! * [`ask`] asks the collector, and waits for the answer,
//! * [`room`] has memory for code that is near enough,
//! * [`apply`] writes the jumps,
//! * [`ways`] tells how each function is entered,
//! * [`calls`] has what each function does, and describes it,
//! * [`sample`] has what that is where only a sample is recorded,
//! * [`requests`] tells what is requested,
//! * [`heaps`] has the functions of heaps that a program has beside each other in one allocator,
//! * [`callable`] has functions that are not entered, but called,
//! * [`process`] has what a static program does with its threads, and its end,
//! * [`go`] has what a program in Go starts,
//! * [`passing`] tells a program's own `malloc` from a wrapper of the C library's,
//! * [`sizes`] asks an allocator for the sizes of its blocks,
//! * [`loaded`] asks again when the loader has loaded another library.

mod apply;
mod ask;
pub(crate) mod asked;
mod callable;
mod calls;
mod go;
mod heaps;
pub(crate) mod loaded;
mod passing;
mod process;
mod requests;
mod room;
mod sample;
pub(crate) mod sizes;
mod slots;
mod ways;

pub use ask::look;
pub(crate) use slots::leads_here;

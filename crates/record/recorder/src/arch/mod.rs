//! The processor: entry points, thread-local words, system calls, registers.
//!
//! A port is a folder with the same files and a line here:
//! * `entry_point!(name, arguments => hook)`: an exported function that adds the caller's stack and frame pointer to
//!   the arguments and jumps to the hook,
//! * `tls`: the recorder's thread-local words, reached without a function call,
//! * `syscall`: a raw system call, which does not touch `errno`,
//! * `probes`: places where other tools attach,
//! * `registers`: the registers that an unwinder needs, and their DWARF numbers.

#[cfg(target_arch = "x86_64")]
mod x86_64;
#[cfg(target_arch = "x86_64")]
pub use x86_64::*;

#[cfg(not(target_arch = "x86_64"))]
compile_error!("heapwise-recorder knows x86_64; another architecture needs a folder in src/arch");

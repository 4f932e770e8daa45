//! Runs programs and watches them: all code here that starts a process, or looks at one, uses these files.
//!
//! * [`output`]: runs a command to its end, within a time limit, and returns what it printed; also used for this program itself;
//! * `child`: a process that is certainly ended and waited for, with what it used;
//! * `tracer`: a program that is looked at in the moment in which it ends;
//! * `orphan_reaper`: whatever a program leaves behind is counted with it, and ended with it;
//! * `process` and [`memory`]: what `/proc` reports of a process;
//! * `sys`: the system calls that neither std nor rustix has.

#[cfg(target_os = "linux")]
mod child;
#[cfg(target_os = "linux")]
pub mod memory;
#[cfg(target_os = "linux")]
pub(crate) mod orphan_reaper;
mod output;
#[cfg(target_os = "linux")]
pub(crate) mod process;
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "wait4, ptrace, and what happens between fork and exec")]
pub(crate) mod sys;
#[cfg(target_os = "linux")]
pub(crate) mod tracer;

#[cfg(target_os = "linux")]
pub use child::{Child, Ended};
#[cfg(target_os = "linux")]
pub use orphan_reaper::end_everything;
pub use output::output;
#[cfg(target_os = "linux")]
pub use process::{children, end};
#[cfg(target_os = "linux")]
pub use sys::Usage;

//! A recording's allocations, done again with any allocator.
//!
//! * [`script`]: what each thread did with its heap, compiled from a recording;
//! * [`worker`]: the process that does it again, with the candidate's allocator preloaded;
//! * [`parent`]: starts that process, looks at its pages and gathers what it measured;
//! * [`trial`]: one script under several allocators, side by side;
//! * [`latency`]: durations in classes.
//!
//! Decision: an allocator is tried in a separate process that has nothing else on its heap. What the replay needs for itself (the
//! script, the table of blocks, the measurements) is in a file in memory that it shares with its parent ([`shared`]), so resident
//! anonymous memory is the allocator's alone, and can be looked at from outside while the worker stands still.

mod latency;
mod outcome;
mod parent;
pub mod script;
mod shared;
pub mod trial;
pub mod worker;

pub use outcome::{CallTimes, Ending, Level, Measured, SlowCall};
pub use parent::{Error, Pace, Plan, Replayer};
pub use script::{CompileError, Counts, Error as ScriptError, Overlap, Script, compile};

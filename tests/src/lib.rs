//! The basis of the tests of the whole program: victims and real programs, run alone and under `heapwise run`.
//!
//! ```text
//! victim ─ build (flags) ─┬─ run alone ─────────────┬─ compare: output, exit
//! program ────────────────┴─ run under heapwise ────┤
//!                                 └─ JSON report ───┴─ check: expectations, counts, stacks
//! ```
//!
//! Nothing here uses heapwise's internals: a test sees what a user sees, the command line, the files and the report. The one
//! exception is the recording's file, which a test may read section by section.

pub mod bombs;
pub mod build;
pub mod expect;
pub mod export;
pub mod facts;
pub mod folders;
pub mod functions;
pub mod measured;
pub mod oracle;
pub mod programs;
pub mod receiver;
pub mod recording;
pub mod report;
pub mod run;
pub mod tmux;
pub mod tool;
pub mod valgrind;
pub mod victim;

//! Which launch from an editor or debugger will have a checking heap, and the smallest edit that turns it off.
//!
//! Windows gives a process a checking heap, the *debug heap*, if a debugger creates it; programs that allocate are then
//! up to 250 times slower, and nothing says so. `_NO_DEBUG_HEAP` in the environment of the new process prevents that
//! ([`rule`] says with which values). Some debuggers set it, some do not, and whether yours does is written in the
//! configuration of your editor. On macOS, Xcode's schemes turn on checks of malloc in the same way.
//!
//! [`survey`] reads the configuration files of a folder and of a user. Each kind of file is a `Tool` in a separate file in
//! `tools/`, and one table lists them ([`kinds`]). What is wrong is a [`Proposal`]: a finding and, where it can be made safely, a
//! [`Fix`]; [`Survey::edits`] makes an [`Edit`] of all those of a file.
//!
//! The key decision: nothing is ever printed from a parsed document. A parser only locates things, and an edit is a few
//! insertions and replacements in the text, so everything outside of them stays unchanged, byte for byte.

#![deny(unsafe_code)]

mod edit;
mod given;
mod json;
pub mod launch;
mod lldb;
mod original;
mod places;
mod report;
pub mod rule;
mod source;
mod sources;
mod survey;
mod text;
mod tools;
mod walk;
mod xml;

pub use edit::{Edit, Fix};
pub use places::Places;
pub use report::{Answer, DebugHeap, Launch, Proposal, Survey};
pub use source::Refused;
pub use survey::{survey, survey_file};
pub use tools::kinds;

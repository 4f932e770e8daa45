//! The only words that the recorder, the collector and the analysis share.
//!
//! * [`event`]: what happened: one [`Event`](event::Event) per call of an allocation function.
//! * [`live`]: how a recorded process hands events over: the layout of the shared memory, and events as 64-bit words.
//!   No `std`, no allocation: this half is linked into the recorded program.
//! * [`file`](mod@file) (feature `file`): how a recording lies on disk: checksummed sections, events in columns.
//! * `pprof` (feature `pprof`): heap profiles, for other programs.
//!
//! One key decision: an event carries no time. Each thread notes the value of one shared [`Epoch`](event::Epoch)
//! counter when it changes, and the collector notes which epoch it was at which time. Epochs order the threads, and
//! within one epoch the rule that an address is handed out and taken back alternately does
//! (docs/adr/0002-epochs-instead-of-timestamps.md).
//!
//! Nothing in this crate does input or output.

#![cfg_attr(not(any(feature = "file", loom)), no_std)]
#![forbid(unsafe_code)]

pub mod event;
#[cfg(feature = "file")]
pub mod file;
pub mod live;
#[cfg(feature = "pprof")]
pub mod pprof;
pub mod sampling;
pub mod versions;

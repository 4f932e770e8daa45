//! The shelf of allocators: which ones a program can be tried with, what each can be told, how the program gets it, and
//! how somebody who likes the result writes it down.
//!
//! An [`Allocator`] is a row of the shelf. A [`Candidate`] is one of them with chosen [`Settings`], in the words of the
//! command line (`jemalloc:background_thread=true`). [`Libraries`] turns a candidate into a [`Prepared`] one, which can be
//! applied to a command that is about to be started: a library to be preloaded, and variables. Nothing here changes a
//! program's file, and nothing of another allocator's settings is left in the environment of a candidate.

#![deny(unsafe_code)]

mod c_library;
mod catalogue;
mod fix;
mod identity;
mod installed;
mod libraries;
mod memory;
mod registry;
mod setting;
mod settings;
mod spec;
mod tune;

pub use c_library::version as c_library_version;
pub use catalogue::{
    Check, CheckError, SCHEMA, catalogue_json, check, check_json, settings_markdown, source,
};
pub use fix::{Call, Fix};
pub use identity::{
    COMMAND as IDENTITY_COMMAND, Identity, IdentityError, OwnStatistics, answer_here, identify,
    identify_with, own_statistics,
};
pub use libraries::{Error, Libraries, Prepared};
pub use registry::{Allocator, Origin, all, by_name};
pub use setting::{Kind, Setting, Unit};
pub use settings::Settings;
pub use spec::{Candidate, DEFAULT, SpecError};
pub use tune::tunings;

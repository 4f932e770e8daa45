//! All that is known of an allocator, in one table: how to recognise it in a file, in a process and in a stack, its settings, how
//! a program gets it, and how a user makes the change permanent.
//!
//! An [`Allocator`] is a row of the table, and belongs to a [`Family`]; [`families`] are those of the table and others that
//! programs may have. That part needs the standard library alone, for it is built into programs of other people.
//!
//! With the feature `candidates`, a `Candidate` is one of the rows with chosen [`Settings`], in the words of the command line
//! (`jemalloc:background_thread=true`). `Libraries` turns a candidate into a `Prepared` one, which can be applied to a
//! command that is about to be started: a library to be preloaded, and variables. Nothing here changes a program's file, and
//! nothing of another allocator's settings is left in the environment of a candidate.

#![deny(unsafe_code)]

mod building;
#[cfg(feature = "candidates")]
mod c_library;
#[cfg(feature = "candidates")]
mod catalogue;
mod family;
mod fix;
mod host;
#[cfg(feature = "candidates")]
mod identity;
#[cfg(feature = "candidates")]
mod installed;
#[cfg(feature = "candidates")]
mod libraries;
#[cfg(feature = "candidates")]
mod memory;
mod registry;
mod setting;
mod settings;
#[cfg(feature = "candidates")]
mod spec;
#[cfg(feature = "candidates")]
mod tune;
#[cfg(feature = "candidates")]
mod version;

pub use building::{build_quickly, keep_profile, library};
#[cfg(feature = "candidates")]
pub use c_library::{path as c_library_path, version as c_library_version};
#[cfg(feature = "candidates")]
pub use catalogue::{Check, CheckError, check, settings_markdown, source};
pub use family::{Complaint, Family, Interface, Sign};
pub use fix::{Call, Fix, quote};
pub use host::Host;
#[cfg(feature = "candidates")]
pub use identity::{
    COMMAND as IDENTITY_COMMAND, Identity, IdentityError, OwnStatistics, Run, answer_here, identify,
    identify_with, own_object, own_statistics, purge_own,
};
#[cfg(feature = "candidates")]
pub use installed::find_installed;
#[cfg(feature = "candidates")]
pub use libraries::{Error, Libraries, Prepared};
#[cfg(feature = "candidates")]
pub use memory::MemoryFile;
pub use registry::{
    Allocator, GLIBC, MUSL, Origin, all, bundled, by_library, by_name, by_type, families, is_function,
    replaces_malloc,
};
pub use setting::{Kind, Setting, Unit};
pub use settings::Settings;
#[cfg(feature = "candidates")]
pub use spec::{Candidate, DEFAULT, SpecError};
#[cfg(feature = "candidates")]
pub use tune::tunings;

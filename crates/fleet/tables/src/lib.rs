//! Recordings as tables in Parquet: what one machine cannot look through as recordings, any engine can as tables.
//!
//! The words it uses:
//!
//! * a *table* is a kind of row; [`TABLES`] lists them, one file each, with what each column means;
//! * a *label* is what a recording does not know of itself: its service and its release ([`Labels`]);
//! * an *id* is a hash of names that outlive a build ([`Id`]), so that the same stack is the same in all recordings.
//!
//! Two key decisions. A recording becomes a few megabytes, whatever the number of its events: tables grow with stacks. And sums stay
//! exact: of more than [`MOST_SITES`] call sites the smallest become one row that has their sums.
//!
//! The crate opens no file: tables are bytes, with the name that a file of them has ([`TableFile`]).

#![forbid(unsafe_code)]

mod column;
mod history;
mod id;
mod labels;
mod layout;
mod prediction;
mod recording;
mod rows;
mod source;
mod stacks;
mod table;
mod tables;
mod text;
#[cfg(feature = "words")]
pub mod words;

pub use column::{Column, Kind};
pub use id::Id;
pub use labels::Labels;
pub use layout::{LOG, MOST_LOG_BYTES, escaped, log_entry, log_name};
pub use prediction::Prediction;
pub use recording::{Recording, TableFile};
pub use stacks::MOST_SITES;
pub use table::Table;
pub use tables::TABLES;

/// The version of the tables, in each row of `recordings`. A new column leaves it as it is; it changes when a column goes or means
/// something else.
pub const VERSION: u32 = 1;

/// The key that each file has the version under, in the metadata of its footer. The first files of version 1 are without it.
pub const VERSION_KEY: &str = "heapwise.tables_version";

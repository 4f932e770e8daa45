//! Tables of a fleet as an engine for SQL has them.
//!
//! * [`schema`]: the columns of the contract as the engine's types;
//! * [`check`]: which files can be read, before a query relies on them; the others are named and left out;
//! * [`errors`]: what its errors mean;
//! * [`provider`]: a table whose rows are in the files that count;
//! * [`limits`]: how much memory and how many cores it may take;
//! * [`session`]: the engine with the tables that a query names.

mod check;
mod errors;
mod limits;
mod provider;
mod schema;
mod session;

pub(crate) use check::{Checked, Left, Why};
pub(crate) use errors::failed;
pub(crate) use limits::{Engines, Settings};
pub(crate) use session::Session;

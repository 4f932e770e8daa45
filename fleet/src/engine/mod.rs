//! Tables of a fleet as an engine for SQL has them.
//!
//! * [`schema`]: the columns of the contract as the engine's types;
//! * [`check`]: which files can be read, before a query relies on them; the others are named and left out;
//! * [`provider`]: a table whose rows are in the files that count;
//! * [`session`]: the engine with all tables, within its limits.

mod check;
mod provider;
mod schema;
mod session;

pub(crate) use check::Left;
pub(crate) use session::{Answer, Session, Settings};

//! Where recordings lie as tables, and which of their files count.
//!
//! The words it uses:
//!
//! * a *fleet* is a folder of tables, on a disk or in a store that speaks S3 ([`Place`]);
//! * a *file* has the rows of one recording, or of many that were *compacted* ([`Name`], [`Stem`]);
//! * the *log* says which files were compacted into which ([`log`]): its newest entry is the state of the fleet;
//! * what is *live* ([`live::Live`]) are the files that count: those of recordings that are whole and not in a compacted file, and the
//!   compacted files of the newest entry.
//!
//! A compaction changes nothing in place. A recording is there once its file in `recordings` is, which is written last. A compaction is
//! there once its entry in the log is, which only one of two can make. What is removed was replaced before, so a process may be killed at any moment.

pub(crate) mod live;
pub(crate) mod log;
mod name;
mod place;

pub(crate) use name::{Name, Partition, Stem, is_date};
pub(crate) use place::{Place, plain};

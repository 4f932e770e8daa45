//! Workers that answer parts of a question, and how they are reached.
//!
//! datafusion-distributed sends them parts of the engine's plan (docs/adr/0028-questions-on-several-machines.md). There is no
//! central server: whoever asks knows the workers, and they know nothing of each other before that.

mod channels;
mod identity;
mod workers;

pub(crate) use channels::{Channels, PATIENCE};
pub(crate) use identity::Identity;
pub(crate) use workers::{Reached, Workers};

//! Configurations of real shape: what is reported about them, how they are edited, and what does not change.

mod projects;
mod properties;
mod refusals;
mod users;

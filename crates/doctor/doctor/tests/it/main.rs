//! Configuration of real shape: what is said about it, what becomes of it, and what does not change.

mod projects;
mod properties;
mod refusals;
mod users;

//! Tasks of this workspace. `cargo xtask help` lists them.
//!
//! A library, so that the tests of the workspace can run the tidy checks.

#![forbid(unsafe_code)]

pub mod bench;
pub mod book;
pub mod build;
pub mod cargo;
pub mod demo;
pub mod dist;
mod fleet;
pub mod install;
mod jobs;
pub mod model;
pub mod pictures;
pub mod schemas;
pub mod test;
pub mod tidy;
mod totals;
pub mod web;
pub mod windows;

//! What a query found, as a table for people or as JSON.

mod grid;
mod json;
mod text;

pub(crate) use grid::{Column, Grid};
pub(crate) use json::json;
pub(crate) use text::text;

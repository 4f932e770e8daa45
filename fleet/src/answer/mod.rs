//! What a query found, as a table, a page or JSON.

mod chart;
mod document;
mod grid;
mod json;
mod text;

pub(crate) use document::{About, document, html, markdown};
pub(crate) use grid::{Column, Grid};
pub(crate) use json::json;
pub(crate) use text::{shown, text};

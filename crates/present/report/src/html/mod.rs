//! The report as one HTML file that a browser opens from disk.
//!
//! The page is a program ([`page`]) and its data ([`model`]). The program is written in TypeScript, in the folder `web` of the
//! workspace; what is built from it lies in `bundle` and is compared with a fresh build by `cargo xtask web --check`.
//!
//! One key decision: the data are tables and not the JSON report. Each string, each frame and each call in the context
//! of its callers is there once, and a site is a row of numbers that refers to them. A recording with a hundred
//! thousand stacks stays small enough to be opened at once.
//!
//! Names from a recorded program are hostile: they are data from one end to the other, and never become markup or
//! script ([`page`] says how).

mod lines;
mod marks;
mod memory;
mod model;
mod page;
mod sites;
mod sources;
mod strings;
mod threads;
mod tree;

pub use threads::{Freed, ThreadMatrix};

use crate::source::Sources;
use heapwise_analysis::{Analysis, Nanos};
use heapwise_diagnosis::Diagnosis;

/// The options of the page, and data that the analysis does not have.
#[derive(Clone, Copy, Debug, Default)]
pub struct HtmlOptions<'a> {
    /// The folder to which source paths are shown relative, as an absolute path.
    pub folder: Option<&'a str>,
    /// Reads source files, for the lines around the user's nearest frames. Without it nothing is read.
    pub sources: Option<&'a dyn Sources>,
    /// Which thread freed which thread's blocks, if that was counted.
    pub thread_matrix: Option<&'a ThreadMatrix>,
    /// Time in the allocator per site, in the order of the sites, if it was measured.
    pub allocator_time: Option<&'a [Nanos]>,
}

/// The report for a browser.
pub fn html(analysis: &Analysis, diagnosis: &Diagnosis, options: &HtmlOptions<'_>) -> String {
    let title = crate::report::command_of(analysis);
    let data = serde_json::to_string(&model::Model::new(analysis, diagnosis, options)).unwrap_or_default();
    page::page(&title, &data)
}

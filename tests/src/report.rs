//! `heapwise.report/1` as heapwise writes it, with the queries of the tests.
//!
//! A field that has another name or type makes the parsing fail, since scripts rely on them in the same way.

use crate::functions;
use heapwise_report::schema::report::{self as schema, SCHEMA};
use std::ops::Deref;
use std::path::Path;

pub use schema::{Breakdown, Finding, OfAllocator, Process, Site, Totals};

/// A report.
#[derive(Clone, Debug)]
pub struct Report(schema::Report);

impl Deref for Report {
    type Target = schema::Report;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl Report {
    /// Reads a report from a file.
    ///
    /// # Errors
    /// A line that says what is wrong with it.
    pub fn read(path: &Path) -> Result<Self, String> {
        let text =
            std::fs::read_to_string(path).map_err(|e| format!("no report in {}: {e}", path.display()))?;
        Self::parse(&text)
    }

    /// Parses a report.
    ///
    /// # Errors
    /// A line that says what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let report: schema::Report =
            serde_json::from_str(text).map_err(|e| format!("the report is not as promised: {e}"))?;
        if report.schema == SCHEMA { Ok(Self(report)) } else { Err(format!("schema {}", report.schema)) }
    }

    /// Whether a warning or blind spot has this name.
    pub fn mentions(&self, id: &str) -> bool {
        self.warnings.iter().any(|w| w.id == id) || self.interception.blind_spots.iter().any(|b| b.id == id)
    }

    /// The file's name and the line that a finding is about.
    pub fn line_of(&self, finding: &Finding) -> Option<(&str, u32)> {
        let site = self.sites.iter().find(|site| Some(site.id) == finding.site)?;
        let frame = self.stack(site).nth(site.user_frame?)?;
        Some((frame.file.as_deref()?.rsplit('/').next()?, frame.line?))
    }

    /// Sums over the sites that `wanted` accepts by the plain names of their functions, innermost first; `?` where there is
    /// none.
    pub fn sum(&self, wanted: impl Fn(&[&str]) -> bool) -> Sum {
        let mut sum = Sum::default();
        for site in &self.sites {
            let functions = self.stack(site).map(|f| f.function.as_deref().map_or("?", functions::plain));
            if wanted(&functions.collect::<Vec<_>>()) {
                sum.blocks += site.allocations + site.reallocations;
                sum.bytes += site.allocated_bytes;
                sum.live += site.live_at_exit_blocks;
                sum.live_bytes += site.live_at_exit_bytes;
                sum.temporary += site.temporary_allocations;
            }
        }
        sum
    }
}

/// Sums over some sites.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    /// Blocks, reallocations included.
    pub blocks: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Blocks that were never freed.
    pub live: u64,
    /// Their bytes.
    pub live_bytes: u64,
    /// Blocks that were freed at once.
    pub temporary: u64,
}

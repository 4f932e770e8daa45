//! `cargo heapwise run`: builds a program with line tables, records it, and opens the report.

use crate::args::{ReportFormat, RunArgs};
use crate::record::{Request, record};
use crate::{Failure, output};
use anyhow::Context;
use heapwise_report::browser;
use std::path::{Path, PathBuf};

/// Records a program and returns its exit code.
pub(crate) fn run(args: &RunArgs) -> Result<u8, Failure> {
    let mut options = args.recording.words();
    options.extend(["--format".to_owned(), args.format.name().to_owned()]);
    for (name, is_set) in [("--force", args.force), ("--no-source", args.no_source)] {
        options.extend(is_set.then(|| name.to_owned()));
    }
    for root in &args.source_root {
        let root = std::path::absolute(root).context("there is no current folder")?;
        let root = root.to_str().context("the path of --source-root is not UTF-8; choose another one")?;
        options.extend(["--source-root".to_owned(), root.to_owned()]);
    }
    let report_file = args.report_file.as_deref().map(std::path::absolute).transpose();
    let report_file = report_file.context("there is no current folder")?;
    if let Some(path) = &report_file {
        output::check(path, args.force)?;
        let path = path.to_str().context("the path of the report is not UTF-8; choose another one")?;
        options.extend(["--report-file".to_owned(), path.to_owned()]);
    }
    let page_of = |recording: &Path| -> PathBuf {
        report_file.clone().unwrap_or_else(|| recording.with_extension("html"))
    };
    // A report of an earlier run must not be opened as if it were that of this one.
    let before = args.output.as_deref().or(report_file.as_deref()).map(|path| written(&page_of(path)));
    let recorded = record(&Request {
        kind: &args.kind,
        build: &args.build,
        options,
        file: args.output.as_deref(),
        arguments: &args.arguments,
    })?;
    let page = recorded.file.as_deref().map(page_of);
    if let Some(page) = page.filter(|_| args.format == ReportFormat::Html && !args.no_open) {
        let now = written(&page);
        if now.is_some() && Some(now) != before && browser::is_watched() {
            browser::open(&page, None);
        }
    }
    Ok(recorded.code)
}

/// When a file was written, if it is there.
fn written(path: &Path) -> Option<std::time::SystemTime> {
    path.metadata().and_then(|m| m.modified()).ok()
}

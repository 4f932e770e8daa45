//! `heapwise diff`: what changed between two recordings, and whether that is acceptable.

use crate::args::{DiffArgs, DiffFormat};
use crate::{Failure, exit, report, result};
use heapwise_diagnosis::{Threshold, compare};
use heapwise_report::Diff;
use heapwise_report::diff::{DiffOptions, Recording, exceeded_line};

/// Compares two recordings.
pub(crate) fn diff(args: &DiffArgs) -> Result<u8, Failure> {
    let thresholds: Result<Vec<Threshold>, _> = args.fail_on.iter().map(|text| text.parse()).collect();
    let thresholds = thresholds.map_err(|error| Failure::new(exit::USAGE, error))?;
    result::check(&args.destination, &[&args.old, &args.new])?;
    let (old, new) = (report::load(&args.old)?, report::load(&args.new)?);
    let comparison = compare(&old, &new);
    let exceeded: Vec<_> = thresholds.iter().filter_map(|t| t.exceeded(&comparison.totals)).collect();
    let files = [&args.old, &args.new].map(|path| path.to_string_lossy());
    let diff = Diff {
        old: Recording { file: &files[0], analysis: &old },
        new: Recording { file: &files[1], analysis: &new },
        comparison: &comparison,
        exceeded: &exceeded,
    };
    let options = DiffOptions { top: args.top, folder: report::current_folder() };
    result::write(&args.destination, |style| match args.format {
        DiffFormat::Text => diff.text(&options, style),
        DiffFormat::Json => diff.json(),
        DiffFormat::Markdown => diff.markdown(&options),
    })?;
    for one in &exceeded {
        heapwise_report::say!("heapwise: exceeded: {}", exceeded_line(one));
    }
    Ok(if exceeded.is_empty() { exit::SUCCESS } else { exit::EXCEEDED })
}

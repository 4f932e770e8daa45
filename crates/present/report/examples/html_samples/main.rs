//! Writes pages for the tests in a browser: `html_samples FOLDER`.
//!
//! The data are made up; recordings of real programs are tested separately.

#![forbid(unsafe_code)]

mod comparison;
mod program;
mod samples;

use heapwise_report::{HtmlOptions, html};
use samples::Sample;
use std::path::Path;
use std::process::ExitCode;

type Make = fn() -> Sample;
const SAMPLES: [(&str, Make); 4] = [
    ("full", samples::full),
    ("hostile", samples::hostile),
    ("large", samples::large),
    ("deep", samples::deep),
];

fn main() -> ExitCode {
    let Some(folder) = std::env::args_os().nth(1) else {
        eprintln!("usage: html_samples FOLDER");
        return ExitCode::FAILURE;
    };
    let mut pages: Vec<(&str, String)> =
        SAMPLES.iter().map(|(name, sample)| (*name, page(&sample()))).collect();
    pages.push(("compare", heapwise_report::compare::html(&comparison::hostile())));
    for (name, page) in pages {
        let path = Path::new(&folder).join(name).with_extension("html");
        if let Err(error) = std::fs::write(&path, page) {
            eprintln!("cannot write {}: {error}", path.display());
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

fn page(sample: &Sample) -> String {
    let options = HtmlOptions {
        folder: Some("/home/user/app"),
        sources: Some(&sample.source),
        thread_matrix: sample.matrix.as_ref(),
        allocator_time: sample.times.as_deref(),
    };
    html(&sample.analysis, &sample.diagnosis, &options)
}

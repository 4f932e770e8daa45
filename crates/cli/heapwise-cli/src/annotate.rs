//! `heapwise annotate`: what files and lines allocate.

use crate::args::{AnnotateArgs, DiffFormat};
use crate::sources::{self, SourceFiles};
use crate::{Failure, exit, lines, report, result};
use anyhow::{Error, anyhow};
use heapwise_diagnosis::{FileCosts, diagnose_with_source};
use heapwise_report::annotate::{AnnotateOptions, Annotation, Choice, View, choose};
use heapwise_report::{Absence, Sources};
use std::path::Path;
use std::sync::Arc;

/// Files that an error names.
const MOST_NAMED: usize = 8;

/// Lists the files of a recording, or shows one with what its lines allocate.
pub(crate) fn annotate(args: &AnnotateArgs) -> Result<u8, Failure> {
    result::check(&args.destination, &[&args.recording])?;
    sources::check(&args.source_root).map_err(|error| Failure::new(exit::USAGE, error))?;
    let mut analysis = report::load(&args.recording)?;
    lines::explain(&mut analysis);
    let sources = (!args.no_source).then(|| Arc::new(SourceFiles::of(&args.recording, &args.source_root)));
    // Some findings need the text of their lines.
    let text = sources.as_ref().map(|sources| Arc::clone(sources).lines()).unwrap_or_default();
    let diagnosis = diagnose_with_source(&analysis, &|file, line| text.line(file, line));
    let annotation = Annotation::new(&analysis, &diagnosis);
    let view = match &args.path {
        None => View::Files,
        Some(path) => {
            let file = chosen(annotation.files(), path).map_err(|error| Failure::new(exit::USAGE, error))?;
            let program = file.module.map(|module| module.path.as_str());
            let find = |sources: &Arc<SourceFiles>| sources.find(file.path, program);
            View::Lines(file, sources.as_ref().map_or(Err(Absence::Unwanted), find))
        }
    };
    let options = AnnotateOptions { full: args.full, folder: report::current_folder() };
    result::write(&args.destination, |style| match args.format {
        DiffFormat::Text => annotation.text(&view, &options, style),
        DiffFormat::Json => annotation.json(&view),
        DiffFormat::Markdown => annotation.markdown(&view, &options),
    })?;
    Ok(exit::SUCCESS)
}

/// The file that a path means.
fn chosen<'f, 'a>(files: &'f [FileCosts<'a>], path: &Path) -> Result<&'f FileCosts<'a>, Error> {
    let wanted = path.to_string_lossy();
    let real = path.canonicalize().ok();
    match choose(files, &wanted, real.as_deref().and_then(Path::to_str)) {
        Choice::One(file) => Ok(file),
        Choice::None if files.is_empty() => Err(anyhow!(
            "no stack of this recording has a source file; `heapwise report` says why and what to do"
        )),
        Choice::None => {
            Err(anyhow!("no stack has a line of {wanted}; `heapwise annotate FILE` lists the files"))
        }
        Choice::Several(paths) => {
            let more = paths.len().saturating_sub(MOST_NAMED);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            let named = paths[..paths.len().min(MOST_NAMED)].join(", ");
            Err(anyhow!("{wanted} is the end of {} paths; type more of one: {named}{more}", paths.len()))
        }
    }
}

//! `heapwise allocators`: the shelf, and whether candidates are what they are called.

use crate::args::{AllocatorsArgs, PlainFormat};
use crate::bundled::libraries;
use crate::{Failure, exit, report};
use heapwise_allocators::{Candidate, answer_here, catalogue_text, check, check_text};
use heapwise_report::allocators::{check_json, list_json};
use heapwise_report::escape::terminal::{self, escape};

/// Lists the shelf, or tries candidates.
pub(crate) fn allocators(args: &AllocatorsArgs) -> Result<u8, Failure> {
    let out = args.output.as_deref();
    let Some(list) = &args.candidates else {
        report::write(out, |_| match args.format {
            PlainFormat::Text => catalogue_text(libraries()),
            PlainFormat::Json => list_json(libraries()),
        })?;
        return Ok(exit::SUCCESS);
    };
    let candidates = Candidate::parse_list(list).map_err(|error| Failure::new(exit::USAGE, error))?;
    let checks = check(libraries(), &candidates, &heapwise_trial::supervise::output);
    report::write(out, |_| match args.format {
        PlainFormat::Text => {
            let line = |(candidate, result): &_| match result {
                Ok(identity) => Some(format!("{}\n", escape(&check_text(candidate, identity)))),
                Err(_) => None,
            };
            checks.iter().filter_map(line).collect()
        }
        PlainFormat::Json => check_json(&checks),
    })?;
    let errors: Vec<_> = checks.iter().filter_map(|(_, result)| result.as_ref().err()).collect();
    for error in &errors {
        heapwise_report::say!("heapwise: error: {error}");
    }
    Ok(if errors.is_empty() { exit::SUCCESS } else { exit::UNUSABLE })
}

/// Started with a candidate's library preloaded, by whoever wants to know whether it is in use.
pub(crate) fn answer(settings: &[String]) -> Result<u8, Failure> {
    terminal::print(&format!("{}\n", answer_here(settings)), false)?;
    Ok(exit::SUCCESS)
}

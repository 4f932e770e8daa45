//! `heapwise allocators`: the registry, and whether each candidate is what its name says.

use crate::args::{AllocatorsArgs, PlainFormat};
use crate::bundled::libraries;
use crate::{Failure, exit, result};
use heapwise_allocators::{Candidate, answer_here, check};
use heapwise_report::allocators as list;
use heapwise_report::escape::terminal;

/// Lists the registry, or verifies candidates.
pub(crate) fn allocators(args: &AllocatorsArgs) -> Result<u8, Failure> {
    let out = &args.destination;
    let Some(candidates) = &args.candidates else {
        result::write(out, |style| match args.format {
            PlainFormat::Text => list::catalogue(libraries(), style),
            PlainFormat::Json => list::list_json(libraries()),
        })?;
        return Ok(exit::SUCCESS);
    };
    let candidates = Candidate::parse_list(candidates).map_err(|error| Failure::new(exit::USAGE, error))?;
    let checks = check(libraries(), &candidates, &heapwise_trial::supervise::output);
    result::write(out, |style| match args.format {
        PlainFormat::Text => list::checks(&checks, style),
        PlainFormat::Json => list::check_json(&checks),
    })?;
    let errors: Vec<_> = checks.iter().filter_map(|(_, result)| result.as_ref().err()).collect();
    for error in &errors {
        heapwise_report::say!("heapwise: error: {error}");
    }
    Ok(if errors.is_empty() { exit::SUCCESS } else { exit::UNUSABLE })
}

/// Started with a candidate's library preloaded, by the check whether that library is in use.
pub(crate) fn answer(settings: &[String]) -> Result<u8, Failure> {
    terminal::print(&format!("{}\n", answer_here(settings)), false)?;
    Ok(exit::SUCCESS)
}

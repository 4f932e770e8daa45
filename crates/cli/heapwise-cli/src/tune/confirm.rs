//! Tries the results of replays on the program itself. An error here does not discard the search: that took minutes, and its
//! results remain true of the recording.

use super::Asked;
use crate::args::TuneArgs;
use crate::compare::candidates::ready;
use crate::{compare, exit};
use heapwise_allocators::Candidate;
use heapwise_report::tune::Untried;
use heapwise_trial::compare::{Error, Program};
use heapwise_trial::tune::{Found, OnProgram};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Tries the best few on the program itself; or reports why that was not done.
pub(super) fn confirm(
    program: Option<&Program>,
    found: &Found,
    asked: &Asked,
    args: &TuneArgs,
    interrupted: &Arc<AtomicBool>,
) -> Result<OnProgram, Untried> {
    let Some(program) = program else { return Err(Untried::NoCommand) };
    if args.confirm == 0 {
        return Err(Untried::NotWanted);
    }
    if interrupted.load(Ordering::Relaxed) {
        return Err(Untried::Interrupted);
    }
    let shortlist = found.shortlist(args.confirm);
    if shortlist.is_empty() {
        return Err(Untried::NothingToTry);
    }
    let shortlist = shortlist.into_iter().map(|ranked| ranked.candidate.clone());
    compare(program, asked.now.as_ref(), shortlist, args, interrupted)
}

/// What the exit code is when nothing was tried for this reason.
pub(super) fn code(untried: &Untried) -> u8 {
    match untried {
        Untried::Interrupted => exit::INTERRUPTED,
        Untried::Failed(_) => exit::UNUSABLE,
        Untried::NoCommand | Untried::NotWanted | Untried::NothingToTry => exit::SUCCESS,
    }
}

fn compare(
    program: &Program,
    now: Option<&Candidate>,
    shortlist: impl Iterator<Item = Candidate>,
    args: &TuneArgs,
    interrupted: &Arc<AtomicBool>,
) -> Result<OnProgram, Untried> {
    // The program without changes, unless the user names another baseline.
    let as_it_is = Candidate::default();
    let now = now.unwrap_or(&as_it_is);
    let baseline = ready(now).map_err(|reason| {
        Untried::Failed(format!("the baseline {now} could be replayed, but is no longer there: {reason}"))
    })?;
    let (mut prepared, mut candidates) = (vec![baseline], vec![now.clone()]);
    let (mut unavailable, mut missing) = (Vec::new(), Vec::new());
    for candidate in shortlist {
        match ready(&candidate) {
            Ok(ready) => {
                prepared.push(ready);
                candidates.push(candidate);
            }
            Err(reason) => {
                unavailable.push(heapwise_trial::compare::Unavailable {
                    label: candidate.to_string(),
                    allocator: candidate.name().to_owned(),
                    reason,
                });
                missing.push(candidate);
            }
        }
    }
    let options = heapwise_trial::compare::Options {
        runs: args.runs,
        timeout: args.drive.timeout,
        unavailable,
        refuse: Some(compare::refusal::of_file),
        out_of_reach: Some(compare::refusal::out_of_reach),
        interrupted: Arc::clone(interrupted),
        ..heapwise_trial::compare::Options::default()
    };
    let mut teller = compare::Teller::new();
    let comparison =
        heapwise_trial::compare::run(program, &prepared, &options, &mut |step| teller.tell(step));
    drop(teller);
    match comparison {
        Ok(comparison) => Ok(OnProgram { comparison, candidates, missing }),
        Err(Error::Interrupted) => Err(Untried::Interrupted),
        Err(error) => Err(Untried::Failed(error.to_string())),
    }
}

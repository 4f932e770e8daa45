//! The configuration of editors and debuggers in this folder, as a part of a checkup.

use crate::{Failure, exit, fix};
use anyhow::Context;
use heapwise_doctor::{Answer, Places, Refused, Survey, survey};
use heapwise_environment::Severity;
use heapwise_report::doctor::{Checkup, Launch};
use std::path::Path;

/// Examines the current folder and the settings of the user who started this program.
pub(super) fn survey_here() -> Result<Survey, Failure> {
    let folder = std::env::current_dir().context("cannot find the current folder")?;
    Ok(survey(&Places::of_this_user(folder)))
}

/// Adds what was found to what is known of the machine.
pub(super) fn with(mut checkup: Checkup, survey: Survey) -> Checkup {
    let folder = std::env::current_dir().unwrap_or_default();
    checkup.launches = survey
        .launches
        .into_iter()
        .map(|launch| {
            let file = launch.file.strip_prefix(&folder).unwrap_or(&launch.file);
            Launch {
                tool: launch.tool,
                name: launch.name,
                place: format!("{}:{}", file.display(), launch.line),
                debug_heap: match launch.debug_heap.answer {
                    Answer::Yes => Some(true),
                    Answer::No => Some(false),
                    Answer::Unknown => None,
                },
                why: launch.debug_heap.why,
            }
        })
        .collect();
    checkup.findings.extend(survey.proposals.into_iter().map(|proposal| proposal.finding));
    checkup.findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    checkup.unread.extend(survey.refused.iter().map(|refused| line(refused, &folder)));
    checkup
}

/// `FILE:LINE:COLUMN: why`, as far as the reason is at a place.
fn line(refused: &Refused, folder: &Path) -> String {
    let file = refused.file.strip_prefix(folder).unwrap_or(&refused.file).display();
    match (refused.line, refused.column) {
        (Some(line), Some(column)) => format!("{file}:{line}:{column}: {}", refused.why),
        _ => format!("{file}: {}", refused.why),
    }
}

/// Makes the changes that the user agrees to. The exit code is that of a checkup after them.
pub(super) fn fix(survey: &Survey, yes: bool) -> Result<u8, Failure> {
    let folder = std::env::current_dir().unwrap_or_default();
    for refused in &survey.refused {
        heapwise_report::say!("heapwise: warning: not examined: {}", line(refused, &folder));
    }
    if survey.edits().is_empty() {
        heapwise_report::say!("heapwise: there is nothing to change in the configuration of this folder");
    }
    let outcome = fix::fix(survey, yes)?;
    if !outcome.failed.is_empty() {
        return Ok(exit::UNEXPECTED);
    }
    let left = survey_here()?;
    let is_clean = left.proposals.iter().all(|proposal| proposal.finding.severity == Severity::Note);
    Ok(if is_clean { exit::SUCCESS } else { exit::FOUND })
}

//! What was not recorded, and what makes the numbers less reliable.

use super::Subject;
use crate::document::{Alert, Block, Mark, Section};
use crate::units::share;
use heapwise_analysis::{Analysis, BlindSpot, Interception};
use heapwise_diagnosis::{Diagnosis, is_unused};

pub(crate) fn not_seen(analysis: &Analysis, diagnosis: &Diagnosis) -> Vec<Section> {
    let items = not_seen_items(analysis, diagnosis);
    let items = items.into_iter().map(|(what, remedy)| (what.into(), remedy)).collect();
    section("Not seen", Alert { lead: "Not seen", items, ..Alert::default() })
}

/// What was not recorded, and what to do about it: first the allocators of the program with what they may have, then the rest.
pub(crate) fn not_seen_items(analysis: &Analysis, diagnosis: &Diagnosis) -> Vec<(String, String)> {
    let first = diagnosis.unseen.iter().map(|unseen| (unseen.sentence.clone(), unseen.remedy.clone()));
    let is_in_first = |spot: &BlindSpot| {
        let mut named = diagnosis.unseen.iter().flat_map(|unseen| &unseen.allocators);
        named.any(|(name, file)| (name, file) == (&spot.allocator, &spot.file))
    };
    // What is inside of libraries and may not be in use is no reason to worry.
    let is_idle = |spot: &BlindSpot| !spot.allocator.is_empty() && spot.id != BlindSpot::OWN_ALLOCATOR;
    let is_left_out = |spot: &BlindSpot| is_in_first(spot) || is_idle(spot) || is_unused(analysis, spot);
    let others = analysis.blind_spots.iter().filter(|spot| !is_left_out(spot));
    first.chain(others.map(|spot| (spot.what.clone(), spot.remedy.clone()))).collect()
}

pub(crate) fn warnings(analysis: &Analysis) -> Vec<Section> {
    let mut items: Vec<_> =
        analysis.warnings.iter().map(|w| (w.to_string().into(), w.hint().to_owned())).collect();
    if analysis.stacks.cut_share() >= 0.01 {
        let share = share(analysis.stacks.cut_captures, analysis.stacks.captures);
        let hint = "their inner frames are right; code without unwind tables, or more than 16,384 frames, are below them";
        items.push((
            format!("{share} of the stacks end before the thread's first function").into(),
            hint.to_owned(),
        ));
    }
    section("Warnings", Alert { items, ..Alert::default() })
}

fn section(title: &'static str, alert: Alert) -> Vec<Section> {
    if alert.items.is_empty() { Vec::new() } else { vec![Section::new(title, [Block::Alert(alert)])] }
}

/// Replaces the tables if there was no event at all.
pub(super) fn nothing(subject: &Subject<'_>) -> Vec<Section> {
    let analysis = subject.analysis;
    let what = if analysis.lacks_a_part() {
        "What can be read of the recording has no allocator call."
    } else if analysis.processes.is_empty() {
        "No process joined the recording: the program's allocator calls did not go through heapwise."
    } else {
        "The program joined the recording, and requested nothing of an allocator that heapwise knows."
    };
    let is_entered = analysis.processes.iter().any(|process| !process.allocator.is_empty());
    if analysis.meta.interception == Interception::Attach && is_entered && !analysis.lacks_a_part() {
        let text = if analysis.blind_spots.is_empty() {
            "The process did not call its allocator while it was recorded: it was idle, or works in memory that it has."
        } else {
            "The process called no allocator that is recorded: it was idle, or used what is under NOT SEEN above."
        };
        return vec![Section::new("No allocation was seen", [Block::line(Mark::Indented, text)])];
    }
    let mut blocks = vec![Block::line(Mark::Indented, what)];
    if analysis.lacks_a_part() {
        blocks.push(Block::line(Mark::Indented, "See WARNINGS: a part of the recording is missing."));
    } else if analysis.blind_spots.is_empty() {
        blocks.push(Block::line(Mark::Indented, "Usual reasons:"));
        let of_delay = "recording was held off with a delay, and the program ended before";
        let of_children = "it only started other programs, and following them was turned off";
        let reasons = if analysis.processes.is_empty() {
            vec![
                "the program is set-uid, or linked statically without symbols: nothing can be put in front of its allocator",
                "it was killed before it began",
                of_delay,
            ]
        } else {
            vec![
                "it needs no memory of the heap, as `true` does not",
                "it has its own allocator, of which heapwise knows no function",
                of_delay,
                of_children,
            ]
        };
        blocks.extend(reasons.into_iter().map(|reason| Block::line(Mark::Item, reason)));
    } else {
        blocks.push(Block::line(Mark::Indented, "See NOT SEEN above for the reason and what to do."));
    }
    vec![Section::new("No allocation was seen", blocks)]
}

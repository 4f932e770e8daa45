//! The results of a search for allocators and settings, and what to paste.

mod advice;
mod json;
mod picture;
mod tables;

use crate::document::{self, Block, Document, Figures, Mark, Section, Words};
use crate::style::Style;
use crate::units::{count, time};
use heapwise_analysis::Analysis;
use heapwise_environment::MachineDescription;

use heapwise_trial::tune::{Choice, Found, OnProgram};

/// A search and its subject.
#[derive(Clone, Copy, Debug)]
pub struct Tuned<'a> {
    /// What replays found.
    pub found: &'a Found,
    /// The best of them on the program itself.
    pub comparison: Option<&'a OnProgram>,
    /// Why there is no such comparison; `None` if there is one.
    pub untried: Option<&'a Untried>,
    /// What makes the recording, or the comparison on the program itself, less useful: sentences.
    pub notes: &'a [String],
    pub choice: &'a Choice,
    /// The recording.
    pub analysis: &'a Analysis,
    /// The process whose part of it was replayed, as an index into [`Analysis::processes`].
    pub process: usize,
    /// Where it was measured.
    pub machine: &'a MachineDescription,
}

/// Why nothing was tried on the program itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Untried {
    /// The command of the program was not named.
    NoCommand,
    /// The user turned it off (`--confirm 0`).
    NotWanted,
    /// Replays found no candidate that is worth a try.
    NothingToTry,
    /// It was interrupted before.
    Interrupted,
    /// It failed: why, in one line.
    Failed(String),
}

/// For a terminal.
pub fn text(tuned: &Tuned<'_>, style: Style) -> String {
    document::terminal(&document(tuned), style)
}

/// For a pull request.
pub fn markdown(tuned: &Tuned<'_>) -> String {
    document::markdown(&document(tuned))
}

/// For a browser, with a picture of memory and time.
pub fn html(tuned: &Tuned<'_>) -> String {
    document::html(&document(tuned))
}

/// The schema `heapwise.tune/1`.
pub fn json(tuned: &Tuned<'_>) -> String {
    json::json(tuned)
}

fn document(tuned: &Tuned<'_>) -> Document {
    let mut conclusion = Section::conclusion(advice::conclusion(tuned));
    conclusion.blocks.extend(advice::snippets(tuned).into_iter().map(Block::Snippet));
    let figures = Figures(picture::picture(tuned).into_iter().collect());
    let sections = [
        Some(Section::untitled([Block::line(Mark::Plain, lead(tuned))])),
        Some(Section::untitled(setup(tuned).into_iter().map(|line| Block::line(Mark::Setup, line)))),
        Some(conclusion),
        Section::caveats(advice::caveats(tuned)),
        Some(Section::untitled([Block::Figures(figures)])),
        Some(tables::ranked(tuned)),
        tables::confirmed(tuned),
    ];
    Document {
        title: Words::from(format!("heapwise tune {}", command(tuned))),
        sections: sections.into_iter().flatten().collect(),
        ..Document::default()
    }
}

fn command(tuned: &Tuned<'_>) -> String {
    tuned
        .analysis
        .processes
        .get(tuned.process)
        .map(|p| crate::report::command_line(&p.command))
        .unwrap_or_default()
}

fn lead(tuned: &Tuned<'_>) -> String {
    let found = tuned.found;
    let (all, tried) = (found.ranked.len(), found.tried());
    let how_many = if tried < all { format!("{tried} of {all}") } else { all.to_string() };
    let then: Vec<String> = found.rungs.iter().skip(1).map(ToString::to_string).collect();
    let then = if then.is_empty() {
        String::new()
    } else {
        format!(", then {} on more of them", then.join(" and "))
    };
    let calls = count(found.counts.calls());
    let batch = match found.goal.is_of_batch() {
        true => " What is resident when the work is done does not count (--goal balanced counts it).",
        false => "",
    };
    format!(
        "Looked for little {}: {how_many} candidates on replays of {calls} calls{then}.{batch}",
        goal(tuned)
    )
}

/// The goal in words.
fn goal(tuned: &Tuned<'_>) -> String {
    let weights = tuned.found.goal.weights();
    let words = |(measure, weight): &(heapwise_trial::tune::Objective, f64)| match weights.len() {
        1 => measure.title().to_owned(),
        _ => format!("{} ({:.0} %)", measure.title(), weight * 100.0),
    };
    weights.iter().map(words).collect::<Vec<_>>().join(", ")
}

fn setup(tuned: &Tuned<'_>) -> Vec<String> {
    let mut lines = vec![tuned.machine.to_string()];
    if let Some(timed) = &tuned.found.timed {
        let settle = match timed.settle.as_nanos() as u64 {
            0 => String::new(),
            ns => format!(", and {} of rest", time(ns)),
        };
        let pace = match timed.compression {
            1 => "in real time".to_owned(),
            n => format!("{n} times as fast, with the times that allocators are given divided by {n}"),
        };
        lines.push(format!("Memory after the load is that of replays with pauses, {pace}{settle}."));
    }
    lines
}

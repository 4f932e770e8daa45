//! The results of replays of a recording, for people, machines and pull requests.

mod conclusions;
mod facts;
mod figures;
mod json;
mod tables;
#[cfg(test)]
mod testing;

pub(crate) use conclusions::SEEN;
pub use facts::outcome;
pub(crate) use tables::version;

use crate::document::{self, Block, Document, Figures, Mark, Section, Words};
use crate::report::counted;
use crate::style::Style;
use crate::units::{bytes, count, time};
use heapwise_allocators::Candidate;
use heapwise_analysis::Analysis;
use heapwise_environment::MachineDescription;
use heapwise_trial::replay::trial::Trial;

/// A trial and its subject.
#[derive(Clone, Copy, Debug)]
pub struct Replay<'a> {
    /// What was measured.
    pub trial: &'a Trial,
    /// The recording.
    pub analysis: &'a Analysis,
    /// The process whose part of it was replayed, as an index into [`Analysis::processes`].
    pub process: usize,
    /// The recorded process's allocator, in the words of the command line.
    pub now: &'a Candidate,
    /// Where it was measured.
    pub machine: &'a MachineDescription,
}

/// For a terminal.
pub fn text(replay: &Replay<'_>, style: Style) -> String {
    document::terminal(&document(replay), style)
}

/// For a pull request.
pub fn markdown(replay: &Replay<'_>) -> String {
    document::markdown(&document(replay))
}

/// For a browser.
pub fn html(replay: &Replay<'_>) -> String {
    document::html(&document(replay))
}

/// The schema `heapwise.replay/1`.
pub fn json(replay: &Replay<'_>) -> String {
    json::json(replay)
}

pub(crate) fn document(replay: &Replay<'_>) -> Document {
    let at_peak = "What resident memory consists of at the peak";
    let sections = [
        Some(Section::untitled([Block::line(Mark::Plain, lead(replay))])),
        Some(Section::untitled(setup(replay).into_iter().map(|line| Block::line(Mark::Setup, line)))),
        Some(Section::conclusion(conclusions::conclusion(replay))),
        Section::caveats(conclusions::caveats(replay)),
        Some(Section::untitled([Block::Figures(Figures(figures::figures(replay)))])),
        Some(tables::overview(replay)),
        tables::waterfall(replay, at_peak, |r| facts::main(r)?.at_peak),
        tables::waterfall(replay, end_title(replay), |r| facts::last(r)?.at_end),
        tables::own(replay),
        tables::latency(replay),
        tables::slowest(replay),
    ];
    Document {
        title: Words::from(format!("heapwise replay {}", command(replay))),
        sections: sections.into_iter().flatten().collect(),
        ..Document::default()
    }
}

/// With pauses, the end means something else than without.
fn end_title(replay: &Replay<'_>) -> &'static str {
    if replay.trial.timed.is_some() { "And at the end, with pauses" } else { "And at the end" }
}

fn command(replay: &Replay<'_>) -> String {
    replay
        .analysis
        .processes
        .get(replay.process)
        .map(|p| crate::report::command_line(&p.command))
        .unwrap_or_default()
}

fn lead(replay: &Replay<'_>) -> String {
    let counts = &replay.trial.counts;
    format!(
        "{} calls of {}, recorded in {}: at most {} were live, {} in {} at the end.",
        count(counts.calls()),
        if counts.threads == 1 { "one thread".to_owned() } else { format!("{} threads", counts.threads) },
        time(replay.trial.duration.0),
        bytes(counts.peak_live_bytes.0),
        bytes(counts.live_bytes.0),
        counted(counts.live_blocks, "block", "blocks"),
    )
}

fn setup(replay: &Replay<'_>) -> Vec<String> {
    let mut lines = vec![replay.machine.to_string()];
    if let Some(harness) = &replay.trial.harness {
        lines.push(format!(
            "A timed call that does nothing takes {:.0} ns, which is subtracted from times in the allocator. Without any calls, the \
             replay takes {:.1} ns a call{}.",
            harness.bias_ns[0],
            harness.ns,
            if replay.trial.counts.threads > 1 { ", with what threads wait for each other" } else { "" },
        ));
    }
    if let Some(timed) = &replay.trial.timed {
        let pace = match timed.compression {
            1 => "in real time".to_owned(),
            n => format!("{n} times as fast, with the times that allocators are given divided by {n}"),
        };
        lines.push(format!("With pauses: {pace}."));
    }
    lines
}

//! What replays of a recording found out, for people, machines and pull requests.

mod conclusions;
mod facts;
mod figures;
mod json;
mod tables;
#[cfg(test)]
mod testing;

pub(crate) use conclusions::SEEN;
pub(crate) use tables::version;

use crate::document::{self, Document};
use crate::style::Style;
use crate::units::{bytes, count, time};
use heapwise_allocators::Candidate;
use heapwise_analysis::Analysis;
use heapwise_environment::MachineDescription;
use heapwise_trial::replay::trial::Trial;

/// A trial and what it was about.
#[derive(Clone, Copy, Debug)]
pub struct Replay<'a> {
    /// What was measured.
    pub trial: &'a Trial,
    /// The recording.
    pub analysis: &'a Analysis,
    /// Whose part of it was replayed, as a place in [`Analysis::processes`].
    pub process: usize,
    /// What the recorded process had, in the words of the command line.
    pub now: &'a Candidate,
    /// Where it was measured.
    pub machine: &'a MachineDescription,
}

/// For a terminal.
pub fn text(replay: &Replay<'_>, style: Style) -> String {
    document::text(&document(replay), style)
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
    let mut tables = vec![tables::overview(replay)];
    tables.extend(tables::waterfall(replay, "WHAT RESIDENT MEMORY CONSISTS OF AT THE PEAK", |r| {
        facts::main(r)?.at_peak
    }));
    tables.extend(tables::waterfall(replay, end_title(replay), |r| facts::last(r)?.at_end));
    tables.extend(tables::own(replay));
    tables.extend(tables::latency(replay));
    tables.extend(tables::slowest(replay));
    Document {
        title: format!("heapwise replay {}", command(replay)),
        lead: lead(replay),
        setup: setup(replay),
        tables,
        figures: figures::figures(replay),
        caveats: conclusions::caveats(replay),
        conclusion: conclusions::conclusion(replay),
        snippets: Vec::new(),
    }
}

/// With pauses the end is another one than without.
fn end_title(replay: &Replay<'_>) -> &'static str {
    if replay.trial.timed.is_some() { "AND AT THE END, WITH PAUSES" } else { "AND AT THE END" }
}

fn command(replay: &Replay<'_>) -> String {
    replay.analysis.processes.get(replay.process).map(|p| p.command.join(" ")).unwrap_or_default()
}

fn lead(replay: &Replay<'_>) -> String {
    let counts = &replay.trial.counts;
    format!(
        "{} calls of {}, recorded in {}: at most {} were live, {} in {} blocks at the end.",
        count(counts.calls()),
        if counts.threads == 1 { "one thread".to_owned() } else { format!("{} threads", counts.threads) },
        time(replay.trial.duration.0),
        bytes(counts.peak_live_bytes.0),
        bytes(counts.live_bytes.0),
        count(counts.live_blocks),
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
            n => format!("{n} times as fast, with the times that allocators are told divided by {n}"),
        };
        lines.push(format!("With pauses: {pace}."));
    }
    lines
}

//! What ran and how it ended.

use super::rows::file_name;
use super::{Subject, counted};
use crate::document::{Block, Mark, Section, Words};
use crate::units::time;
use heapwise_analysis::{Analysis, Interception};

/// The command line.
pub(crate) fn command_of(analysis: &Analysis) -> String {
    analysis.meta.command.join(" ")
}

pub(super) fn sections(subject: &Subject<'_>) -> Vec<Section> {
    let analysis = subject.analysis;
    let mut facts = vec![ending(analysis)];
    if analysis.processes.len() != 1 || analysis.threads.len() != 1 {
        let (processes, threads) = (analysis.processes.len() as u64, analysis.threads.len() as u64);
        facts.push(counted(processes, "process", "processes"));
        facts.push(counted(threads, "thread", "threads"));
    }
    facts.push(interception(analysis));
    vec![Section::untitled([Block::line(Mark::Plain, Words::faint(facts.join(" · ")))])]
}

/// How it ended, and how long it took.
pub(crate) fn ending(analysis: &Analysis) -> String {
    let took = time(analysis.duration.0);
    let Some(end) = &analysis.end else { return format!("no recorded end, at least {took}") };
    match (end.signal, end.exit_code) {
        (Some(signal), _) => format!("ended by signal {signal} after {took}"),
        (None, Some(code)) => format!("exited with {code} after {took}"),
        (None, None) => format!("took {took}"),
    }
}

fn interception(analysis: &Analysis) -> String {
    let way = analysis.meta.interception;
    let below = if way == Interception::Wrapper { " over " } else { ", allocator: " };
    let of = match allocators(analysis.processes.iter().map(|process| process.allocator.as_str())) {
        names if names.is_empty() => names,
        names => format!("{below}{names}"),
    };
    let recorder = match way {
        Interception::Unknown if of.is_empty() => return "recorder unknown".to_owned(),
        Interception::Unknown => "an unknown recorder",
        Interception::Wrapper => "heapwise::Allocator",
        Interception::Preload => "LD_PRELOAD",
        Interception::Inside => "the program itself",
    };
    format!("recorded via {recorder}{of}")
}

/// Names of the processes' allocators, each once.
fn allocators<'a>(of_processes: impl Iterator<Item = &'a str>) -> String {
    let mut names: Vec<&str> = Vec::new();
    for name in of_processes.map(file_name).filter(|name| !name.is_empty()) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    match names.as_slice() {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [one, other] => format!("{one} and {other}"),
        [first, more @ ..] => format!("{first} and {} more", more.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_allocator_is_named_once() {
        let of = |files: &[&str]| allocators(files.iter().copied());
        assert_eq!(of(&["", ""]), "");
        assert_eq!(of(&["/lib/libc.so.6", "", "/lib/libc.so.6"]), "libc.so.6");
        let turns = ["/lib/libc.so.6", "/lib/libjemalloc.so.2", "/lib/libc.so.6", "/lib/libjemalloc.so.2"];
        assert_eq!(of(&turns), "libc.so.6 and libjemalloc.so.2");
        assert_eq!(of(&["/a", "/b", "/c", "/a"]), "a and 2 more");
    }
}

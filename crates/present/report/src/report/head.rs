//! What ran and how it ended.

use super::{Subject, counted};
use crate::document::{Block, Mark, Section, Words};
use crate::units::time;
use heapwise_allocators::quote;
use heapwise_analysis::{Analysis, Interception};

/// The command line of the run.
pub(crate) fn command_of(analysis: &Analysis) -> String {
    command_line(&analysis.meta.command)
}

/// A command and its arguments as a shell would take them.
pub fn command_line(command: &[String]) -> String {
    command.iter().map(|word| quote(word)).collect::<Vec<_>>().join(" ")
}

pub(super) fn sections(subject: &Subject<'_>) -> Vec<Section> {
    let analysis = subject.analysis;
    let mut facts = vec![ending(analysis)];
    if analysis.processes.len() != 1 || analysis.threads.len() != 1 {
        let (processes, threads) = (analysis.processes.len() as u64, analysis.threads.len() as u64);
        facts.push(counted(processes, "process", "processes"));
        facts.push(counted(threads, "thread", "threads"));
    }
    facts.push(match analysis.processes.is_empty() {
        true => "nothing was recorded".to_owned(),
        false => interception(analysis),
    });
    vec![Section::untitled([Block::line(Mark::Plain, Words::faint(facts.join(" · ")))])]
}

/// How it ended, and how long it took.
pub(crate) fn ending(analysis: &Analysis) -> String {
    let took = time(analysis.duration.0);
    let Some(end) = &analysis.end else { return format!("no recorded end, at least {took}") };
    let part = analysis.meta.part;
    if end.goes_on {
        return format!("file {part} of the recording, {took}; it goes on in the next one");
    }
    let ended = match (end.signal, end.exit_code) {
        _ if analysis.meta.interception == Interception::Attach => {
            match analysis.processes.iter().any(|process| process.still_running) {
                true => format!("recorded for {took}; the program went on"),
                false => format!("recorded for {took}, until it ended"),
            }
        }
        (Some(signal), _) => format!("ended by signal {signal} after {took}"),
        (None, Some(code)) => format!("exited with {code} after {took}"),
        (None, None) => format!("took {took}"),
    };
    if part > 0 { format!("file {part} of the recording, the last one: {ended}") } else { ended }
}

fn interception(analysis: &Analysis) -> String {
    let way = analysis.meta.interception;
    let inside = inside(analysis);
    let below = if way == Interception::Wrapper { " over " } else { "; allocator: " };
    let of = match allocators(&allocator_names(analysis)) {
        names if names.is_empty() => names,
        names => format!("{below}{names}"),
    };
    let recorder = match way {
        Interception::Unknown if of.is_empty() => return "recorder unknown".to_owned(),
        Interception::Unknown => "an unknown recorder",
        Interception::Wrapper => "heapwise::Allocator",
        Interception::Preload => "LD_PRELOAD",
        Interception::Ptrace => "ptrace",
        Interception::Attach => "attach",
        Interception::Inside => "the program itself",
    };
    format!("recorded via {recorder}{of}{inside}")
}

/// Recorded allocators inside of libraries: those of the programs are the processes'.
fn inside(analysis: &Analysis) -> String {
    let own: Vec<&str> = analysis.processes.iter().map(|process| process.allocator.as_str()).collect();
    let mut names: Vec<String> = Vec::new();
    for inside in analysis.end.iter().flat_map(|end| &end.allocators_inside) {
        let name = &inside.allocator;
        if !name.is_empty() && !own.contains(&name.as_str()) && !names.contains(name) {
            names.push(name.clone());
        }
    }
    match allocators(&names) {
        names if names.is_empty() => names,
        names => format!(", and {names} inside its libraries"),
    }
}

/// What the allocator is called whose functions are found by their names.
pub(crate) fn by_name(analysis: &Analysis) -> String {
    // A process that has one of its own is said to have that.
    let paths = analysis.processes.iter().map(|process| match process.by_name.as_str() {
        "" => process.allocator.as_str(),
        path => path,
    });
    let found = paths.filter(|path| path.contains('/')).find(|path| {
        let mut inside = analysis.end.iter().flat_map(|end| &end.allocators_inside);
        !inside.any(|inside| inside.file == *path)
    });
    let known = &analysis.meta.c_library;
    match found.unwrap_or(&known.path) {
        "" => "the C library's".to_owned(),
        path => analysis.allocator_name(path),
    }
}

/// Names of the processes' allocators, each once; with the version where it is known.
pub(crate) fn allocator_names(analysis: &Analysis) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for path in analysis.processes.iter().map(|process| process.allocator.as_str()) {
        let name = analysis.allocator_name(path);
        if !name.is_empty() && !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

fn allocators(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [one, other] => format!("{one} and {other}"),
        [first, more @ ..] => format!("{first} and {} more", more.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_allocators_are_named_and_many_are_counted() {
        let of =
            |names: &[&str]| allocators(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
        assert_eq!(of(&[]), "");
        assert_eq!(of(&["glibc"]), "glibc");
        assert_eq!(of(&["glibc", "jemalloc"]), "glibc and jemalloc");
        assert_eq!(of(&["a", "b", "c"]), "a and 2 more");
    }
}

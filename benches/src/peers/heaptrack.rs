//! heaptrack in its default mode, which interprets while it records, and the text of `heaptrack_print`.

use super::commands;
use super::peer::{Answer, Left, Peer, Place, Subject, Way};
use super::truth::Stack;
use anyhow::{Context, Result};
use std::path::Path;
use std::process::Command;

pub(super) struct Heaptrack;

impl Peer for Heaptrack {
    fn name(&self) -> &'static str {
        "heaptrack"
    }

    fn version(&self, _: &Place) -> Result<String> {
        commands::version(Path::new("heaptrack")).context("apt-get install heaptrack")
    }

    fn way(&self, _: &Place, subject: &Subject<'_>, files: &Path, _: &Path) -> Way {
        let mut way = Way::plain(subject);
        way.outside = vec!["heaptrack".into(), "-o".into(), files.join("recording").into()];
        way
    }

    fn answer(&self, _: &Place, left: &Left<'_>) -> Result<Answer> {
        Ok(Answer::Command(vec!["heaptrack_print".into(), left.file("recording")?.into()]))
    }

    fn stacks(&self, _: &Place, left: &Left<'_>) -> Result<Vec<Stack>> {
        // Not its folded stacks: in those, inlined functions are the wrong way round (1.4).
        Ok(stacks(&commands::printed(Command::new("heaptrack_print").arg(left.file("recording")?))?))
    }
}

/// Reads the text's first part: places with the most calls, and below each of them the stacks that lead to it.
fn stacks(text: &str) -> Vec<Stack> {
    let calls = |line: &str, rest: &str| {
        let (number, after) = line.split_once(' ')?;
        (after.starts_with(rest) && after.contains(" peak consumption from")).then(|| number.parse().ok())?
    };
    let mut place: Vec<String> = Vec::new();
    let mut stacks: Vec<Stack> = Vec::new();
    let (mut is_place, mut is_stack) = (false, false);
    for line in text.lines().skip_while(|line| *line != "MOST CALLS TO ALLOCATION FUNCTIONS").skip(1) {
        if line.starts_with("PEAK MEMORY CONSUMERS") {
            break;
        }
        let name = line.trim_start();
        if calls(line, "calls to allocation functions").is_some() {
            place.clear();
            (is_place, is_stack) = (true, false);
        } else if let Some(calls) = calls(line, "calls with") {
            stacks.push(Stack { calls, frames: place.clone() });
            (is_place, is_stack) = (false, true);
        } else if line.is_empty() || line.starts_with("and ") {
            is_stack = false;
        } else if name.starts_with("at ") || name.starts_with("in ") {
            // The file and the line, and the executable, of the function above.
        } else if is_place {
            place.push(name.to_owned());
        } else if let Some(stack) = stacks.last_mut().filter(|_| is_stack) {
            stack.frames.push(name.to_owned());
        }
    }
    stacks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_and_what_leads_to_them_become_stacks() {
        let text = "reading file\n\nMOST CALLS TO ALLOCATION FUNCTIONS\n\
            10 calls to allocation functions with 0B peak consumption from\nalloc\n  at /a.rs:95\n  in /prog\nleaf\n  at /b.rs:1\n\
            8 calls with 0B peak consumption from:\n    one\n      at /b.rs:2\n      in /prog\n    main\n      in /prog\n\
            2 calls with 0B peak consumption from:\n    two\n      in /prog\n\
            and 3 from 1 other places\n\nPEAK MEMORY CONSUMERS\n\
            7 calls with 1B peak consumption from:\n    three\n";
        let frames = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        assert_eq!(
            stacks(text),
            [
                Stack { calls: 8.0, frames: frames(&["alloc", "leaf", "one", "main"]) },
                Stack { calls: 2.0, frames: frames(&["alloc", "leaf", "two"]) },
            ]
        );
    }
}

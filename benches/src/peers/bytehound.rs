//! bytehound, where it is installed: `libbytehound.so` in a folder of libraries, and its program on PATH, of which the part that
//! runs scripts is enough. Its own interface is a page in a browser; a script prints the places with the most calls.

use super::commands;
use super::peer::{Answer, Left, Peer, Place, Subject, Way};
use super::truth::Stack;
use anyhow::{Context, Result};
use heapwise_allocators::find_installed;
use std::path::{Path, PathBuf};
use std::process::Command;

pub(super) struct Bytehound;

const PROGRAM: &str = "bytehound";
/// The number of calls of a stack, and then its frames, one a line.
const SCRIPT: &str = "\
let groups = allocations().group_by_backtrace().sort_by_count();
for group in groups {
    println(\"calls {}\", group.len());
    println(group[0].backtrace());
}
";

fn library() -> Result<PathBuf> {
    find_installed(&["libbytehound.so"]).context("libbytehound.so is in no folder of libraries")
}

/// Writes the script beside the folder, in which there are only files of the recorder.
fn script(left: &Left<'_>, limit: &str) -> Result<PathBuf> {
    let path = left.files.with_extension("rhai");
    std::fs::write(&path, SCRIPT.replace("sort_by_count()", &format!("sort_by_count(){limit}")))?;
    Ok(path)
}

/// Reads what the script prints.
fn stacks(text: &str) -> Vec<Stack> {
    let mut stacks: Vec<Stack> = Vec::new();
    for line in text.lines() {
        match (line.strip_prefix("calls ").and_then(|calls| calls.parse().ok()), stacks.last_mut()) {
            (Some(calls), _) => stacks.push(Stack { calls, frames: Vec::new() }),
            (None, Some(stack)) => stack.frames.push(line.to_owned()),
            (None, None) => {}
        }
    }
    // It prints the outermost frame first.
    stacks.iter_mut().for_each(|stack| stack.frames.reverse());
    stacks
}

impl Peer for Bytehound {
    fn name(&self) -> &'static str {
        "bytehound"
    }

    fn version(&self, _: &Place) -> Result<String> {
        library()?;
        commands::version(Path::new(PROGRAM))
    }

    fn way(&self, _: &Place, subject: &Subject<'_>, files: &Path, _: &Path) -> Way {
        let mut way = Way::plain(subject);
        way.environment = vec![
            ("LD_PRELOAD", library().unwrap_or_default().into()),
            ("MEMORY_PROFILER_OUTPUT", files.join("recording.dat").into()),
        ];
        way
    }

    fn answer(&self, _: &Place, left: &Left<'_>) -> Result<Answer> {
        let script = script(left, ".take(20)")?;
        let data = left.file("recording")?;
        Ok(Answer::Command(vec![
            PROGRAM.into(),
            "script".into(),
            "--data".into(),
            data.into(),
            script.into(),
        ]))
    }

    fn stacks(&self, _: &Place, left: &Left<'_>) -> Result<Vec<Stack>> {
        let (script, data) = (script(left, "")?, left.file("recording")?);
        let mut print = Command::new(PROGRAM);
        Ok(stacks(&commands::printed(print.args(["script", "--data"]).args([data, script]))?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_script_prints_is_read() {
        let text =
            "loading\ncalls 12\n#00 [a] main [a.rs:3]\n#01 [a] known_leaf [a.rs:1]\ncalls 1\n#00 7f00\n";
        let stacks = stacks(text);
        assert_eq!((stacks.len(), stacks[0].calls), (2, 12.0));
        assert_eq!(stacks[0].frames[0], "#01 [a] known_leaf [a.rs:1]");
        assert_eq!(stacks[1].frames, ["#00 7f00"]);
    }
}

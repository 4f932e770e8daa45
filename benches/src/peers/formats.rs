//! Formats that several tools write: folded stacks, and the JSON of DHAT.

use super::truth::Stack;
use anyhow::{Context, Result};
use serde::Deserialize;

/// Reads `outermost;…;innermost 12` lines.
pub(super) fn folded(text: &str) -> Vec<Stack> {
    let stack = |line: &str| {
        let (frames, calls) = line.rsplit_once(' ')?;
        let frames = frames.split(';').rev().map(|frame| frame.trim().to_owned()).collect();
        Some(Stack { calls: calls.parse().ok()?, frames })
    };
    text.lines().filter_map(stack).collect()
}

#[derive(Deserialize)]
struct Dhat {
    #[serde(rename = "pps")]
    points: Vec<Point>,
    #[serde(rename = "ftbl")]
    frames: Vec<String>,
}

#[derive(Deserialize)]
struct Point {
    #[serde(rename = "tbk")]
    blocks: u64,
    /// Innermost first, as numbers of the table.
    #[serde(rename = "fs")]
    frames: Vec<usize>,
}

/// Reads what valgrind's DHAT and dhat-rs write.
pub(super) fn dhat(text: &[u8]) -> Result<Vec<Stack>> {
    let file: Dhat = serde_json::from_slice(text).context("it is not a file of DHAT")?;
    let frame = |number: &usize| file.frames.get(*number).cloned().context("a frame is not in the table");
    let stack = |point: &Point| {
        let frames = point.frames.iter().map(frame).collect::<Result<_>>()?;
        Ok(Stack { calls: point.blocks as f64, frames })
    };
    file.points.iter().map(stack).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folded_stacks_begin_outside() {
        let stacks = folded("main;a::b<[u8; 4]>;malloc 12\nno number\nmain 0.5\n");
        assert_eq!(stacks.len(), 2);
        assert_eq!(stacks[0].calls, 12.0);
        assert_eq!(stacks[0].frames.first().map(String::as_str), Some("malloc"));
        assert_eq!(stacks[0].frames.last().map(String::as_str), Some("main"));
    }

    #[test]
    fn frames_of_dhat_are_looked_up() {
        let text = br#"{"dhatFileVersion":2,"mode":"heap",
            "pps":[{"tb":96,"tbk":2,"fs":[1,2]},{"tb":1,"tbk":1,"fs":[2]}],
            "ftbl":["[root]","0x1: malloc (vg_replace_malloc.c:1)","0x2: main (a.rs:1)"]}"#;
        let stacks = dhat(text).unwrap();
        assert_eq!((stacks.len(), stacks[0].calls), (2, 2.0));
        assert_eq!(stacks[0].frames[1], "0x2: main (a.rs:1)");
        assert!(dhat(br#"{"pps":[{"tbk":2,"fs":[7]}],"ftbl":[]}"#).is_err());
        assert!(dhat(b"[]").is_err());
    }
}

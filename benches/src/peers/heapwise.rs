//! heapwise, with the report that it prints.

use super::commands;
use super::formats::folded;
use super::peer::{Answer, Left, Peer, Place, Subject, Way};
use super::truth::Stack;
use anyhow::Result;
use std::path::{Path, PathBuf};
use std::process::Command;

pub(super) struct Heapwise;

fn program(place: &Place) -> PathBuf {
    place.target.join("release/heapwise")
}

impl Peer for Heapwise {
    fn name(&self) -> &'static str {
        "heapwise"
    }

    fn version(&self, place: &Place) -> Result<String> {
        commands::version(&program(place))
    }

    fn way(&self, place: &Place, subject: &Subject<'_>, files: &Path, report: &Path) -> Way {
        let mut way = Way::plain(subject);
        way.outside = vec![
            program(place).into(),
            "run".into(),
            "-o".into(),
            files.join("recording.hw").into(),
            "--report-file".into(),
            report.into(),
            "--format".into(),
            "text".into(),
            "--".into(),
        ];
        way
    }

    fn answer(&self, _: &Place, _: &Left<'_>) -> Result<Answer> {
        Ok(Answer::Printed)
    }

    fn stacks(&self, place: &Place, left: &Left<'_>) -> Result<Vec<Stack>> {
        let mut export = Command::new(program(place));
        export.args(["export", "--to", "folded", "--measure", "allocations"]).arg(left.file("recording")?);
        Ok(folded(&commands::printed(&mut export)?))
    }
}

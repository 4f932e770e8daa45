//! valgrind's DHAT. Its result is for a page in a browser, `dh_view.html`.

use super::commands;
use super::formats::dhat;
use super::peer::{Answer, Left, Peer, Place, Subject, Way};
use super::truth::Stack;
use anyhow::{Context, Result};
use std::ffi::OsString;
use std::path::Path;

pub(super) struct ValgrindDhat;

impl Peer for ValgrindDhat {
    fn name(&self) -> &'static str {
        "valgrind's DHAT"
    }

    fn version(&self, _: &Place) -> Result<String> {
        commands::version(Path::new("valgrind")).context("apt-get install valgrind")
    }

    fn way(&self, _: &Place, subject: &Subject<'_>, files: &Path, _: &Path) -> Way {
        let mut way = Way::plain(subject);
        let mut file = OsString::from("--dhat-out-file=");
        file.push(files.join("dhat.out"));
        // It interprets the program in its own process, and cannot be beside it.
        way.inside.splice(0..0, ["valgrind".into(), "--quiet".into(), "--tool=dhat".into(), file]);
        way
    }

    fn answer(&self, _: &Place, _: &Left<'_>) -> Result<Answer> {
        Ok(Answer::Page)
    }

    fn stacks(&self, _: &Place, left: &Left<'_>) -> Result<Vec<Stack>> {
        dhat(&std::fs::read(left.file("dhat.out")?)?)
    }
}

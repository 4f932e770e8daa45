//! dhat-rs: another build of the program, with its allocator (`benches/with-dhat`).

use super::formats::dhat;
use super::peer::{Answer, Left, Peer, Place, Subject, Way};
use super::truth::Stack;
use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};

pub(super) struct DhatRs;

/// The variable by which `benches/with-dhat` knows where its file goes.
const FILE: &str = "DHAT_RS_FILE";

fn program(place: &Place, subject: &Subject<'_>) -> PathBuf {
    let name = format!("dhat_{}", subject.name);
    // An example of the contest's own package, since nothing is built from that.
    let folder = if subject.name == "contest" { "release/examples" } else { "release" };
    place.target.join(folder).join(name)
}

impl Peer for DhatRs {
    fn name(&self) -> &'static str {
        "dhat-rs"
    }

    fn version(&self, place: &Place) -> Result<String> {
        let program = place.target.join("release/dhat_known");
        ensure!(program.is_file(), "{} is missing: cargo build --release -p with-dhat", program.display());
        let lock = include_str!("../../../Cargo.lock");
        let mut lines = lock.lines().skip_while(|line| *line != "name = \"dhat\"").skip(1);
        let version = lines.next().and_then(|line| line.strip_prefix("version = "));
        Ok(version.context("Cargo.lock has no dhat")?.trim_matches('"').to_owned())
    }

    fn cannot(&self, subject: &Subject<'_>) -> Option<&'static str> {
        subject.is_python.then_some("only Rust programs, built with it")
    }

    fn way(&self, place: &Place, subject: &Subject<'_>, files: &Path, _: &Path) -> Way {
        let mut way = Way::plain(subject);
        way.inside[0] = program(place, subject).into();
        way.environment.push((FILE, files.join("dhat-heap.json").into()));
        way
    }

    fn answer(&self, _: &Place, _: &Left<'_>) -> Result<Answer> {
        Ok(Answer::Page)
    }

    fn stacks(&self, _: &Place, left: &Left<'_>) -> Result<Vec<Stack>> {
        dhat(&std::fs::read(left.file("dhat-heap.json")?)?)
    }
}

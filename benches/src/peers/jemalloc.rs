//! jemalloc's profiler at its default interval, a sample for every 512 KiB; and jemalloc without it, since the program runs
//! under another allocator in both.

use super::commands;
use super::formats::folded;
use super::peer::{Answer, Left, Peer, Place, Sees, Subject, Way};
use super::truth::Stack;
use anyhow::{Context, Result, ensure};
use heapwise_allocators::find_installed;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

pub(super) struct Profiler;
pub(super) struct Plain;

fn library() -> Result<PathBuf> {
    find_installed(&["libjemalloc.so.2"]).context("apt-get install libjemalloc2")
}

/// The version that the library itself prints with its statistics.
fn version() -> Result<String> {
    let output = Command::new("true")
        .env("LD_PRELOAD", library()?)
        .env("MALLOC_CONF", "stats_print:true,prof:true,prof_active:false")
        .output()
        .context("cannot run true")?;
    let said = String::from_utf8_lossy(&output.stderr);
    // A library that was built without the profiler refuses its options.
    ensure!(!said.contains("Invalid conf"), "this jemalloc was built without its profiler");
    let line =
        said.lines().find_map(|line| line.strip_prefix("Version: ")).context("it prints no version")?;
    Ok(line.trim_matches('"').split('-').next().unwrap_or(line).to_owned())
}

fn way(subject: &Subject<'_>) -> Way {
    let mut way = Way::plain(subject);
    way.environment.push(("LD_PRELOAD", library().unwrap_or_default().into()));
    way
}

/// `jeprof` with a kind of output, of all that was ever allocated.
fn jeprof(output: &str, left: &Left<'_>) -> Result<Vec<OsString>> {
    let words = ["jeprof", "--alloc_objects", output].map(OsString::from);
    let files = [left.subject.executable().as_os_str().to_owned(), left.file("jeprof")?.into()];
    Ok(words.into_iter().chain(files).collect())
}

impl Peer for Profiler {
    fn name(&self) -> &'static str {
        "jemalloc's profiler"
    }

    fn version(&self, _: &Place) -> Result<String> {
        commands::version(Path::new("jeprof")).context("apt-get install libjemalloc-dev")?;
        version()
    }

    fn sees(&self) -> Sees {
        Sees::Sample
    }

    fn way(&self, _: &Place, subject: &Subject<'_>, files: &Path, _: &Path) -> Way {
        let mut way = way(subject);
        // Without `prof_accum` the last profile has only what is live then, which is nearly nothing.
        let mut options = OsString::from("prof:true,prof_final:true,prof_accum:true,prof_prefix:");
        options.push(files.join("jeprof"));
        way.environment.push(("MALLOC_CONF", options));
        way
    }

    fn answer(&self, _: &Place, left: &Left<'_>) -> Result<Answer> {
        Ok(Answer::Command(jeprof("--text", left)?))
    }

    fn stacks(&self, _: &Place, left: &Left<'_>) -> Result<Vec<Stack>> {
        let words = jeprof("--collapsed", left)?;
        Ok(folded(&commands::printed(Command::new(&words[0]).args(&words[1..]))?))
    }
}

impl Peer for Plain {
    fn name(&self) -> &'static str {
        "jemalloc, nothing recorded"
    }

    fn version(&self, _: &Place) -> Result<String> {
        version()
    }

    fn sees(&self) -> Sees {
        Sees::Nothing
    }

    fn way(&self, _: &Place, subject: &Subject<'_>, _: &Path, _: &Path) -> Way {
        way(subject)
    }

    fn answer(&self, _: &Place, _: &Left<'_>) -> Result<Answer> {
        Ok(Answer::None)
    }

    fn stacks(&self, _: &Place, _: &Left<'_>) -> Result<Vec<Stack>> {
        Ok(Vec::new())
    }
}

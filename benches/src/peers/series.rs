//! A program with each peer that can record it, in turns with the program alone; and a known program with each, once.

use super::Found;
use super::peer::{Answer, Left, Peer, Place, Subject, Way, not_here};
use super::truth::{self, Verdict};
use crate::launcher::Measured;
use crate::run::{Start, launch};
use crate::workloads::{Prepared, Workload};
use anyhow::{Context, Result, ensure};
use heapwise_trial::rounds::Rounds;
use serde::Serialize;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

pub(super) struct Runner<'a> {
    pub(super) place: &'a Place,
    pub(super) launcher: &'a Path,
    pub(super) scratch: &'a Path,
    pub(super) found: &'a [Found],
}

/// The runs of a program.
#[derive(Debug, Serialize)]
pub(super) struct Series {
    pub(super) program: &'static str,
    pub(super) size: u64,
    pub(super) alone: Vec<One>,
    /// By peer; why there are none, for some.
    pub(super) peers: Vec<(&'static str, Result<Vec<One>, String>)>,
}

/// One run.
#[derive(Clone, Debug, Serialize)]
pub(super) struct One {
    pub(super) whole: Measured,
    pub(super) program: Measured,
    /// All files of the tool.
    pub(super) bytes: u64,
    pub(super) shown: Shown,
}

/// How soon what was recorded can be read.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) enum Shown {
    /// As text, so many seconds after the program's end.
    After(f64),
    /// Only by a page in a browser.
    Page,
    Nothing,
}

impl Shown {
    pub(super) fn seconds(self) -> Option<f64> {
        match self {
            Self::After(seconds) => Some(seconds),
            Self::Page | Self::Nothing => None,
        }
    }
}

/// What the peers say of a known program.
#[derive(Debug, Serialize)]
pub(super) struct Known {
    pub(super) program: &'static str,
    pub(super) is_python: bool,
    pub(super) calls: u64,
    /// By peer; why there is none, for some.
    pub(super) peers: Vec<(&'static str, Result<Verdict, String>)>,
}

/// Decides on the orders of the tools.
const SEED: u64 = 5;

impl Runner<'_> {
    /// Runs a program with each peer in turn.
    pub(super) fn measure(
        &self,
        workload: &Workload,
        prepared: &Prepared,
        size: u64,
        rounds: usize,
    ) -> Result<Series> {
        let command = prepared.command(size);
        let subject = Subject { name: workload.name, command: &command, is_python: workload.is_python() };
        // The first run fills caches and makes the contest's data; it is not counted.
        let (warm, expected) = self.once(None, &subject, prepared)?;
        eprintln!("bench: {} {size}, {:.2} s alone", subject.name, warm.program.wall_seconds());
        let concerned = self.found.iter().filter(|found| found.peer.cannot(&subject).is_none());
        let mut peers: Vec<_> = concerned.map(|found| (found, self.able(found, &subject))).collect();
        let able: Vec<usize> = (0..peers.len()).filter(|at| peers[*at].1.is_ok()).collect();
        let mut alone = Vec::new();
        for turn in Rounds::new(able.len() + 1, rounds as u32, SEED).without_warm_up() {
            let Some(at) = turn.who.checked_sub(1).map(|who| able[who]) else {
                alone.push(self.as_before(None, &subject, prepared, &expected)?);
                continue;
            };
            let (found, runs) = &mut peers[at];
            let Ok(runs_so_far) = runs else { continue };
            match self.as_before(Some(found), &subject, prepared, &expected) {
                Ok(one) => runs_so_far.push(one),
                Err(error) => *runs = Err(failed(found, error)?),
            }
        }
        let peers = peers.into_iter().map(|(found, runs)| (found.peer.name(), runs)).collect();
        Ok(Series { program: workload.name, size, alone, peers })
    }

    /// One run, of which the program prints what it printed at first.
    fn as_before(
        &self,
        found: Option<&Found>,
        subject: &Subject<'_>,
        prepared: &Prepared,
        expected: &str,
    ) -> Result<One> {
        let name = found.map_or("alone", |found| found.peer.name());
        let (one, output) = self.once(found, subject, prepared)?;
        ensure!(output == expected, "{} with {name} printed {output:?}", subject.name);
        eprintln!("bench:   {name} {:.3} s", one.program.wall_seconds());
        Ok(one)
    }

    /// Has each peer say what a known program does.
    pub(super) fn judge(&self, workload: &Workload, prepared: &Prepared, size: u64) -> Result<Known> {
        let command = prepared.command(size);
        let subject = Subject { name: workload.name, command: &command, is_python: workload.is_python() };
        let mut peers = Vec::new();
        for found in self.found {
            let verdict = match self.able(found, &subject) {
                Ok(_) => match self.verdict(found, &subject, prepared) {
                    Ok(verdict) => Ok(verdict),
                    Err(error) => Err(failed(found, error)?),
                },
                Err(why) => Err(why),
            };
            peers.push((found.peer.name(), verdict));
        }
        Ok(Known { program: workload.name, is_python: subject.is_python, calls: size, peers })
    }

    fn verdict(&self, found: &Found, subject: &Subject<'_>, prepared: &Prepared) -> Result<Verdict> {
        eprintln!("bench: {} with {}", subject.name, found.peer.name());
        self.once(Some(found), subject, prepared)?;
        let files = self.files();
        let stacks = found.peer.stacks(self.place, &Left { files: &files, subject: *subject });
        let stacks = stacks.with_context(|| format!("what {} has recorded", found.peer.name()))?;
        Ok(truth::judge(&stacks, !subject.is_python))
    }

    /// No runs so far, or why there will be none.
    fn able(&self, found: &Found, subject: &Subject<'_>) -> Result<Vec<One>, String> {
        match (&found.version, found.peer.cannot(subject)) {
            (Err(why), _) => Err(not_here(why)),
            (_, Some(why)) => Err(why.to_owned()),
            _ => Ok(Vec::new()),
        }
    }

    fn files(&self) -> PathBuf {
        self.scratch.join("files")
    }

    /// One run and what the program printed.
    fn once(
        &self,
        found: Option<&Found>,
        subject: &Subject<'_>,
        prepared: &Prepared,
    ) -> Result<(One, String)> {
        let files = self.files();
        let report = self.scratch.join("report.txt");
        let way = match found {
            Some(found) => found.peer.way(self.place, subject, &files, &report),
            None => Way::plain(subject),
        };
        let name = found.map_or("alone", |found| found.peer.name());
        let own = prepared.environment.iter().map(|(name, value)| (*name, OsString::from(value)));
        let start = Start {
            launcher: self.launcher,
            scratch: self.scratch,
            folders: &[&files],
            environment: own.chain(way.environment).collect(),
            inside: way.inside,
        };
        let outside = way.outside;
        let done = launch(start, |inner| outside.into_iter().chain(inner).collect())
            .with_context(|| format!("{} with {name}", subject.name))?;
        let bytes = size_of(&files)?;
        let left = Left { files: &files, subject: *subject };
        let after = done.whole.end_ns.saturating_sub(done.program.end_ns) as f64 / 1e9;
        let shown = match found.map(|found| found.peer.answer(self.place, &left)).transpose()? {
            Some(Answer::Printed) => {
                ensure!(report.metadata().is_ok_and(|file| file.len() > 0), "{name} has printed no report");
                Shown::After(after)
            }
            Some(Answer::Command(words)) => Shown::After(after + self.timed(&words, name)?),
            Some(Answer::Page) => Shown::Page,
            Some(Answer::None) | None => Shown::Nothing,
        };
        Ok((One { whole: done.whole, program: done.program, bytes, shown }, done.output))
    }

    /// How long a command takes that prints a report.
    fn timed(&self, words: &[OsString], name: &str) -> Result<f64> {
        let path = |name: &str| self.scratch.join(name);
        let messages = std::fs::File::create(path("answer-messages"))?;
        let status = Command::new(self.launcher)
            .args([path("answer"), path("answer-text")])
            .args(words)
            .stdin(Stdio::null())
            .stderr(messages)
            .status()
            .context("cannot run the launcher")?;
        let said = || std::fs::read_to_string(path("answer-messages")).unwrap_or_default();
        ensure!(status.success(), "the report of {name} ended with {status}: {}", said());
        let printed = path("answer-text").metadata().is_ok_and(|file| file.len() > 0);
        ensure!(printed, "the report of {name} is empty: {}", said());
        Ok(Measured::read(&path("answer"))?.wall_seconds())
    }
}

/// What stands in the place of figures of a tool that is here and fails. That heapwise fails is an error: it is what is measured.
fn failed(found: &Found, error: anyhow::Error) -> Result<String> {
    if found.peer.name() == super::heapwise::Heapwise.name() {
        return Err(error);
    }
    eprintln!("bench: {} fails: {error:#}", found.peer.name());
    let whole = format!("{error:#}").replace('|', "/");
    let mut line: String = whole.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some((end, _)) = line.char_indices().nth(LONGEST_REASON) {
        line.truncate(end);
        line.push('…');
    }
    Ok(format!("fails: {line}"))
}

/// Letters of a reason that fit into a cell.
const LONGEST_REASON: usize = 120;

/// The sizes of all files in a folder.
fn size_of(folder: &Path) -> Result<u64> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(folder)? {
        bytes += entry?.metadata()?.len();
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_that_fails_is_a_row_and_heapwise_that_fails_is_an_error() {
        let found = |peer| Found { peer, version: Ok("1".to_owned()) };
        let error = || anyhow::anyhow!("line 1\nof | {}", "x".repeat(200)).context("contest with it");
        let reason = failed(&found(&super::super::heaptrack::Heaptrack), error()).unwrap();
        assert!(
            reason.starts_with("fails: contest with it: line 1 of / xx") && reason.ends_with("x…"),
            "{reason}"
        );
        assert!(failed(&found(&super::super::heapwise::Heapwise), error()).is_err());
    }
}

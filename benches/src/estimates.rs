//! `bench estimates`: what heapwise says that a change saves, beside what it saves.
//!
//! The changes are the steps of the contest program, and the habits of `heapwise lab`: programs before and after, which come to the
//! same result. Predicted is the sum of what the findings about the program before save, without that of those about the program
//! after. Measured is the processor time of runs in turns.

use crate::launcher::{Measured, build};
use anyhow::{Context, Result, ensure};
use heapwise_trial::lab::worker::Answer;
use heapwise_trial::rounds::Rounds;
use heapwise_trial::statistics::Spread;
use std::fmt::Write;
use std::path::Path;
use std::process::{Command, Stdio};

#[derive(Debug)]
pub(crate) struct Plan<'a> {
    pub(crate) rounds: usize,
    pub(crate) quick: bool,
    pub(crate) target: &'a Path,
    pub(crate) folder: &'a Path,
}

/// A program before a change and after it.
struct Pair {
    what: &'static str,
    before: Run,
    after: Run,
    /// Why what is predicted is something else than what is saved, where it is known.
    known: &'static str,
}

/// How a program is run.
enum Run {
    /// The contest program in a version. Its time is that of the process.
    Contest(&'static str),
    /// The worker of experiments with so many texts, before (0) or after (1). Its time is that of the work.
    Habit(&'static str, u64, u64),
}

const fn step(what: &'static str, versions: [&'static str; 2], known: &'static str) -> Pair {
    Pair { what, before: Run::Contest(versions[0]), after: Run::Contest(versions[1]), known }
}

const fn habit(name: &'static str, texts: u64) -> Pair {
    Pair { what: name, before: Run::Habit(name, texts, 0), after: Run::Habit(name, texts, 1), known: "" }
}

const PAIRS: [Pair; 11] = [
    step("contest: clone less", ["v01", "v02"], ""),
    step(
        "contest: borrow fields",
        ["v02", "v03"],
        "what was just copied is read from the cache; what is borrowed is read from the file's text, later, from memory",
    ),
    step("contest: borrow lists", ["v03", "v04"], "made once, in a manifest"),
    step("contest: reserve and reuse", ["v04", "v05"], ""),
    step("contest: raw contents", ["v05", "v06"], ""),
    step("contest: one buffer for files", ["v06", "v07"], "glibc keeps such blocks, so nothing is predicted"),
    step(
        "contest: another hash function",
        ["v07", "v08"],
        "no time is predicted: what a hash function takes is in no call of the allocator",
    ),
    habit("clone", 50_000),
    habit("capacity", 500_000),
    habit("reuse", 50_000),
    habit("borrow", 50_000),
];

/// A smaller saving, as a part of the time before, is lost in the noise.
const LEAST_PART: f64 = 0.01;
/// What an estimate is to be right by.
const FACTOR: f64 = 1.5;

/// Measures, and returns a table.
pub(crate) fn measure(plan: &Plan<'_>) -> Result<String> {
    let launcher = build(plan.folder)?;
    let mut text = String::from(
        "| change | before, ms of CPU | saved, ms | predicted, ms | predicted / saved | |\n|---|---:|---:|---:|---:|---|\n",
    );
    let (mut right, mut judged) = (0, 0);
    for pair in &PAIRS {
        let runs = [&pair.before, &pair.after];
        let mut times = [Vec::new(), Vec::new()];
        for turn in Rounds::new(2, plan.rounds as u32, 1) {
            let ms = runs[turn.who].milliseconds(plan, &launcher)?;
            if turn.counts() {
                times[turn.who].push(ms);
            }
        }
        let [before, after] = &times;
        let saved = Spread::of(before.iter().zip(after).map(|(before, after)| before - after));
        let (Some(before), Some(saved)) = (Spread::of(before.iter().copied()), saved) else { continue };
        let predicted = runs[0].predicted(plan)? - runs[1].predicted(plan)?;
        let is_seen = saved.median.max(predicted) >= LEAST_PART * before.median && predicted > 0.0;
        let ratio = predicted / saved.median;
        let is_right = saved.median > 0.0 && (FACTOR.recip()..=FACTOR).contains(&ratio);
        judged += usize::from(is_seen);
        right += usize::from(is_seen && is_right);
        let shown = if is_seen && saved.median > 0.0 { format!("{ratio:.2}") } else { "–".to_owned() };
        let known = if is_seen && is_right { "" } else { pair.known };
        eprintln!("bench: {}: saved {saved:.1} ms, predicted {predicted:.1}", pair.what);
        writeln!(
            text,
            "| {} | {:.0} | {saved:.1} | {predicted:.1} | {shown} | {known} |",
            pair.what, before.median
        )?;
    }
    writeln!(text, "\n{right} of {judged} estimates are within a factor of {FACTOR}.")?;
    Ok(text)
}

impl Run {
    fn command(&self, plan: &Plan<'_>) -> Vec<String> {
        let program = |name: &str| plan.target.join("release").join(name).display().to_string();
        match self {
            Self::Contest(version) => {
                let mut words = vec![program("poetry-contest"), (*version).to_owned()];
                if plan.quick {
                    words.extend(["--rounds", "6", "--entries", "6000"].map(str::to_owned));
                }
                words
            }
            Self::Habit(name, texts, way) => {
                let texts = if plan.quick { texts / 10 } else { *texts };
                vec![program("heapwise-lab-worker"), (*name).to_owned(), texts.to_string(), way.to_string()]
            }
        }
    }

    /// Its processor time.
    fn milliseconds(&self, plan: &Plan<'_>, launcher: &Path) -> Result<f64> {
        let words = self.command(plan);
        match self {
            Self::Contest(_) => {
                let measured = plan.folder.join("estimates.measured");
                let status = Command::new(launcher).arg(&measured).arg("/dev/null").args(&words).status();
                ensure!(status.context("cannot run the launcher")?.success(), "{} failed", words.join(" "));
                Ok(Measured::read(&measured)?.cpu_us as f64 / 1e3)
            }
            Self::Habit(..) => {
                let output =
                    Command::new(&words[0]).args(&words[1..]).output().context("cannot run the worker")?;
                let answer = Answer::of_line(&String::from_utf8_lossy(&output.stdout));
                let answer = answer.map_err(|reason| anyhow::anyhow!("{}: {reason}", words.join(" ")))?;
                let cpu = |name: &str| answer.moment(name).and_then(|moment| moment.cpu_ns);
                let (from, to) = cpu("baseline").zip(cpu("full")).context("the worker measured no time")?;
                Ok(to.saturating_sub(from) as f64 / 1e6)
            }
        }
    }

    /// What heapwise says that following all its findings saves: of a worker those about the work, and not about its texts.
    fn predicted(&self, plan: &Plan<'_>) -> Result<f64> {
        let recording = plan.folder.join("estimates.hw");
        let heapwise = plan.target.join("release/heapwise");
        let status = Command::new(&heapwise)
            .args(["run", "-q", "--force", "--no-report", "-o"])
            .arg(&recording)
            .arg("--")
            .args(self.command(plan))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        ensure!(
            status.context("cannot run heapwise")?.success(),
            "{} cannot be recorded",
            self.command(plan).join(" ")
        );
        let output = Command::new(&heapwise).arg("report").arg(&recording).args(["-f", "json"]).output()?;
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).context("a report is JSON")?;
        let findings = report["findings"].as_array().context("a report has findings")?;
        let is_of_work = |title: &str| match self {
            Self::Contest(_) => true,
            Self::Habit(..) => !title.starts_with("texts "),
        };
        let of_work = findings.iter().filter(|finding| finding["title"].as_str().is_some_and(is_of_work));
        Ok(of_work.filter_map(|finding| finding["estimate"]["time_ns"].as_f64()).sum::<f64>() / 1e6)
    }
}

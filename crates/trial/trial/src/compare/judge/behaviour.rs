//! Whether a program still does the same.
//!
//! The reference is the first run of the baseline. If the baseline does not repeat even its own output (a time of day, an
//! address), outputs cannot be compared, and that is reported once, instead of a finding for each candidate.

use crate::compare::{Candidate, Finding, FindingKind, LoadSample, Outcome, Output, Sample};
use std::fmt::Write;

/// What the program does in the baseline.
#[derive(Debug)]
pub(crate) struct Reference<'a> {
    first: &'a Sample,
    all: &'a [Sample],
    pub(crate) output_varies: bool,
    pub(crate) exit_varies: bool,
}

impl<'a> Reference<'a> {
    /// From all runs of the baseline; `None` if there is none.
    pub(crate) fn of(samples: &'a [Sample]) -> Option<Self> {
        let (first, rest) = samples.split_first()?;
        // A run that ended differently has another output for that reason.
        let alike = || rest.iter().filter(|sample| sample.outcome == first.outcome);
        let output_varies = alike().any(|sample| sample.stdout.hash != first.stdout.hash);
        let exit_varies = rest.iter().any(|sample| sample.outcome != first.outcome);
        Some(Self { first, all: samples, output_varies, exit_varies })
    }

    /// Whether the program ends like this in the baseline, too.
    fn ends_like(&self, outcome: &Outcome) -> bool {
        self.all.iter().any(|sample| sample.outcome == *outcome)
    }

    /// Whether a run's output is that of the baseline; always true if the baseline's output varies.
    fn has_same_output(&self, sample: &Sample) -> bool {
        self.output_varies || sample.stdout.hash == self.first.stdout.hash
    }

    /// Whether the measurements of a run are used: of a round that counts, with the allocator in use, and of the same work with
    /// the same load as the first run.
    pub(crate) fn counts(&self, sample: &Sample) -> bool {
        let load = |sample: &Sample| sample.load.as_ref().map(|load| load.outcome.clone());
        sample.round > 0
            && sample.in_use != Some(false)
            && sample.outcome.is_whole()
            && sample.outcome == self.first.outcome
            && load(sample) == load(self.first)
            && self.has_same_output(sample)
    }
}

/// What a candidate did otherwise, in any of its runs.
pub(crate) fn findings(reference: &Reference<'_>, candidate: &Candidate, samples: &[Sample]) -> Vec<Finding> {
    let mut found: Vec<Finding> = Vec::new();
    for sample in samples {
        for (kind, what) in of_run(reference, candidate, sample) {
            match found.iter_mut().find(|finding| finding.kind == kind) {
                Some(finding) => finding.runs += 1,
                None => found.push(Finding { kind, what, runs: 1, of: samples.len() as u32 }),
            }
        }
    }
    found
}

fn of_run(reference: &Reference<'_>, candidate: &Candidate, sample: &Sample) -> Vec<(FindingKind, String)> {
    let mut found = Vec::new();
    let expected = reference.first;
    if sample.in_use == Some(false) {
        let what = "its library was not in the process, so its numbers are those of another allocator (does the program \
                    clear its environment, or start another one?)";
        found.push((FindingKind::NotInUse, what.to_owned()));
    }
    let failed = match (&sample.outcome, &expected.outcome) {
        // What also happens in the baseline is not the candidate's fault, even if it is rare.
        (own, _) if reference.ends_like(own) => None,
        (Outcome::TimedOut, _) => Some((FindingKind::TimedOut, sample.outcome.words())),
        (Outcome::NotReady, _) => Some((FindingKind::NotReady, sample.outcome.words())),
        (Outcome::Killed(_) | Outcome::Died { .. }, _) => {
            let what = format!("{}{}", sample.outcome.words(), last_words(&sample.stderr));
            Some((FindingKind::Crashed, what))
        }
        _ if reference.exit_varies => None,
        (own, other) => {
            let what = format!("{} instead of {}{}", own.words(), other.words(), last_words(&sample.stderr));
            Some((FindingKind::OtherExit, what))
        }
    };
    let has_failed = failed.is_some();
    found.extend(failed);
    if let (Some(load), Some(first)) = (&sample.load, &expected.load)
        && !reference.all.iter().filter_map(|s| s.load.as_ref()).any(|known| known.outcome == load.outcome)
        && !has_failed
    {
        let what =
            format!("the load ended with {} instead of {}", load.outcome.words(), first.outcome.words());
        found.push((FindingKind::LoadFailed, what));
    }
    // A run that ended differently has another output for that reason, so that is no further finding.
    if sample.outcome == expected.outcome && !reference.has_same_output(sample) {
        found.push((FindingKind::OtherOutput, differs(&expected.stdout, &sample.stdout, &candidate.label)));
    }
    found
}

/// The last line that a program that failed wrote to standard error, because it often has the reason.
fn last_words(stderr: &Output) -> String {
    // What was written after the part that is kept is not known.
    if stderr.bytes > stderr.start.len() as u64 {
        return String::new();
    }
    let text = String::from_utf8_lossy(&stderr.start);
    let last = text.lines().rev().find(|line| !line.trim().is_empty());
    last.map_or_else(String::new, |line| format!(", saying “{}”", shortened(line.trim())))
}

/// Where two outputs part.
fn differs(expected: &Output, own: &Output, label: &str) -> String {
    let mut what = "another standard output".to_owned();
    let (a, b) = (&expected.start, &own.start);
    match a.iter().zip(b).position(|(a, b)| a != b) {
        None if a.len() == b.len() => {
            let _ = write!(what, ", beyond its first {} KiB", Output::KEPT >> 10);
        }
        at => {
            let at = at.unwrap_or(a.len().min(b.len()));
            let line = a[..at].iter().filter(|byte| **byte == b'\n').count() + 1;
            let _ = write!(
                what,
                " from line {line} on: {} in the baseline, {} with {label}",
                line_at(a, at),
                line_at(b, at)
            );
        }
    }
    if expected.bytes != own.bytes {
        let _ = write!(what, " ({} instead of {} bytes)", own.bytes, expected.bytes);
    }
    what
}

/// The line around a byte.
fn line_at(bytes: &[u8], at: usize) -> String {
    if at >= bytes.len() {
        return "the end".to_owned();
    }
    let start = bytes[..at].iter().rposition(|byte| *byte == b'\n').map_or(0, |newline| newline + 1);
    let end = bytes[at..].iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |newline| at + newline);
    format!("“{}”", shortened(&String::from_utf8_lossy(&bytes[start..end])))
}

/// What of a line fits into a sentence.
fn shortened(line: &str) -> String {
    const MOST: usize = 60;
    if line.chars().count() <= MOST {
        return line.to_owned();
    }
    format!("{}…", line.chars().take(MOST).collect::<String>())
}

/// What went wrong with the command that drives a server, in the baseline.
pub(crate) fn load_failure(load: &LoadSample) -> Option<String> {
    (load.outcome != Outcome::Exited(0))
        .then(|| format!("was driven by a load that ended with {}", load.outcome.words()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::testing::sample;

    fn with(outcome: Outcome, stdout: &str) -> Sample {
        let mut sample = sample(1, 1.0, outcome);
        sample.stdout = written(stdout);
        sample
    }

    fn written(text: &str) -> Output {
        let mut hash = [0; 32];
        text.bytes().enumerate().for_each(|(at, byte)| hash[at % 32] ^= byte.rotate_left(at as u32 % 7));
        Output { bytes: text.len() as u64, hash, start: text.into() }
    }

    fn kinds(baseline: &[Sample], own: &Sample) -> Vec<FindingKind> {
        let reference = Reference::of(baseline).unwrap();
        let all = findings(&reference, &Candidate::default(), std::slice::from_ref(own));
        all.iter().map(|finding| finding.kind).collect()
    }

    #[test]
    fn only_what_the_baseline_does_not_do_is_a_finding() {
        let fine = || with(Outcome::Exited(0), "a\nb\n");
        let cases = [
            (with(Outcome::Exited(0), "a\nb\n"), vec![]),
            (with(Outcome::Exited(0), "a\nc\n"), vec![FindingKind::OtherOutput]),
            (with(Outcome::Exited(1), "a\n"), vec![FindingKind::OtherExit]),
            (with(Outcome::Killed(11), ""), vec![FindingKind::Crashed]),
            (with(Outcome::TimedOut, ""), vec![FindingKind::TimedOut]),
        ];
        for (own, expected) in cases {
            assert_eq!(kinds(&[fine(), fine()], &own), expected, "{:?}", own.outcome);
        }
        let elsewhere = Sample { in_use: Some(false), ..fine() };
        assert_eq!(kinds(&[fine()], &elsewhere), [FindingKind::NotInUse]);
        // A baseline whose output or exit varies is no reference for others.
        let other = with(Outcome::Exited(0), "x");
        assert_eq!(kinds(&[fine(), other], &with(Outcome::Exited(0), "y")), []);
        assert_eq!(
            kinds(&[fine(), with(Outcome::Exited(2), "a\nb\n")], &with(Outcome::Exited(3), "a\nb\n")),
            []
        );
        assert_eq!(kinds(&[with(Outcome::Killed(6), "")], &with(Outcome::Killed(6), "")), []);
    }

    #[test]
    fn a_candidate_is_not_blamed_for_a_flaky_program() {
        let fine = || with(Outcome::Exited(0), "a\nb\n");
        let baseline = [fine(), with(Outcome::Killed(11), "a\n"), with(Outcome::TimedOut, ""), fine()];
        for rare in [with(Outcome::Killed(11), "a"), with(Outcome::TimedOut, ""), fine()] {
            assert_eq!(kinds(&baseline, &rare), [], "{:?}", rare.outcome);
        }
        // Another signal is new, and so is another output of a run that came to its end: crashes of the baseline do not make its
        // output one that varies.
        assert_eq!(kinds(&baseline, &with(Outcome::Killed(6), "")), [FindingKind::Crashed]);
        assert_eq!(kinds(&baseline, &with(Outcome::Exited(0), "a\n")), [FindingKind::OtherOutput]);
        let reference = Reference::of(&baseline).unwrap();
        assert!(reference.counts(&fine()) && !reference.counts(&with(Outcome::Killed(11), "a\nb\n")));
    }

    #[test]
    fn a_run_counts_if_it_did_the_same_work_under_the_same_load() {
        let loaded = |outcome| {
            let load = LoadSample { outcome, wall_ns: 1, stdout: Output::default() };
            Sample { load: Some(load), ..with(Outcome::Exited(0), "a\n") }
        };
        let baseline = [loaded(Outcome::Exited(0)), loaded(Outcome::Exited(0))];
        let reference = Reference::of(&baseline).unwrap();
        assert!(reference.counts(&loaded(Outcome::Exited(0))));
        assert!(!reference.counts(&loaded(Outcome::Exited(1))), "the load failed");
        assert!(!reference.counts(&loaded(Outcome::TimedOut)), "the load did not end");
        let other = Sample { stdout: written("b\n"), ..loaded(Outcome::Exited(0)) };
        assert!(!reference.counts(&other), "another output");
        // Unless the program never writes the same.
        let varies = [loaded(Outcome::Exited(0)), other.clone()];
        let third = Sample { stdout: written("c\n"), ..other };
        assert!(Reference::of(&varies).unwrap().counts(&third));
    }

    #[test]
    fn the_first_line_that_differs_is_named() {
        let message = |a: &str, b: &str| differs(&written(a), &written(b), "x");
        assert_eq!(
            message("one\ntwo\nthree\n", "one\ntwx\nthree\n"),
            "another standard output from line 2 on: “two” in the baseline, “twx” with x"
        );
        assert_eq!(
            message("one\n", "one\nmore\n"),
            "another standard output from line 2 on: the end in the baseline, “more” with x (9 instead of 4 bytes)"
        );
        let long = "y".repeat(500);
        assert!(message("x", &long).chars().count() < 200);
        let far = |end: &str| Output { bytes: 1 << 20, ..written(&format!("{}{end}", "z\n".repeat(10))) };
        let (a, mut b) = (far(""), far(""));
        b.hash[0] ^= 1;
        assert_eq!(differs(&a, &b, "x"), "another standard output, beyond its first 256 KiB");
    }
}

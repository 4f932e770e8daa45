//! Whole comparisons of small scripts, in which something goes wrong on the way.

#![cfg(target_os = "linux")]

use heapwise_trial::compare::{Candidate, Comparison, Error, FindingKind, Options, Program, run};
use std::ffi::OsString;
use std::path::Path;

fn candidate(label: &str, environment: &[(&str, String)]) -> Candidate {
    let environment = environment.iter().map(|(name, value)| (OsString::from(name), Some(value.into())));
    Candidate { label: label.into(), environment: environment.collect(), ..Candidate::default() }
}

fn script(folder: &Path, text: &str) -> Program {
    let path = folder.join("script");
    std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&path, mode).unwrap();
    Program { command: vec![path.into()], ..Program::default() }
}

fn compare(program: &Program, others: &[Candidate], runs: u32) -> Result<Comparison, Error> {
    let candidates: Vec<Candidate> =
        std::iter::once(candidate("default", &[])).chain(others.iter().cloned()).collect();
    let mut last = (0, 0);
    let options = Options { runs: Some(runs), ..Options::default() };
    let found = run(program, &candidates, &options, &mut |step| last = (step.done, step.total))?;
    assert!(found.is_interrupted || last.0 + 1 == last.1, "{} of {} runs were made", last.0 + 1, last.1);
    Ok(found)
}

#[test]
fn a_run_that_cannot_be_made_is_a_finding_and_the_others_are_compared() {
    let folder = tempfile::tempdir().unwrap();
    // The kernel takes no variable that is so long.
    let impossible = candidate("impossible", &[("LONG", "x".repeat(1 << 20))]);
    let fine = candidate("fine", &[("SHORT", "x".into())]);
    let found = compare(&script(folder.path(), "exit 0"), &[impossible, fine], 4).unwrap();
    let [_, impossible, fine] = &found.standings[..] else { panic!("three took part") };
    let [finding] = &impossible.findings[..] else { panic!("{:?}", impossible.findings) };
    assert_eq!((finding.kind, finding.runs, finding.of), (FindingKind::NotRun, 2, 2));
    assert!(finding.what.contains("cannot be executed"), "{}", finding.what);
    assert!(impossible.left_out.is_some() && impossible.samples.is_empty());
    assert_eq!((fine.counted.len(), fine.findings.len(), found.is_interrupted), (4, 0, false));
}

#[test]
fn a_program_that_cannot_be_run_any_more_ends_the_comparison_with_what_there_is() {
    let folder = tempfile::tempdir().unwrap();
    let count = folder.path().join("count").display().to_string();
    // It takes itself away in its fourth run, the first of the second round.
    let gone = format!(
        "[ -n \"$OTHER\" ] || echo x >> {count}; [ \"$(wc -l < {count})\" -lt 4 ] || rm -f \"$0\"; exit 0"
    );
    let other = candidate("other", &[("OTHER", "1".into())]);
    let found = compare(&script(folder.path(), &gone), &[other], 4).unwrap();
    assert_eq!((found.setup.rounds, found.is_interrupted), (1, true));
    assert!(found.notes.iter().any(|note| note.contains("command not found")), "{:?}", found.notes);
    assert_eq!(found.standings[1].samples.iter().filter(|s| s.round == 1).count(), 1);
}

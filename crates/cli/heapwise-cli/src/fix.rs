//! `heapwise doctor --fix`: shows what would be changed in configuration files, asks, and changes it.
//!
//! The difference is data and goes to standard output, whatever is decided; questions and the outcome for each file go to
//! standard error. Without a terminal no question is possible, so nothing is changed without `--yes`.

use crate::Failure;
use anyhow::Context;
use heapwise_doctor::{Edit, Survey};
use heapwise_report::escape::terminal::{self, escape};
use std::io::{self, BufRead, IsTerminal, Write};
use std::path::PathBuf;

/// What became of the files that could be changed.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// Those that were changed, each with the copy of what it was.
    pub(crate) changed: Vec<(PathBuf, PathBuf)>,
    /// Those that were left unchanged: the user declined, or there was no terminal for the question.
    pub(crate) left: Vec<PathBuf>,
    /// Those that could not be changed.
    pub(crate) failed: Vec<PathBuf>,
}

/// Goes through the files that can be set right.
pub(crate) fn fix(survey: &Survey, yes: bool) -> Result<Outcome, Failure> {
    let edits = survey.edits();
    let is_terminal = io::stdin().is_terminal() && io::stderr().is_terminal();
    let standing = match (yes, is_terminal) {
        (true, _) => Some(Choice::All),
        (false, false) => Some(Choice::NoTerminal),
        (false, true) => None,
    };
    let mut out = anstream::stdout().lock();
    let outcome = go_through(&edits, standing, &mut out, &mut terminal::ErrorLines, &mut from_terminal)?;
    Ok(outcome)
}

/// What the user decides for a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Choice {
    Yes,
    No,
    All,
    Quit,
    /// There is no terminal for the question.
    NoTerminal,
}

/// Reads an answer. Anything but a clear yes is a no, and so is the end of the input.
fn from_terminal() -> io::Result<Choice> {
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    Ok(choice(&line))
}

fn choice(line: &str) -> Choice {
    match line.trim().to_ascii_lowercase().as_str() {
        "y" | "yes" => Choice::Yes,
        "a" | "all" => Choice::All,
        "q" | "quit" => Choice::Quit,
        _ => Choice::No,
    }
}

fn go_through(
    edits: &[Edit],
    mut standing: Option<Choice>,
    out: &mut impl Write,
    say: &mut impl Write,
    ask: &mut impl FnMut() -> io::Result<Choice>,
) -> anyhow::Result<Outcome> {
    let mut outcome = Outcome::default();
    for edit in edits {
        let name = escape(&edit.file.display().to_string()).into_owned();
        out.write_all(harmless(&edit.diff(&name)).as_bytes()).context("cannot show the change")?;
        out.flush().context("cannot show the change")?;
        let choice = match standing {
            Some(choice) => choice,
            None => {
                write!(say, "change {name}? [y]es, [n]o, [a]ll, [q]uit: ")?;
                say.flush()?;
                ask().context("cannot read the answer")?
            }
        };
        match choice {
            Choice::All | Choice::Quit | Choice::NoTerminal => standing = Some(choice),
            Choice::Yes | Choice::No => {}
        }
        if !matches!(choice, Choice::Yes | Choice::All) {
            outcome.left.push(edit.file.clone());
            continue;
        }
        match edit.apply() {
            Ok(backup) => {
                writeln!(
                    say,
                    "heapwise: changed {name}; the original: {}",
                    escape(&backup.display().to_string())
                )?;
                outcome.changed.push((edit.file.clone(), backup));
            }
            // The other files are not affected.
            Err(error) => {
                let why = error.to_string();
                writeln!(say, "heapwise: error: {name} is left as it is: {}", escape(&why))?;
                outcome.failed.push(edit.file.clone());
            }
        }
    }
    if standing == Some(Choice::NoTerminal) && !edits.is_empty() {
        writeln!(say, "heapwise: nothing is changed: no terminal to ask on; --yes makes these changes")?;
    }
    Ok(outcome)
}

/// A difference for a terminal: what is in the files must not control it.
fn harmless(diff: &str) -> String {
    let mut text = String::with_capacity(diff.len());
    for line in diff.split_inclusive('\n') {
        // The end of a line on Windows is no news, and tabs are harmless.
        let body = line.trim_end_matches(['\r', '\n']);
        for (n, part) in body.split('\t').enumerate() {
            if n > 0 {
                text.push('\t');
            }
            text.push_str(&escape(part));
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use heapwise_doctor::{Places, survey};
    use std::fs;

    /// A folder with two files that can be set right.
    fn folder() -> (tempfile::TempDir, Survey) {
        let folder = tempfile::tempdir().expect("there is room");
        for name in ["a", "b"] {
            let file = folder.path().join(name).join(".vscode/launch.json");
            fs::create_dir_all(file.parent().expect("has one")).expect("can be made");
            let text = "{\r\n\t\"configurations\": [{\"type\": \"lldb\", \"name\": \"\u{9b}2J\"}]\r\n}\r\n";
            fs::write(file, text).expect("can be written");
        }
        let survey = survey(&Places { home: None, ..Places::of_this_user(folder.path()) });
        assert_eq!(survey.edits().len(), 2);
        (folder, survey)
    }

    fn go(survey: &Survey, standing: Option<Choice>, answers: &[Choice]) -> (Outcome, String, String) {
        let mut answers = answers.iter();
        let mut ask = || Ok(*answers.next().expect("is not asked again"));
        let (mut out, mut say) = (Vec::new(), Vec::new());
        let outcome =
            go_through(&survey.edits(), standing, &mut out, &mut say, &mut ask).expect("can be shown");
        let text = |bytes| String::from_utf8(bytes).expect("is UTF-8");
        (outcome, text(out), text(say))
    }

    #[test]
    fn without_a_terminal_everything_is_shown_and_nothing_is_changed() {
        let (folder, old) = folder();
        let (outcome, out, say) = go(&old, Some(Choice::NoTerminal), &[]);
        assert_eq!((outcome.changed.len(), outcome.left.len()), (0, 2));
        assert_eq!(out.matches("+\t\"configurations\"").count(), 2, "{out}");
        assert!(say.contains("--yes"), "{say}");
        assert!(!out.contains(['\u{9b}', '\r']), "what is in a file does not control the terminal");
        assert_eq!(survey(&Places { home: None, ..Places::of_this_user(folder.path()) }), old);
    }

    #[test]
    fn each_file_is_asked_about_and_all_is_for_the_rest() {
        let (_folder, survey) = folder();
        let (outcome, ..) = go(&survey, None, &[Choice::No, Choice::Yes]);
        assert_eq!((outcome.changed.len(), outcome.left.len()), (1, 1));
        let (_folder, survey) = self::folder();
        let (outcome, _, say) = go(&survey, None, &[Choice::All]);
        assert_eq!((outcome.changed.len(), outcome.left.len()), (2, 0));
        for (file, backup) in &outcome.changed {
            assert!(fs::read_to_string(file).expect("is there").contains("_NO_DEBUG_HEAP"));
            assert!(backup.exists() && say.contains(&backup.display().to_string()));
        }
        let (_folder, survey) = self::folder();
        let (outcome, out, _) = go(&survey, None, &[Choice::Quit]);
        assert_eq!((outcome.changed.len(), outcome.left.len()), (0, 2));
        assert_eq!(
            out.lines().filter(|line| line.starts_with("--- ")).count(),
            2,
            "the rest is shown all the same"
        );
    }

    #[test]
    fn a_file_that_changed_meanwhile_does_not_keep_others_from_it() {
        let (folder, survey) = folder();
        fs::write(folder.path().join("a/.vscode/launch.json"), "{}").expect("can be written");
        let (outcome, _, say) = go(&survey, Some(Choice::All), &[]);
        assert!(!say.contains('?'), "who has said yes beforehand is not asked: {say}");
        assert_eq!((outcome.changed.len(), outcome.failed.len()), (1, 1));
        assert!(say.contains("look again"), "{say}");
    }

    #[test]
    fn only_a_clear_yes_is_one() {
        assert_eq!(choice(" Yes\n"), Choice::Yes);
        assert_eq!(choice("a\n"), Choice::All);
        assert_eq!(choice("Q\n"), Choice::Quit);
        for no in ["", "\n", "no\n", "yeah\n"] {
            assert_eq!(choice(no), Choice::No, "{no:?}");
        }
    }
}

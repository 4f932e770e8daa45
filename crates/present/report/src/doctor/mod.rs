//! The results of `heapwise doctor`, for a terminal, for machines and for a comment on a pull request.

mod document;
mod json;

use crate::Style;
use crate::document::{markdown, terminal};
use heapwise_environment::{CHECKS, Finding, Severity};

/// What was examined, and what was found.
#[derive(Clone, Debug, Default)]
pub struct Checkup {
    /// What was examined.
    pub subject: Examined,
    /// What was seen, in words, with names.
    pub seen: Vec<(&'static str, String)>,
    /// What was found, the worst first.
    pub findings: Vec<Finding>,
    /// How editors and debuggers will start programs, where there is configuration for it.
    pub launches: Vec<Launch>,
    /// What could not be examined, and why; a line each.
    pub unread: Vec<String>,
}

/// What a checkup is about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Examined {
    /// This machine, and this folder.
    #[default]
    Machine,
    /// A command that was not started.
    Command(Vec<String>),
    Process {
        /// Its id.
        pid: u32,
        /// Its program's name.
        name: String,
    },
}

/// A way in which an editor or a debugger starts a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    /// The editor or debugger.
    pub tool: String,
    /// The name of the configuration.
    pub name: String,
    /// `FILE:LINE`.
    pub place: String,
    /// Whether the program will have a debug heap on Windows; none if it is not known.
    pub debug_heap: Option<bool>,
    pub why: String,
}

impl Checkup {
    /// For a terminal.
    pub fn text(&self, style: Style) -> String {
        terminal(&document::document(self), style)
    }

    /// The schema `heapwise.doctor/1`.
    pub fn json(&self) -> String {
        json::json(self)
    }

    /// For a comment on a pull request.
    pub fn markdown(&self) -> String {
        markdown(&document::document(self))
    }

    /// Whether no finding costs anything. Notes do not count.
    pub fn is_clean(&self) -> bool {
        self.findings.iter().all(|finding| finding.severity == Severity::Note)
    }

    /// One line: how many findings and notes there are.
    fn outcome(&self) -> String {
        let notes = self.findings.iter().filter(|finding| finding.severity == Severity::Note).count();
        let found = self.findings.len() - notes;
        let counted = |n: usize, one: &str| format!("{n} {one}{}", if n == 1 { "" } else { "s" });
        let head = match found {
            0 => "nothing that slows the heap was found".to_owned(),
            n => counted(n, "finding"),
        };
        let checks = format!("{} checks", CHECKS.len());
        if notes == 0 {
            format!("{head}; {checks}")
        } else {
            format!("{head}, {}; {checks}", counted(notes, "note"))
        }
    }
}

impl Examined {
    fn kind(&self) -> &'static str {
        match self {
            Self::Machine => "machine",
            Self::Command(_) => "command",
            Self::Process { .. } => "process",
        }
    }

    fn title(&self) -> String {
        match self {
            Self::Machine => "this machine and this folder".to_owned(),
            Self::Command(words) => format!("what `{}` would inherit", words.join(" ")),
            Self::Process { pid, name } => format!("process {pid}, {name}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checkup() -> Checkup {
        let finding = |severity: Severity, title: &str| {
            Finding::new("malloc-check", severity, title, "unset MALLOC_CHECK_")
                .because("MALLOC_CHECK_=3 \u{1b}[31m")
        };
        Checkup {
            subject: Examined::Command(vec!["./a|b".into(), "\u{1b}[2J".into()]),
            findings: vec![
                finding(Severity::High, "each block is checked").costs("twice as long"),
                finding(Severity::Note, "this does nothing"),
            ],
            seen: vec![("executable", "/bin/\u{1b}x".into())],
            launches: vec![Launch {
                tool: "CodeLLDB".into(),
                name: "Debug <b>".into(),
                place: ".vscode/launch.json:3".into(),
                debug_heap: Some(true),
                why: "it is the default".into(),
            }],
            unread: vec!["broken.json:1:2: expected `}`".into()],
        }
    }

    #[test]
    fn text_fits_and_controls_no_terminal() {
        let text = checkup().text(Style { color: false, width: 80 });
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert!(!text.contains('\u{1b}'));
        for part in [
            "1 finding, 1 note",
            "each block is checked",
            "twice as long",
            "does nothing",
            "CodeLLDB",
            "broken.json",
        ] {
            assert!(text.contains(part), "{part} in\n{text}");
        }
    }

    #[test]
    fn json_has_the_fields_of_the_contract() {
        let value: serde_json::Value = serde_json::from_str(&checkup().json()).expect("it is JSON");
        assert_eq!(value["schema"], crate::schema::doctor::SCHEMA);
        let first = &value["findings"][0];
        for field in ["id", "severity", "title", "evidence", "cost", "remedy", "fixable"] {
            assert!(!first[field].is_null(), "{field}");
        }
        assert_eq!(value["clean"], false);
        assert_eq!(value["subject"]["command"][0], "./a|b");
    }

    #[test]
    fn markdown_keeps_names_as_text() {
        let text = checkup().markdown();
        assert!(text.contains("each block is checked") && !text.contains('\u{1b}'));
        // In a code span nothing is markup.
        assert!(text.contains("`Debug <b>`") && text.contains("`./a|b"), "{text}");
    }

    #[test]
    fn notes_leave_it_clean() {
        let mut checkup = checkup();
        assert!(!checkup.is_clean());
        checkup.findings.remove(0);
        assert!(checkup.is_clean());
    }
}

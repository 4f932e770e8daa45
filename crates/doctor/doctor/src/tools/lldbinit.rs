//! `.lldbinit`: commands that LLDB executes when it starts, of a user and, if the user allows it, of a folder.
//!
//! What is there is judged, and nothing is added for its own sake: most such files are about something else. Only the
//! user's file on Windows gets a line, since there it is for every program. Source:
//! <https://lldb.llvm.org/man/lldb.html#configuration-files>.

use super::{Known, Tool};
use crate::edit::{Change, Fix};
use crate::given::Given;
use crate::lldb::{self, Command};
use crate::places::{Owner, Places};
use crate::report::{DebugHeap, Report};
use crate::source::{Refused, Source};
use crate::text::plain;
use heapwise_environment::facts::System;
use heapwise_environment::{Finding, Severity};
use std::path::{Path, PathBuf};

#[derive(Debug)]
pub(super) struct LldbInit;

impl Tool for LldbInit {
    fn id(&self) -> &'static str {
        "lldbinit"
    }

    fn about(&self) -> &'static str {
        ".lldbinit of a folder and of a user: what LLDB gives to every process"
    }

    fn claims(&self, path: &Path) -> bool {
        path.file_name().is_some_and(|name| name == ".lldbinit")
    }

    fn of_user(&self, places: &Places) -> Vec<PathBuf> {
        places.home.iter().map(|home| home.join(".lldbinit")).collect()
    }

    fn read(&self, source: &Source, _known: &Known, report: &mut Report<'_>) -> Result<(), Refused> {
        let mut given = Given::Absent;
        let mut switched_on = None;
        let mut at = 0;
        for line in source.text().split_inclusive('\n') {
            match lldb::command(line) {
                Some(Command::Variable(value)) => {
                    let range = at + value.start..at + value.end;
                    // A value with quotes in it is not cut at the right place for certain.
                    let is_plain =
                        !line[value.clone()].contains(|c: char| c.is_whitespace() || "\"'=".contains(c));
                    let change = is_plain.then(|| Change::replace(range.clone(), "1"));
                    given = Given::value(source, &line[value], range.start, change);
                }
                Some(Command::Forgets) => given = Given::Absent,
                Some(Command::Setting(value)) => {
                    let is_off = ["false", "0", "off", "no"]
                        .iter()
                        .any(|no| line[value.clone()].eq_ignore_ascii_case(no));
                    switched_on = is_off.then_some(at + value.start..at + value.end);
                }
                None => {}
            }
            at += line.len();
        }
        let heap = match given {
            Given::Off { at } => DebugHeap::no(format!("_NO_DEBUG_HEAP is {at}")),
            Given::Unknown { at } => DebugHeap::unknown(format!("_NO_DEBUG_HEAP is {at}")),
            Given::Mistake(mistake) => {
                report.mistake(source, ".lldbinit", &mistake);
                DebugHeap::yes(format!("_NO_DEBUG_HEAP is {}, which {}", mistake.shown, mistake.why))
            }
            Given::Absent => match switched_on {
                Some(value) => switched_on_again(source, value, report),
                None => absent(source, report),
            },
        };
        report.launch("LLDB", "every process that it starts", source, 0, heap);
        Ok(())
    }
}

/// LLDB 24 is configured to leave the debug heap alone.
fn switched_on_again(source: &Source, value: std::ops::Range<usize>, report: &mut Report<'_>) -> DebugHeap {
    let evidence = format!(
        "{}: {} {}",
        report.at(source, value.start),
        lldb::SETTING,
        plain(&source.text()[value.clone()])
    );
    let remedy = "set platform.plugin.windows.disable-debug-heap to true, or leave it out";
    let title = "LLDB is configured to leave the Windows debug heap on".to_owned();
    report.debug_heap(source, title, vec![evidence], remedy, vec![Change::replace(value, "true")]);
    DebugHeap::yes("platform.plugin.windows.disable-debug-heap is off")
}

fn absent(source: &Source, report: &mut Report<'_>) -> DebugHeap {
    if source.owner == Owner::User && report.places.system == System::Windows {
        let title =
            "LLDB before version 24 leaves the Windows debug heap on, and .lldbinit does not turn it off";
        let remedy = "add `settings append target.env-vars _NO_DEBUG_HEAP=1` to .lldbinit, or use LLDB 24";
        let finding = Finding::new("ide-debug-heap", Severity::Low, title, remedy)
            .because(format!("{}: no _NO_DEBUG_HEAP in target.env-vars", report.places.shown(&source.file)))
            .costs(crate::report::COST);
        let newline = source.newline();
        let start = if source.text().is_empty() || source.text().ends_with('\n') { "" } else { newline };
        let line = format!("{start}settings append target.env-vars _NO_DEBUG_HEAP=1{newline}");
        let fix = Fix::new(source, vec![Change::insert(source.text().len(), line)]);
        report.propose(source, finding, fix);
    }
    DebugHeap::unknown("LLDB leaves the debug heap on before version 24, and turns it off since")
}

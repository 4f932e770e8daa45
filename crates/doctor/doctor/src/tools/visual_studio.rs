//! `*.vcxproj.user`: what Visual Studio keeps for one user of a project.
//!
//! Visual Studio 2015 and later turn the debug heap off, unless *Tools > Options > Debugging > General > Enable Windows debug
//! heap allocator (Native only)* says otherwise, which no file of the project has. Up to 2013 it is on, and
//! `<LocalDebuggerEnvironment>` is where the variable goes: lines of `NAME=VALUE`. Which version wrote the file is in
//! `ToolsVersion`: 4.0 for 2010 and 2012, 12.0 for 2013, 14.0 for 2015, 15.0 and `Current` later. Sources: "C++ Debugging
//! Improvements in Visual Studio 2015" (Visual C++ team blog); preshing.com, "The Windows Heap Is Slow When Launched from
//! the Debugger" (2011); the documentation of the debugger's property pages.

use super::{Known, Tool, has_suffix};
use crate::edit::Change;
use crate::given::Given;
use crate::source::{Refused, Source};
use crate::survey::{DebugHeap, Report};
use crate::text::plain;
use crate::xml;
use roxmltree::Node;
use std::path::Path;

#[derive(Debug)]
pub(super) struct ProjectUser;

const ELEMENT: &str = "LocalDebuggerEnvironment";

impl Tool for ProjectUser {
    fn id(&self) -> &'static str {
        "visual-studio"
    }

    fn about(&self) -> &'static str {
        "*.vcxproj.user: the environment in which Visual Studio starts a program"
    }

    fn claims(&self, path: &Path) -> bool {
        has_suffix(path, ".vcxproj.user")
    }

    fn read(&self, source: &Source, _known: &Known, report: &mut Report<'_>) -> Result<(), Refused> {
        let document = xml::parse(source)?;
        let project = document.root_element();
        let is_old =
            project.attribute("ToolsVersion").and_then(|v| v.parse::<f32>().ok()).is_some_and(|v| v < 14.0);
        for group in xml::children(project, "PropertyGroup") {
            read_group(source, group, is_old, report);
        }
        Ok(())
    }
}

/// The properties of one configuration, such as `Debug|x64`, or of all.
fn read_group(source: &Source, group: Node<'_, '_>, is_old: bool, report: &mut Report<'_>) {
    let condition = group.attribute("Condition").unwrap_or_default();
    let name = match condition.rsplit_once("==") {
        Some((_, name)) => plain(name.trim().trim_matches('\'')),
        None => "every configuration".to_owned(),
    };
    let environment = xml::children(group, ELEMENT).last();
    let given = environment.map(|element| given(source, element)).unwrap_or_default();
    let heap = match given.or_else(|| report.inherited()) {
        Given::Off { at } => DebugHeap::no(format!("_NO_DEBUG_HEAP is {at}")),
        Given::Unknown { at } => DebugHeap::unknown(format!("_NO_DEBUG_HEAP is {at}")),
        Given::Mistake(mistake) => {
            report.mistake(source, &format!("\"{name}\""), &mistake);
            DebugHeap::yes(format!("_NO_DEBUG_HEAP is {}, which {}", mistake.shown, mistake.why))
        }
        Given::Absent if is_old => {
            let at = report.at(source, group.range().start);
            let version = "written by Visual Studio 2013 or older, which leaves the debug heap on";
            let title = format!("\"{name}\" (Visual Studio) has the Windows debug heap");
            let remedy = "add _NO_DEBUG_HEAP=1 to Properties > Debugging > Environment, or use Visual Studio 2015 or later";
            let changes = set(source, group, environment).into_iter().collect();
            report.debug_heap(source, title, vec![format!("{at}: {version}")], remedy, changes);
            DebugHeap::yes(version)
        }
        Given::Absent => DebugHeap::no(
            "Visual Studio 2015 and later turn it off, unless \"Enable Windows debug heap allocator\" is ticked in the options",
        ),
    };
    report.launch("Visual Studio", &name, source, group.range().start, heap);
}

fn given(source: &Source, element: Node<'_, '_>) -> Given {
    let Some(range) = xml::text_range(source.text(), element) else { return Given::Absent };
    Given::in_lines(source, &source.text()[range.clone()], range.start)
}

/// What sets the variable: a line in front of the others, or the element.
fn set(source: &Source, group: Node<'_, '_>, environment: Option<Node<'_, '_>>) -> Option<Change> {
    let whole = format!("<{ELEMENT}>_NO_DEBUG_HEAP=1</{ELEMENT}>");
    match environment {
        Some(element) => match xml::text_range(source.text(), element) {
            Some(range) if !source.text()[range.clone()].trim().is_empty() => {
                Some(Change::insert(range.start, format!("_NO_DEBUG_HEAP=1{}", source.newline())))
            }
            _ => Some(Change::replace(element.range(), whole)),
        },
        None => xml::insert(source, group, |_| whole.clone()),
    }
}

//! Run configurations of RustRover, CLion and IntelliJ IDEA.
//!
//! They are in `.idea/workspace.xml`, in `.idea/runConfigurations/*.xml` and in `.run/*.run.xml`. The environment is
//! `<envs><env name="…" value="…" /></envs>` in each. RustRover's Debug has the debug heap and its Run has not, as Windows
//! sees no debugger there (the article "Fixing Rust memory allocation slowdown in VS Code on Windows", 2025). Nothing public
//! says how it is with C and C++ in CLion. Source of the form:
//! <https://www.jetbrains.com/help/rust/cargo-run-debug-configuration.html>, and configurations in public repositories.

use super::{Known, Tool, has_suffix};
use crate::edit::{Change, Fix};
use crate::given::Given;
use crate::report::{DebugHeap, Report};
use crate::source::{Refused, Source};
use crate::text::plain;
use crate::xml;
use heapwise_environment::facts::System;
use heapwise_environment::{Finding, Severity};
use roxmltree::Node;
use std::path::Path;

#[derive(Debug)]
pub(super) struct RunConfigurations;

/// What a type of configuration debugs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Language {
    Rust,
    Cpp,
}

/// Types of configurations that start a native program. Others start a virtual machine, a script or another computer.
const TYPES: &[(&str, Language)] = &[
    ("CargoCommandRunConfiguration", Language::Rust),
    ("CMakeRunConfiguration", Language::Cpp),
    ("CLionNativeAppRunConfigurationType", Language::Cpp),
    ("CLionExternalRunConfiguration", Language::Cpp),
    ("MakefileTargetRunConfigurationType", Language::Cpp),
    ("CMakeGoogleTestRunConfigurationType", Language::Cpp),
    ("CMakeCatchTestRunConfigurationType", Language::Cpp),
    ("CMakeBoostTestRunConfigurationType", Language::Cpp),
    ("CMakeDoctestRunConfigurationType", Language::Cpp),
];

impl Tool for RunConfigurations {
    fn id(&self) -> &'static str {
        "jetbrains"
    }

    fn about(&self) -> &'static str {
        ".idea/workspace.xml, .idea/runConfigurations/*.xml, .run/*.run.xml: run configurations of RustRover and CLion"
    }

    fn claims(&self, path: &Path) -> bool {
        let folder = path.parent().unwrap_or(path);
        path.ends_with(".idea/workspace.xml")
            || (folder.ends_with(".idea/runConfigurations") && has_suffix(path, ".xml"))
            || (folder.file_name().is_some_and(|name| name == ".run") && has_suffix(path, ".run.xml"))
    }

    fn read(&self, source: &Source, _known: &Known, report: &mut Report<'_>) -> Result<(), Refused> {
        let document = xml::parse(source)?;
        for configuration in document.descendants().filter(|node| node.has_tag_name("configuration")) {
            read_one(source, configuration, report);
        }
        Ok(())
    }
}

fn read_one(source: &Source, configuration: Node<'_, '_>, report: &mut Report<'_>) {
    let kind = configuration.attribute("type").unwrap_or_default();
    let Some((_, language)) = TYPES.iter().find(|(name, _)| *name == kind) else { return };
    // A template is for configurations that do not exist yet.
    if configuration.attribute("default") == Some("true") {
        return;
    }
    if *language == Language::Rust && !starts_a_program(configuration) {
        return;
    }
    let name = plain(configuration.attribute("name").unwrap_or("without a name"));
    let tool = if *language == Language::Rust { "RustRover" } else { "CLion" };
    let envs = xml::child(configuration, "envs");
    let given = envs.map(|envs| given(source, envs)).unwrap_or_default();
    let heap = match given.or_else(|| report.inherited()) {
        Given::Off { at } => DebugHeap::no(format!("_NO_DEBUG_HEAP is {at}")),
        Given::Unknown { at } => DebugHeap::unknown(format!("_NO_DEBUG_HEAP is {at}")),
        Given::Mistake(mistake) => {
            report.mistake(source, &format!("\"{name}\""), &mistake);
            DebugHeap::yes(format!("with Debug: _NO_DEBUG_HEAP is {}, which {}", mistake.shown, mistake.why))
        }
        Given::Absent => {
            let at = report.at(source, configuration.range().start);
            let evidence = format!("{at}: {kind} without _NO_DEBUG_HEAP in its environment");
            let change = set(source, configuration, envs);
            absent(source, *language, &name, evidence, change, report)
        }
    };
    report.launch(tool, &name, source, configuration.range().start, heap);
}

/// Whether a command of Cargo runs something that can be debugged.
fn starts_a_program(configuration: Node<'_, '_>) -> bool {
    let command =
        xml::children(configuration, "option").find(|option| option.attribute("name") == Some("command"));
    let command = command.and_then(|option| option.attribute("value")).unwrap_or("run");
    let verb = command.split_whitespace().find(|word| !word.starts_with('+')).unwrap_or("run");
    ["run", "r", "test", "t", "bench"].contains(&verb)
}

/// What the environment sets.
fn given(source: &Source, envs: Node<'_, '_>) -> Given {
    let variable = |env: &Node<'_, '_>| env.attribute("name").is_some_and(crate::rule::is_variable);
    let Some(env) = xml::children(envs, "env").filter(variable).last() else { return Given::Absent };
    let value = env.attribute("value").unwrap_or_default();
    Given::value(source, value, env.range().start, xml::set_attribute(source.text(), env, "value", "1"))
}

/// What sets the variable.
fn set(source: &Source, configuration: Node<'_, '_>, envs: Option<Node<'_, '_>>) -> Option<Change> {
    const ENV: &str = "<env name=\"_NO_DEBUG_HEAP\" value=\"1\" />";
    match envs {
        Some(envs) => xml::insert(source, envs, |_| ENV.to_owned()),
        None => xml::insert(source, configuration, |layout| {
            let xml::Layout { newline, unit, indent } = layout;
            format!("<envs>{newline}{indent}{unit}{ENV}{newline}{indent}</envs>")
        }),
    }
}

fn absent(
    source: &Source,
    language: Language,
    name: &str,
    evidence: String,
    change: Option<Change>,
    report: &mut Report<'_>,
) -> DebugHeap {
    let remedy = if source.file.ends_with("workspace.xml") {
        "add _NO_DEBUG_HEAP=1 to the environment variables of the configuration; the IDE writes workspace.xml anew when it \
         is closed, so close it before the file is changed"
    } else {
        "add _NO_DEBUG_HEAP=1 to the environment variables of the configuration"
    };
    let changes: Vec<Change> = change.into_iter().collect();
    match language {
        Language::Rust => {
            let title = format!("\"{name}\" (RustRover) has the Windows debug heap with Debug");
            report.debug_heap(source, title, vec![evidence], remedy, changes);
            DebugHeap::yes("with Debug; Run has it not, as no debugger creates the process then")
        }
        Language::Cpp => {
            // The default is not documented. The variable does no harm, but files are not changed on a guess on systems that it is not for.
            let is_windows = report.places.system == System::Windows;
            let severity = if is_windows { Severity::Low } else { Severity::Note };
            let title = format!("\"{name}\" (CLion) may have the Windows debug heap with Debug");
            let finding = Finding::new("ide-debug-heap", severity, title, remedy).because(evidence);
            report.propose(source, finding, Fix::new(source, changes).filter(|_| is_windows));
            DebugHeap::unknown("nothing public says what CLion's debuggers do; with Run it has it not")
        }
    }
}

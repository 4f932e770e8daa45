//! `.zed/debug.json`: debug scenarios of Zed, an array of objects.
//!
//! An entry is for an adapter and has its options next to `label` and `adapter`; CodeLLDB's `env` is the same as in VS Code.
//! Sources: <https://zed.dev/docs/debugger>, <https://zed.dev/docs/languages/rust#debugging>. That Zed's CodeLLDB leaves the
//! debug heap on follows from CodeLLDB; there is no report that it was tried.

use super::{Known, Tool, ends_in};
use crate::edit::Change;
use crate::given::Given;
use crate::json::{self, Container, New};
use crate::lldb;
use crate::places::Places;
use crate::report::{DebugHeap, Report};
use crate::rule::VARIABLE;
use crate::source::{Refused, Source};
use crate::text::plain;
use jsonc_parser::ast::{Object, Value};
use jsonc_parser::common::Ranged;
use std::path::{Path, PathBuf};

#[derive(Debug)]
pub(super) struct DebugJson;

/// Adapters of native programs.
const ADAPTERS: &[(&str, &str)] = &[
    ("CodeLLDB", "CodeLLDB leaves the debug heap on (its LLDB does before LLDB 24)"),
    ("GDB", "gdb creates the process as its debuggee and sets no _NO_DEBUG_HEAP"),
    ("lldb-dap", "lldb-dap leaves the debug heap on before LLDB 24"),
];

impl Tool for DebugJson {
    fn id(&self) -> &'static str {
        "zed"
    }

    fn about(&self) -> &'static str {
        ".zed/debug.json: debug scenarios of Zed"
    }

    fn claims(&self, path: &Path) -> bool {
        ends_in(path, &[".zed", "debug.json"])
    }

    fn of_user(&self, places: &Places) -> Vec<PathBuf> {
        use heapwise_environment::facts::System;
        match places.system {
            System::Windows => places.settings_folder().map(|folder| folder.join("Zed")),
            // Also on macOS.
            _ => places.home.as_ref().map(|home| home.join(".config/zed")),
        }
        .map(|folder| folder.join("debug.json"))
        .into_iter()
        .collect()
    }

    fn read(&self, source: &Source, _known: &Known, report: &mut Report<'_>) -> Result<(), Refused> {
        let value = json::parse(source)?;
        let scenarios = value.as_ref().and_then(Value::as_array).map_or(&[][..], |array| &array.elements);
        for scenario in scenarios.iter().filter_map(Value::as_object) {
            read_one(source, scenario, report);
        }
        Ok(())
    }
}

fn read_one(source: &Source, scenario: &Object<'_>, report: &mut Report<'_>) {
    let adapter = json::string(scenario, "adapter").unwrap_or_default();
    let Some((adapter, why)) = ADAPTERS.iter().find(|(name, _)| name.eq_ignore_ascii_case(adapter)) else {
        return;
    };
    let name = plain(json::string(scenario, "label").unwrap_or("without a label"));
    let env = json::get(scenario, "env");
    let heap = if json::string(scenario, "request") == Some("attach") {
        DebugHeap::no("attaching to a process that runs does not change its heap")
    } else {
        let commands = || match json::get(scenario, "initCommands") {
            Some(commands) => lldb::given(source, &json::strings(Some(commands)), commands.start()),
            None => Given::Absent,
        };
        match Given::in_json(source, env).or_else(commands).or_else(|| report.inherited()) {
            Given::Off { at } => DebugHeap::no(format!("_NO_DEBUG_HEAP is {at}")),
            Given::Unknown { at } => DebugHeap::unknown(format!("_NO_DEBUG_HEAP is {at}")),
            Given::Mistake(mistake) => {
                report.mistake(source, &format!("\"{name}\""), &mistake);
                DebugHeap::yes(format!("_NO_DEBUG_HEAP is {}, which {}", mistake.shown, mistake.why))
            }
            Given::Absent => {
                let at = report.at(source, scenario.start());
                let evidence =
                    format!("{at}: adapter \"{adapter}\" without _NO_DEBUG_HEAP in \"env\"; {why}");
                let title = format!("\"{name}\" (Zed, {adapter}) has the Windows debug heap");
                let remedy = "add \"_NO_DEBUG_HEAP\": \"1\" to \"env\" of the scenario";
                report.debug_heap(source, title, vec![evidence], remedy, set(source, scenario, env));
                DebugHeap::yes(*why)
            }
        }
    };
    report.launch("Zed", &name, source, scenario.start(), heap);
}

/// What sets the variable. Nothing if the environment is not what it should be.
fn set(source: &Source, scenario: &Object<'_>, env: Option<&Value<'_>>) -> Vec<Change> {
    match env {
        Some(Value::Object(env)) => {
            json::insert(source, &Container::from(env), Some(VARIABLE), &New::Text("1"))
        }
        Some(_) => Vec::new(),
        None => {
            let value = New::Object(vec![(VARIABLE, New::Text("1"))]);
            json::insert(source, &Container::from(scenario), Some("env"), &value)
        }
    }
}

//! Settings of VS Code that decide about the debug heap: those of CodeLLDB and of rust-analyzer.
//!
//! rust-analyzer's "Debug" above a function starts a debugger without `launch.json`. Its environment is
//! `rust-analyzer.runnables.extraEnv` (older: `runnableEnv`), unless `rust-analyzer.debug.engineSettings` has one, which replaces
//! it as a whole; CodeLLDB then adds `lldb.launch.env`. `rust-analyzer.debug.engine` selects the debugger: by default CodeLLDB if
//! it is there, then lldb-dap, then C/C++. Sources: editors/code/src/debug.ts and config.ts of rust-lang/rust-analyzer; MANUAL.md
//! of vadimcn/codelldb; vadimcn/codelldb issue 918.

use super::extensions::{self, DEBUGGERS};
use crate::given::Given;
use crate::json::{self, Container, New};
use crate::lldb;
use crate::places::{Owner, Places};
use crate::report::{COST, DebugHeap, Report};
use crate::rule::VARIABLE;
use crate::source::Source;
use crate::text::plain;
use crate::tools::{Known, Settings};
use heapwise_environment::facts::System;
use heapwise_environment::{Finding, Severity};
use jsonc_parser::ast::{Object, Value};
use jsonc_parser::common::Ranged;
use std::path::Path;

const LLDB_ENV: &str = "lldb.launch.env";
const EXTRA_ENV: &str = "rust-analyzer.runnables.extraEnv";

/// Settings that seem to reach the program, and what they reach instead.
const ELSEWHERE: &[(&str, &str)] = &[
    ("rust-analyzer.cargo.extraEnv", "the build"),
    ("rust-analyzer.check.extraEnv", "the check"),
    ("rust-analyzer.server.extraEnv", "rust-analyzer itself"),
    ("terminal.integrated.env.windows", "what is started by hand in the terminal"),
];

/// Notes what settings mean for launches.
pub(super) fn learn(
    source: &Source,
    settings: &Object<'_>,
    place: &Path,
    is_for_all: bool,
    known: &mut Known,
) {
    let env = json::get(settings, LLDB_ENV);
    known.add(Settings {
        place: place.to_owned(),
        is_for_all,
        lldb: lldb_given(source, settings),
        runnables: extra_env(source, settings),
        engine: json::string(settings, "rust-analyzer.debug.engine").map(str::to_owned),
        can_take: env.is_none_or(|env| env.as_object().is_some()),
    });
}

/// CodeLLDB's settings for all launches.
fn lldb_given(source: &Source, settings: &Object<'_>) -> Given {
    let env = Given::in_json(source, json::get(settings, LLDB_ENV));
    let commands = env.or_else(|| {
        ["lldb.launch.preRunCommands", "lldb.launch.initCommands"]
            .iter()
            .filter_map(|name| json::get(settings, name))
            .map(|value| lldb::given(source, &json::strings(Some(value)), value.start()))
            .find(|given| *given != Given::Absent)
            .unwrap_or_default()
    });
    // The program inherits the adapter's environment, unless LLDB's own settings override it.
    let adapter = commands.or_else(|| Given::in_json(source, json::get(settings, "lldb.adapterEnv")));
    adapter.or_else(|| match json::string(settings, "lldb.launch.envFile") {
        Some(file) => Given::Unknown { at: format!("perhaps in {}, which was not read", plain(file)) },
        None => Given::Absent,
    })
}

/// The debugger that rust-analyzer starts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Engine {
    CodeLldb,
    LldbDap,
    CppTools,
}

/// Reports rust-analyzer's launches, and what is wrong with the settings.
pub(super) fn read(
    source: &Source,
    settings: &Object<'_>,
    place: &Path,
    known: &Known,
    report: &mut Report<'_>,
) {
    if let Given::Mistake(mistake) = lldb_given(source, settings) {
        report.mistake(source, "the settings for all launches of CodeLLDB", &mistake);
    }
    let wanted = report.wanted(place);
    let uses = |prefix: &str| settings.properties.iter().find(|p| p.name.as_str().starts_with(prefix));
    // On other systems it is a guess that rust-analyzer's Debug is used on Windows: no file is changed for that.
    let is_guess = wanted.is_empty() && report.places.system != System::Windows;
    let mut evidence = wanted;
    let mut fix_extra_env = None;
    let (rust, lldb) = (uses("rust-analyzer."), uses("lldb."));
    if let Some(first) = rust.or(lldb) {
        let engine = engine(known.engine(place), report.places);
        let heap = rust_analyzer(source, settings, place, known, report, engine);
        if heap.is_missing {
            let line = report.at(source, first.start());
            let who = if rust.is_some() { "rust-analyzer's Debug" } else { "CodeLLDB" };
            let say = format!("{who}, {line}: no _NO_DEBUG_HEAP in \"{EXTRA_ENV}\" or \"{LLDB_ENV}\"");
            match engine {
                _ if is_guess => note(source, say, report),
                Engine::LldbDap => fix_extra_env = Some(say),
                _ => evidence.push(say),
            }
        }
        let (tool, name) = match rust {
            Some(_) => ("rust-analyzer", "Debug above a function"),
            None => ("CodeLLDB", "launches without their own configuration"),
        };
        report.launch(tool, name, source, first.start(), heap.debug_heap);
    }
    if !evidence.is_empty() {
        propose_lldb_env(source, settings, evidence, report);
    }
    if let Some(evidence) = fix_extra_env {
        propose_extra_env(source, settings, evidence, report);
    }
    elsewhere(source, settings, place, known, report);
}

/// The debugger of the setting, or the one that is installed; CodeLLDB if that is unknown.
fn engine(setting: Option<&str>, places: &Places) -> Engine {
    let setting = setting.filter(|name| DEBUGGERS.contains(name));
    match setting.or_else(|| extensions::preferred(places)) {
        Some("ms-vscode.cpptools") => Engine::CppTools,
        Some("llvm-vs-code-extensions.lldb-dap") => Engine::LldbDap,
        _ => Engine::CodeLldb,
    }
}

struct RustAnalyzer {
    debug_heap: DebugHeap,
    /// Whether nothing sets the variable.
    is_missing: bool,
}

fn rust_analyzer(
    source: &Source,
    settings: &Object<'_>,
    place: &Path,
    known: &Known,
    report: &mut Report<'_>,
    engine: Engine,
) -> RustAnalyzer {
    let of = |debug_heap| RustAnalyzer { debug_heap, is_missing: false };
    if engine == Engine::CppTools {
        return of(DebugHeap::no("cppvsdbg of the C/C++ extension sets _NO_DEBUG_HEAP itself"));
    }
    let kind = if engine == Engine::LldbDap { "lldb-dap" } else { "lldb" };
    let own =
        json::object(settings, "rust-analyzer.debug.engineSettings").and_then(|s| json::object(s, kind));
    let given = match own.and_then(|own| json::get(own, "env")) {
        Some(env) => Given::in_json(source, Some(env)),
        None => known.runnables(place),
    };
    // What is wrong in the settings of CodeLLDB is reported with them.
    if let Given::Mistake(mistake) = &given
        && mistake.file == source.file
    {
        report.mistake(source, "the settings for rust-analyzer's Debug", mistake);
    }
    let given = given.or_else(|| if engine == Engine::CodeLldb { known.lldb(place) } else { Given::Absent });
    match given.or_else(|| report.inherited()) {
        Given::Off { at } => of(DebugHeap::no(format!("_NO_DEBUG_HEAP is {at}"))),
        Given::Unknown { at } => of(DebugHeap::unknown(format!("_NO_DEBUG_HEAP is {at}"))),
        Given::Mistake(m) => of(DebugHeap::yes(format!("_NO_DEBUG_HEAP is {}, which {}", m.shown, m.why))),
        Given::Absent => {
            let why = match engine {
                Engine::LldbDap => "lldb-dap leaves the debug heap on before LLDB 24",
                _ => "CodeLLDB leaves the debug heap on, and rust-analyzer takes it if it is installed",
            };
            RustAnalyzer { debug_heap: DebugHeap::yes(why), is_missing: true }
        }
    }
}

/// What the environment of runnables sets: an object, or an array of objects for some runnables and systems.
fn extra_env(source: &Source, settings: &Object<'_>) -> Given {
    let names = [EXTRA_ENV, "rust-analyzer.runnableEnv"];
    match names.iter().find_map(|name| json::get(settings, name)) {
        Some(Value::Array(rules)) => {
            // A rule with a mask is for some runnables only; it is still used, because it is better than nothing.
            let rules = rules.elements.iter().rev().filter_map(Value::as_object);
            rules
                .filter(|rule| !is_for_others(rule))
                .map(|rule| Given::in_json(source, json::get(rule, "env")))
                .find(|given| *given != Given::Absent)
                .unwrap_or_default()
        }
        other => Given::in_json(source, other),
    }
}

/// Whether a rule is for other systems than Windows.
fn is_for_others(rule: &Object<'_>) -> bool {
    let platforms = json::strings(json::get(rule, "platform"));
    !platforms.is_empty() && !platforms.contains(&"win32")
}

fn note(source: &Source, evidence: String, report: &mut Report<'_>) {
    if source.owner == Owner::Project {
        let title = "on Windows, rust-analyzer's Debug would have the debug heap";
        let remedy = "add \"lldb.launch.env\": {\"_NO_DEBUG_HEAP\": \"1\"} to the settings if the project is debugged on Windows";
        report.propose(
            source,
            Finding::new("ide-debug-heap", Severity::Note, title, remedy).because(evidence).costs(COST),
            None,
        );
    }
}

fn propose_lldb_env(source: &Source, settings: &Object<'_>, evidence: Vec<String>, report: &mut Report<'_>) {
    let title = match evidence.len() {
        1 => "a launch by CodeLLDB has the Windows debug heap".to_owned(),
        n => format!("{n} launches by CodeLLDB have the Windows debug heap"),
    };
    let changes = match json::get(settings, LLDB_ENV) {
        Some(Value::Object(env)) => {
            json::insert(source, &Container::from(env), Some(VARIABLE), &New::Text("1"))
        }
        Some(_) => Vec::new(),
        None => {
            let env = New::Object(vec![(VARIABLE, New::Text("1"))]);
            json::insert(source, &Container::from(settings), Some(LLDB_ENV), &env)
        }
    };
    let remedy = "add \"lldb.launch.env\": {\"_NO_DEBUG_HEAP\": \"1\"} to the settings, which is for all launches by CodeLLDB";
    report.debug_heap(source, title, evidence, remedy, changes);
}

fn propose_extra_env(source: &Source, settings: &Object<'_>, evidence: String, report: &mut Report<'_>) {
    let value = || New::Object(vec![(VARIABLE, New::Text("1"))]);
    let changes = match json::get(settings, EXTRA_ENV) {
        Some(Value::Object(env)) => {
            json::insert(source, &Container::from(env), Some(VARIABLE), &New::Text("1"))
        }
        Some(Value::Array(rules)) => {
            json::insert(source, &Container::from(rules), None, &New::Object(vec![("env", value())]))
        }
        Some(_) => Vec::new(),
        None => json::insert(source, &Container::from(settings), Some(EXTRA_ENV), &value()),
    };
    let title = "rust-analyzer's Debug by lldb-dap has the Windows debug heap".to_owned();
    let remedy = "add \"_NO_DEBUG_HEAP\": \"1\" to \"rust-analyzer.runnables.extraEnv\", or switch \
        \"rust-analyzer.debug.engine\" to \"ms-vscode.cpptools\"";
    report.debug_heap(source, title, vec![evidence], remedy, changes);
}

/// The variable in settings that reach other programs, where nothing else sets it.
fn elsewhere(source: &Source, settings: &Object<'_>, place: &Path, known: &Known, report: &mut Report<'_>) {
    let is_set = |given: Given| matches!(given, Given::Off { .. } | Given::Unknown { .. });
    if is_set(known.lldb(place)) || is_set(known.runnables(place)) {
        return;
    }
    if source.owner == Owner::User && report.places.debug_heap_severity() == Severity::Low {
        return;
    }
    for (name, whom) in ELSEWHERE {
        let Some(property) = json::member(settings, name) else { continue };
        if Given::in_json(source, Some(&property.value)) == Given::Absent {
            continue;
        }
        let at = report.at(source, property.start());
        let title =
            format!("_NO_DEBUG_HEAP in \"{name}\" reaches {whom}, and not the program that is debugged");
        let remedy = "set it in \"lldb.launch.env\" or \"rust-analyzer.runnables.extraEnv\"";
        let finding = Finding::new("no-debug-heap-place", report.places.mistake_severity(), title, remedy);
        report.propose(source, finding.because(format!("{at}: \"{name}\"")), None);
    }
}

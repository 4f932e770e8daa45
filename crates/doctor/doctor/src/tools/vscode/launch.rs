//! Launch configurations, wherever they are: in `launch.json`, or below `launch` in settings and workspace files.
//!
//! The environment of a program under CodeLLDB is, from weak to strong: what the editor inherited, `lldb.launch.*` in
//! settings, `envFile`, `env`. A block for a system (`"windows": {…}`) replaces whole members of the configuration. `cargo.env`
//! is for the build only. Sources: MANUAL.md of vadimcn/codelldb ("Launching a New Process", "Launch Configurations
//! Settings"); <https://code.visualstudio.com/docs/editor/debugging#_platformspecific-properties>.

use super::engine::{CODELLDB, Engine, Form, engine};
use crate::edit::Change;
use crate::given::{Given, Mistake};
use crate::json::{self, Container, New};
use crate::lldb;
use crate::report::{Answer, DebugHeap, Report};
use crate::rule::VARIABLE;
use crate::source::Source;
use crate::text::plain;
use crate::tools::Known;
use jsonc_parser::ast::{Object, Value};
use jsonc_parser::common::Ranged;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// Reads an object with `configurations` and `compounds`. `place` selects the settings that apply.
pub(super) fn read(
    source: &Source,
    launch: &Object<'_>,
    place: &Path,
    known: &Known,
    report: &mut Report<'_>,
) {
    let mut answers: HashMap<&str, Answer> = HashMap::new();
    let configurations = json::array(launch, "configurations").map_or(&[][..], |a| &a.elements);
    for configuration in configurations.iter().filter_map(Value::as_object) {
        let one = Configuration { source, object: configuration, place };
        if let Some(answer) = one.read(known, report) {
            // Of several with one name, VS Code starts the first.
            answers.entry(one.name()).or_insert(answer);
        }
    }
    let compounds = json::array(launch, "compounds").map_or(&[][..], |a| &a.elements);
    for compound in compounds.iter().filter_map(Value::as_object) {
        read_compound(source, compound, &answers, report);
    }
}

/// Several configurations that are started together.
fn read_compound(
    source: &Source,
    compound: &Object<'_>,
    answers: &HashMap<&str, Answer>,
    report: &mut Report<'_>,
) {
    let name = json::string(compound, "name").unwrap_or("compound");
    let members = json::array(compound, "configurations").map_or(&[][..], |a| &a.elements);
    // A member is a name, or an object with a name and the folder that it is in.
    let names =
        members.iter().filter_map(|m| json::as_str(m).or_else(|| json::string(m.as_object()?, "name")));
    let members: Vec<_> = names.map(|name| (name, answers.get(name))).collect();
    let with = |wanted: Answer| {
        let those = members.iter().filter(|(_, known)| known.is_some_and(|answer| *answer == wanted));
        those.map(|(name, _)| format!("\"{}\"", plain(name))).collect::<Vec<_>>().join(", ")
    };
    let (yes, unknown) = (with(Answer::Yes), with(Answer::Unknown));
    let heap = if !yes.is_empty() {
        DebugHeap::yes(format!("it starts {yes}"))
    } else if !unknown.is_empty() || members.iter().any(|(_, known)| known.is_none()) {
        DebugHeap::unknown("it starts others of which that is not known")
    } else {
        DebugHeap::no("none of those that it starts has it")
    };
    report.launch("VS Code compound", name, source, compound.start(), heap);
}

struct Configuration<'s, 'v, 'a> {
    source: &'s Source,
    object: &'v Object<'a>,
    place: &'s Path,
}

impl<'v, 'a> Configuration<'_, 'v, 'a> {
    fn name(&self) -> &'v str {
        json::string(self.object, "name").unwrap_or("without a name")
    }

    /// Reports the launch, and what is wrong with it. There is none if it starts no native program.
    fn read(&self, known: &Known, report: &mut Report<'_>) -> Option<Answer> {
        let kind = json::string(self.object, "type")?;
        let engine = engine(kind)?;
        let heap = self.debug_heap(engine, known, report);
        let answer = heap.answer;
        report.launch(engine.name, self.name(), self.source, self.object.start(), heap);
        Some(answer)
    }

    fn debug_heap(&self, engine: &'static Engine, known: &Known, report: &mut Report<'_>) -> DebugHeap {
        // CodeLLDB had "custom" for what is "launch" with commands now.
        if json::string(self.object, "request") == Some("attach") {
            return DebugHeap::no("attaching to a process that runs does not change its heap");
        }
        if ["pipeTransport", "miDebuggerServerAddress"].iter().any(|name| self.value(name).is_some()) {
            return DebugHeap::no("the program is started elsewhere");
        }
        if !engine.is_on {
            return self.switched_on(engine, report);
        }
        let given = self.given(engine, report).or_else(|| match engine.types == CODELLDB.types {
            true => known.lldb(self.place),
            false => Given::Absent,
        });
        match given.or_else(|| report.inherited()) {
            Given::Off { at } => DebugHeap::no(format!("_NO_DEBUG_HEAP is {at}")),
            Given::Unknown { at } => DebugHeap::unknown(format!("_NO_DEBUG_HEAP is {at}")),
            Given::Mistake(mistake) => {
                // What is wrong in settings is reported with the settings.
                if !matches!(known.lldb(self.place), Given::Mistake(other) if other == mistake) {
                    self.correct(engine, &mistake, report);
                }
                DebugHeap::yes(format!("_NO_DEBUG_HEAP is {}, which {}", mistake.shown, mistake.why))
            }
            Given::Absent => {
                self.propose(engine, known, report);
                DebugHeap::yes(engine.why)
            }
        }
    }

    /// cppvsdbg with the switch that turns the debug heap on.
    fn switched_on(&self, engine: &Engine, report: &mut Report<'_>) -> DebugHeap {
        let Some(Value::BooleanLit(switch)) = self.value("enableDebugHeap").filter(|value| is_true(value))
        else {
            return DebugHeap::no(engine.why);
        };
        let at = report.at(self.source, switch.start());
        report.debug_heap(
            self.source,
            self.title(engine),
            vec![format!("{at}: \"enableDebugHeap\": true")],
            "set \"enableDebugHeap\" to false, or leave it out, unless you look for a damaged heap",
            vec![Change::replace(json::range(switch), "false")],
        );
        DebugHeap::yes("\"enableDebugHeap\" is true")
    }

    fn title(&self, engine: &Engine) -> String {
        format!("\"{}\" ({}) has the Windows debug heap", plain(self.name()), engine.name)
    }

    /// A member as it counts on Windows.
    fn value(&self, name: &str) -> Option<&'v Value<'a>> {
        let windows = json::object(self.object, "windows").and_then(|block| json::get(block, name));
        windows.or_else(|| json::get(self.object, name))
    }

    /// Where the environment is, or would be.
    fn home_of(&self, name: &str) -> &'v Object<'a> {
        match json::object(self.object, "windows") {
            Some(block) if json::get(block, name).is_some() => block,
            _ => self.object,
        }
    }

    /// What the configuration itself sets.
    fn given(&self, engine: &Engine, report: &mut Report<'_>) -> Given {
        let env = Given::in_json(self.source, self.value(engine.key()));
        let env = env.or_else(|| self.env_file(report));
        if !["lldb", "lldb-dap", "lldb-vscode"].iter().any(|kind| engine.types.contains(kind)) {
            return env;
        }
        env.or_else(|| {
            // In the order in which they are executed; the later wins.
            for name in ["processCreateCommands", "launchCommands", "preRunCommands", "initCommands"] {
                let Some(value) = self.value(name) else { continue };
                let given = lldb::given(self.source, &json::strings(Some(value)), value.start());
                if given != Given::Absent {
                    return given;
                }
            }
            Given::Absent
        })
    }

    /// What the file of variables that the configuration names sets.
    fn env_file(&self, report: &mut Report<'_>) -> Given {
        let Some(value) = self.value("envFile") else { return Given::Absent };
        let Some(name) = json::as_str(value) else { return Given::Absent };
        let unknown = || Given::Unknown { at: format!("perhaps in {}, which was not read", plain(name)) };
        let Some(path) = self.resolve(name) else { return unknown() };
        report.env_file(path).unwrap_or_else(unknown)
    }

    /// A path of a configuration, if the folder is all that has to be known for it.
    fn resolve(&self, name: &str) -> Option<PathBuf> {
        // The folder that contains `.vscode`; for a workspace file, the folder that it is in.
        let folder = if self.place.is_dir() { self.place.parent()? } else { self.source.folder() };
        let relative = ["${workspaceFolder}", "${workspaceRoot}"].iter().find_map(|v| name.strip_prefix(v));
        let rest = relative.unwrap_or(name);
        if rest.contains('$') {
            return None;
        }
        Some(folder.join(rest.trim_start_matches(['/', '\\'])))
            .filter(|_| relative.is_some() || Path::new(name).is_relative())
    }

    /// Proposes to set the variable: in the settings if there are some, which then do it for all, otherwise here.
    fn propose(&self, engine: &Engine, known: &Known, report: &mut Report<'_>) {
        let at = report.at(self.source, self.object.start());
        let mut evidence = format!(
            "{at}: type \"{}\" without _NO_DEBUG_HEAP in \"{}\"; {}",
            engine.types[0],
            engine.key(),
            engine.why
        );
        let cargo = json::object(self.object, "cargo").and_then(|cargo| json::get(cargo, "env"));
        if Given::in_json(self.source, cargo) != Given::Absent {
            evidence.push_str("; \"env\" of \"cargo\" is for the build");
        }
        if engine.types == CODELLDB.types && known.can_help(self.place) {
            report.want(self.place, format!("\"{}\", {evidence}", plain(self.name())));
            return;
        }
        let remedy = match engine.form {
            Form::Pairs => {
                "add {\"name\": \"_NO_DEBUG_HEAP\", \"value\": \"1\"} to \"environment\" of the configuration"
            }
            Form::Unsure => {
                "start the editor from a shell in which _NO_DEBUG_HEAP is 1, or `setx _NO_DEBUG_HEAP 1` and restart it"
            }
            _ if engine.types == CODELLDB.types => {
                "add \"_NO_DEBUG_HEAP\": \"1\" to \"env\" of the configuration, or once for all to \"lldb.launch.env\" in settings.json"
            }
            _ => "add \"_NO_DEBUG_HEAP\": \"1\" to \"env\" of the configuration",
        };
        report.debug_heap(self.source, self.title(engine), vec![evidence], remedy, self.set(engine));
    }

    /// Proposes to correct a value. One in a file of variables is left there: the configuration itself is stronger.
    fn correct(&self, engine: &Engine, mistake: &Mistake, report: &mut Report<'_>) {
        let changes = match mistake.file == self.source.file {
            true => mistake.change.clone().into_iter().collect(),
            false => self.set(engine),
        };
        report.correct(self.source, &format!("\"{}\"", plain(self.name())), mistake, changes);
    }

    /// What sets the variable here. Nothing if the environment is not what it should be.
    fn set(&self, engine: &Engine) -> Vec<Change> {
        let source = self.source;
        let key = engine.key();
        let home = self.home_of(key);
        let pair = || New::Object(vec![("name", New::Text(VARIABLE)), ("value", New::Text("1"))]);
        match (engine.form, self.value(key)) {
            (Form::Unsure, _) => Vec::new(),
            (Form::Object | Form::ObjectOrLines | Form::Lines, Some(Value::Object(env))) => {
                json::insert(source, &Container::from(env), Some(VARIABLE), &New::Text("1"))
            }
            (Form::ObjectOrLines | Form::Lines, Some(Value::Array(env))) => {
                json::insert(source, &Container::from(env), None, &New::Text("_NO_DEBUG_HEAP=1"))
            }
            (Form::Pairs, Some(Value::Array(env))) => {
                json::insert(source, &Container::from(env), None, &pair())
            }
            (_, Some(_)) => Vec::new(),
            (Form::Lines, None) => {
                let env = New::Array(vec![New::Text("_NO_DEBUG_HEAP=1")]);
                json::insert(source, &Container::from(home), Some(key), &env)
            }
            (Form::Pairs, None) => {
                json::insert(source, &Container::from(home), Some(key), &New::Array(vec![pair()]))
            }
            (_, None) => {
                let env = New::Object(vec![(VARIABLE, New::Text("1"))]);
                json::insert(source, &Container::from(home), Some(key), &env)
            }
        }
    }
}

fn is_true(value: &Value<'_>) -> bool {
    value.as_boolean_lit().is_some_and(|switch| switch.value)
}

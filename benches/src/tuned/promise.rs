//! What `heapwise tune` recommends, and what it promises.

use super::services::{Goal, Service};
use super::{Plan, SETTLE};
use crate::replay::real::{free_port, with_port};
use crate::replay::workloads::Prepared;
use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};

/// All allocators that a line of Cargo.toml can bring, with the settings that matter for the goals here. tcmalloc has to be
/// linked or preloaded, which a fresh project does not do.
const CANDIDATES: &str = "glibc:arena_max=1,glibc:trim_threshold=131072,jemalloc,jemalloc:dirty_decay_ms=0,\
    jemalloc:dirty_decay_ms=1000,jemalloc:background_thread=true:dirty_decay_ms=1000,\
    jemalloc:background_thread=true:dirty_decay_ms=5000,jemalloc:narenas=2,jemalloc:tcache_max=4096,mimalloc,\
    mimalloc:purge_delay=0,mimalloc2,mimalloc2:purge_delay=0,snmalloc";

#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Promise {
    pub(super) candidate: String,
    pub(super) is_stay: bool,
    /// Whether it was tried on the program itself.
    pub(super) is_confirmed: bool,
    /// What it does to the goal.
    pub(super) factor: f64,
    pub(super) cargo: Vec<String>,
    pub(super) rust: Vec<String>,
}

/// What is to be pasted.
#[derive(Clone, Debug)]
pub(super) struct Fix<'a> {
    pub(super) cargo: &'a [String],
    pub(super) rust: &'a [String],
}

impl Promise {
    /// The lines, if there are some for a Rust program.
    pub(super) fn fix(&self) -> Option<Fix<'_>> {
        let is_code = !self.is_stay && !self.cargo.is_empty();
        is_code.then_some(Fix { cargo: &self.cargo, rust: &self.rust })
    }
}

/// Has `heapwise tune` search and try. The answer is kept in a file.
pub(super) fn ask(plan: &Plan<'_>, service: &Service, prepared: &Prepared, answer: &Path) -> Result<Promise> {
    let heapwise = plan.target.join("release/heapwise");
    let port = free_port()?;
    let mut command = Command::new(&heapwise);
    command.args(["tune", "--goal", service.goal.name(), "--format", "json", "--force", "-o"]).arg(answer);
    command.args(["--with", CANDIDATES]);
    command.args(["--runs", &plan.rounds.to_string()]);
    if plan.quick {
        command.args(["--longest", "3s", "--confirm", "1"]);
    }
    if service.goal == Goal::RssAfter {
        // The last one ends the service, which tune does by itself.
        let (_, load) = prepared.load.split_last().context("the service has no load")?;
        let load: Vec<String> = load.iter().map(|command| shell(&with_port(command, port))).collect();
        command.args(["--ready", &format!("tcp:{port}"), "--load", &load.join(" && ")]);
        command.args(["--settle", &format!("{}s", SETTLE.as_secs())]);
    }
    command.arg("--").args(with_port(&prepared.command, port)).stdin(Stdio::null());
    let status = command.envs(prepared.environment.iter().copied()).status();
    let status = status.with_context(|| format!("cannot run {}", heapwise.display()))?;
    ensure!(status.success(), "heapwise tune ended with {status}");
    let text = std::fs::read(answer).with_context(|| format!("cannot read {}", answer.display()))?;
    read(&serde_json::from_slice(&text)?)
}

/// A command as a shell reads it.
fn shell(words: &[OsString]) -> String {
    let quoted = words.iter().map(|word| format!("'{}'", word.to_string_lossy().replace('\'', r"'\''")));
    quoted.collect::<Vec<_>>().join(" ")
}

fn read(answer: &Value) -> Result<Promise> {
    let choice = &answer["choice"];
    let lines =
        |of: &str| Vec::<String>::deserialize(&answer["fix"][of]).with_context(|| format!("fix.{of}"));
    Ok(Promise {
        candidate: choice["candidate"].as_str().context("heapwise tune chose nothing")?.to_owned(),
        is_stay: choice["stay"].as_bool().context("choice.stay")?,
        is_confirmed: choice["verified"] == "program",
        factor: choice["factor"].as_f64().unwrap_or(1.0),
        cargo: lines("cargo")?,
        rust: lines("rust")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::workloads::PORT;
    use serde_json::json;

    #[test]
    fn a_choice_is_read_and_staying_has_nothing_to_paste() {
        let taken = json!({
            "choice": { "candidate": "jemalloc", "stay": false, "verified": "program", "factor": 0.25 },
            "fix": { "kind": "allocator", "cargo": ["a = \"1\""], "rust": ["static A: a::A = a::A;"] },
        });
        let promise = read(&taken).unwrap();
        assert_eq!((promise.factor, promise.is_confirmed), (0.25, true));
        assert_eq!(promise.fix().unwrap().cargo, ["a = \"1\""]);
        let stay = json!({
            "choice": { "candidate": "glibc", "stay": true, "reason": "not-confirmed" },
            "fix": { "kind": "stay", "cargo": [], "rust": [] },
        });
        assert!(read(&stay).unwrap().fix().is_none());
        assert!(read(&json!({})).is_err());
    }

    #[test]
    fn words_reach_a_shell_as_they_are() {
        assert_eq!(shell(&["it's".into(), PORT.into()]), r"'it'\''s' '{port}'");
    }
}

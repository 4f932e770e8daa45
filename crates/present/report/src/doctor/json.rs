//! The schema `heapwise.doctor/1`: field names are a contract, see the README.

use super::{Checkup, Examined};
use heapwise_environment::{CHECKS, facts::System};
use serde::Serialize;

/// The value of the field `schema`.
pub const SCHEMA: &str = "heapwise.doctor/1";

#[derive(Serialize)]
struct JsonCheckup<'a> {
    schema: &'static str,
    subject: JsonSubject<'a>,
    system: &'static str,
    clean: bool,
    seen: Vec<JsonSeen<'a>>,
    findings: Vec<JsonFinding<'a>>,
    launches: Vec<JsonLaunch<'a>>,
    unread: &'a [String],
    checks: Vec<JsonCheck>,
}

#[derive(Serialize)]
struct JsonSubject<'a> {
    kind: &'static str,
    command: Option<&'a [String]>,
    pid: Option<u32>,
}

#[derive(Serialize)]
struct JsonSeen<'a> {
    name: &'static str,
    what: &'a str,
}

#[derive(Serialize)]
struct JsonFinding<'a> {
    id: &'static str,
    severity: &'static str,
    title: &'a str,
    evidence: &'a [String],
    cost: &'a str,
    remedy: &'a str,
    fixable: bool,
}

#[derive(Serialize)]
struct JsonLaunch<'a> {
    tool: &'a str,
    name: &'a str,
    place: &'a str,
    debug_heap: Option<bool>,
    why: &'a str,
}

#[derive(Serialize)]
struct JsonCheck {
    id: &'static str,
    about: &'static str,
}

pub(super) fn json(checkup: &Checkup) -> String {
    let (command, pid) = match &checkup.subject {
        Examined::Machine => (None, None),
        Examined::Command(words) => (Some(words.as_slice()), None),
        Examined::Process { pid, .. } => (None, Some(*pid)),
    };
    let findings = checkup.findings.iter().map(|finding| JsonFinding {
        id: finding.check,
        severity: finding.severity.id(),
        title: &finding.title,
        evidence: &finding.evidence,
        cost: &finding.cost,
        remedy: &finding.remedy,
        fixable: finding.fixable,
    });
    let launches = checkup.launches.iter().map(|launch| JsonLaunch {
        tool: &launch.tool,
        name: &launch.name,
        place: &launch.place,
        debug_heap: launch.debug_heap,
        why: &launch.why,
    });
    let all = JsonCheckup {
        schema: SCHEMA,
        subject: JsonSubject { kind: checkup.subject.kind(), command, pid },
        system: match System::HERE {
            System::Linux => "linux",
            System::Windows => "windows",
            System::MacOs => "macos",
            System::Other => "other",
        },
        clean: checkup.is_clean(),
        seen: checkup.seen.iter().map(|(name, what)| JsonSeen { name, what }).collect(),
        findings: findings.collect(),
        launches: launches.collect(),
        unread: &checkup.unread,
        checks: CHECKS.iter().map(|check| JsonCheck { id: check.id(), about: check.about() }).collect(),
    };
    let mut text = serde_json::to_string_pretty(&all)
        .expect("it has neither maps with other keys nor numbers that fail");
    text.push('\n');
    crate::escape::terminal::json(&text).into_owned()
}

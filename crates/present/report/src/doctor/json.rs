//! Fills `heapwise.doctor/1`.

use super::{Checkup, Examined};
use crate::schema::doctor::{self as schema, Check, Finding, Launch, Seen, Subject, System};
use heapwise_environment::{CHECKS, facts};

pub(super) fn json(checkup: &Checkup) -> String {
    let (command, pid) = match &checkup.subject {
        Examined::Machine => (None, None),
        Examined::Command(words) => (Some(words.clone()), None),
        Examined::Process { pid, .. } => (None, Some(*pid)),
    };
    let findings = checkup.findings.iter().map(|finding| Finding {
        id: finding.check.to_owned(),
        severity: finding.severity.id().to_owned(),
        title: finding.title.clone(),
        evidence: finding.evidence.clone(),
        cost: finding.cost.clone(),
        remedy: finding.remedy.clone(),
        fixable: finding.fixable,
    });
    let launches = checkup.launches.iter().map(|launch| Launch {
        tool: launch.tool.clone(),
        name: launch.name.clone(),
        place: launch.place.clone(),
        debug_heap: launch.debug_heap,
        why: launch.why.clone(),
    });
    let seen = checkup.seen.iter().map(|(name, what)| Seen { name: (*name).to_owned(), what: what.clone() });
    let checks =
        CHECKS.iter().map(|check| Check { id: check.id().to_owned(), about: check.about().to_owned() });
    crate::schema::pretty(&schema::Checkup {
        schema: schema::SCHEMA.to_owned(),
        subject: Subject { kind: checkup.subject.kind().to_owned(), command, pid },
        system: match facts::System::HERE {
            facts::System::Linux => System::Linux,
            facts::System::Windows => System::Windows,
            facts::System::MacOs => System::MacOs,
            facts::System::Other => System::Other,
        },
        clean: checkup.is_clean(),
        seen: seen.collect(),
        findings: findings.collect(),
        launches: launches.collect(),
        unread: checkup.unread.clone(),
        checks: checks.collect(),
    })
}

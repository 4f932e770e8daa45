//! Xcode's schemes: checks of malloc that were turned on and forgotten.
//!
//! What is ticked below *Edit Scheme > Diagnostics* is written as an attribute of the action (sanitizers) or as an
//! `<AdditionalOption>` (malloc's own checks, zombies, Guard Malloc as a library that is inserted); environment variables of
//! the scheme can do the same. Tests are reported and left alone: their purpose is to find bugs. Sources: malloc(3) and
//! libgmalloc(3) of macOS; Apple, "Diagnosing memory, thread, and crash issues early"; schemes in public repositories.

use super::{Known, Tool, has_suffix};
use crate::edit::{Change, Fix};
use crate::places::Places;
use crate::report::{DebugHeap, Report};
use crate::source::{Refused, Source};
use crate::xml;
use heapwise_environment::facts::System;
use heapwise_environment::{Finding, Severity};
use roxmltree::Node;
use std::path::Path;

#[derive(Debug)]
pub(super) struct Scheme;

/// A check: the attribute or the key that turns it on, how much it matters, and what it does.
struct Check(&'static str, Severity, &'static str);

const ATTRIBUTES: &[Check] = &[
    Check("enableAddressSanitizer", Severity::Medium, "address sanitizer: about twice as slow (documented)"),
    Check("enableThreadSanitizer", Severity::High, "thread sanitizer: 5 to 15 times as slow (documented)"),
];

/// Options and environment variables. Variables of malloc count whatever their value is.
const KEYS: &[Check] = &[
    Check(
        "DYLD_INSERT_LIBRARIES",
        Severity::High,
        "Guard Malloc: separate pages for each block (libgmalloc(3))",
    ),
    Check("MallocScribble", Severity::Medium, "malloc writes over each block that is freed (malloc(3))"),
    Check(
        "MallocPreScribble",
        Severity::Medium,
        "malloc writes over each block that it hands out (malloc(3))",
    ),
    Check("MallocGuardEdges", Severity::Low, "guard pages around large blocks (malloc(3))"),
    Check("MallocStackLogging", Severity::Medium, "malloc stores a stack for each block (malloc(3))"),
    Check("MallocStackLoggingNoCompact", Severity::Medium, "malloc stores a stack for each call (malloc(3))"),
    Check(
        "MallocCheckHeapStart",
        Severity::High,
        "malloc checks the whole heap every so many calls (malloc(3))",
    ),
    Check(
        "MallocCheckHeapEach",
        Severity::High,
        "malloc checks the whole heap every so many calls (malloc(3))",
    ),
    Check("NSZombieEnabled", Severity::Medium, "objects of Objective-C are never freed"),
];

impl Tool for Scheme {
    fn id(&self) -> &'static str {
        "xcode-scheme"
    }

    fn about(&self) -> &'static str {
        "*.xcscheme: sanitizers, Guard Malloc, malloc's checks and zombies that Xcode turns on"
    }

    fn claims(&self, path: &Path) -> bool {
        has_suffix(path, ".xcscheme")
    }

    fn read(&self, source: &Source, _known: &Known, report: &mut Report<'_>) -> Result<(), Refused> {
        let document = xml::parse(source)?;
        let scheme = source.file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        for (element, verb, is_test) in [
            ("LaunchAction", "Run", false),
            ("ProfileAction", "Profile", false),
            ("TestAction", "Test", true),
        ] {
            for action in xml::children(document.root_element(), element) {
                read_action(source, action, &scheme, verb, is_test, report);
            }
        }
        Ok(())
    }
}

fn read_action(
    source: &Source,
    action: Node<'_, '_>,
    scheme: &str,
    verb: &str,
    is_test: bool,
    report: &mut Report<'_>,
) {
    let found = checks(source, action);
    let name = format!("{} ({verb})", crate::text::plain(scheme));
    let start = action.range().start;
    if found.is_empty() {
        report.launch("Xcode", &name, source, start, DebugHeap::no("no diagnostics of malloc are ticked"));
        return;
    }
    let names: Vec<&str> = found.iter().map(|(check, ..)| check.0).collect();
    report.launch("Xcode", &name, source, start, DebugHeap::yes(names.join(", ")));
    let worst = found.iter().map(|(check, ..)| check.1).max().unwrap_or(Severity::Low);
    let severity = if is_test { Severity::Note } else { severity(report.places, worst) };
    let remedy = "untick it below Edit Scheme > Diagnostics, and tick it again when you look for a bug";
    let mut finding =
        Finding::new("xcode-malloc-diagnostics", severity, format!("{name} has a checking heap"), remedy);
    for (check, node, _) in &found {
        finding =
            finding.because(format!("{}: {}, {}", report.at(source, node.range().start), check.0, check.2));
    }
    let changes: Option<Vec<Change>> = found.into_iter().map(|(.., change)| change).collect();
    let fix = changes.filter(|_| !is_test).and_then(|changes| Fix::new(source, changes));
    report.propose(source, finding, fix);
}

/// On other systems than macOS, schemes concern only others who share the project.
fn severity(places: &Places, worst: Severity) -> Severity {
    if places.system == System::MacOs { worst } else { Severity::Low }
}

/// The checks that an action turns on, each with what turns it off.
fn checks<'a, 'i>(
    source: &Source,
    action: Node<'a, 'i>,
) -> Vec<(&'static Check, Node<'a, 'i>, Option<Change>)> {
    let mut found = Vec::new();
    for check in ATTRIBUTES {
        if action.attribute(check.0) == Some("YES") {
            found.push((check, action, xml::set_attribute(source.text(), action, check.0, "NO")));
        }
    }
    let lists = [("AdditionalOptions", "AdditionalOption"), ("EnvironmentVariables", "EnvironmentVariable")];
    for (list, entry) in lists {
        let entries = xml::children(action, list).flat_map(|list| xml::children(list, entry));
        for entry in entries.filter(|entry| entry.attribute("isEnabled") == Some("YES")) {
            let (key, value) = (entry.attribute("key").unwrap_or(""), entry.attribute("value").unwrap_or(""));
            let is_meant = match key {
                "DYLD_INSERT_LIBRARIES" => value.contains("libgmalloc"),
                "NSZombieEnabled" => !value.eq_ignore_ascii_case("NO"),
                _ => true,
            };
            if let Some(check) = KEYS.iter().find(|check| check.0 == key && is_meant) {
                found.push((check, entry, xml::set_attribute(source.text(), entry, "isEnabled", "NO")));
            }
        }
    }
    found
}

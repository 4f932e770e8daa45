//! The debug heap that Windows gives to processes which a debugger creates.

use super::Check;
use crate::facts::windows::{DEBUG_HEAP, FORCED_CHECKS, WindowsHeap};
use crate::{Facts, Finding, NO_DEBUG_HEAP, Severity, turns_debug_heap_off};

pub(super) struct WindowsDebugHeap;

impl Check for WindowsDebugHeap {
    fn id(&self) -> &'static str {
        "windows-debug-heap"
    }

    fn about(&self) -> &'static str {
        "a debugger, or the registry, gives the program the debug heap of Windows"
    }

    fn variables(&self) -> &'static [&'static str] {
        &[NO_DEBUG_HEAP]
    }

    fn look(&self, facts: &Facts) -> Vec<Finding> {
        let Some(windows) = &facts.windows else { return Vec::new() };
        let is_forced = windows.force_flags.is_some_and(|flags| flags & FORCED_CHECKS != 0);
        // If the heap's header can be read, it decides: a heap that was made without the checks stays without.
        let has_it = is_forced || (windows.force_flags.is_none() && windows.has_flag(DEBUG_HEAP));
        if !has_it {
            return Vec::new();
        }
        let title = format!("the process heap {} the checks of Windows' debug heap", facts.has());
        let mut finding = Finding::new(self.id(), Severity::High, title, "").costs(
            "documented for Windows: programs 3.7 to 250 times slower, the worst where many blocks are freed; wasmtime's \
             tests 65 times",
        );
        finding.evidence.extend(flags(windows));
        let (why, remedy) = cause(facts, windows);
        finding.evidence.extend(why);
        finding.remedy = remedy;
        vec![finding]
    }
}

fn flags(windows: &WindowsHeap) -> Option<String> {
    let global = windows.nt_global_flag?;
    Some(match windows.force_flags {
        Some(force) => format!("NtGlobalFlag is {global:#x}, ForceFlags of the heap are {force:#x}"),
        None => format!("NtGlobalFlag is {global:#x}"),
    })
}

/// Where the debug heap comes from, and how it goes away.
fn cause(facts: &Facts, windows: &WindowsHeap) -> (Vec<String>, String) {
    if let Some((options, flag)) = windows.asked_by(DEBUG_HEAP) {
        let why = format!("the registry has GlobalFlag={flag:#x} in {}", options.key);
        let remedy = format!("as administrator: reg delete {} /v GlobalFlag", quiet(&options.key));
        return (vec![why], remedy);
    }
    if let Some(flag) = windows.machine_flag(DEBUG_HEAP) {
        let why = format!("the session manager has GlobalFlag={flag:#x}, for every process of this machine");
        return (vec![why], "as administrator: gflags /r +0, then restart Windows".to_owned());
    }
    let mut why = Vec::new();
    if windows.being_debugged == Some(true) {
        why.push("a debugger is attached; one that creates the process gets it this heap".to_owned());
    }
    if let Some(version) = &windows.wine {
        why.push(format!(
            "this is Wine {version}, which never does that by itself: it is an emulation, and cheaper than on Windows"
        ));
    }
    let mut remedy = format!(
        "start it with {NO_DEBUG_HEAP}=1 in its environment: in the debugger's launch configuration, or with `heapwise \
         launch -- CMD`"
    );
    if let Some(value) = facts.variables.get(NO_DEBUG_HEAP).filter(|value| turns_debug_heap_off(value)) {
        why.push(format!("{NO_DEBUG_HEAP}={value} was set too late: it is read once, before main"));
        remedy.push_str("; setting it in the program itself does nothing");
    }
    (why, remedy)
}

/// A key as an argument of `reg`, which does not ask then.
fn quiet(key: &str) -> String {
    format!("{key} /f")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::{ImageOptions, Subject, Variables};

    fn facts(windows: WindowsHeap) -> Facts {
        Facts { subject: Subject::Own, windows: Some(windows), ..Facts::default() }
    }

    fn debugged() -> WindowsHeap {
        WindowsHeap {
            being_debugged: Some(true),
            nt_global_flag: Some(0x70),
            heap_flags: Some(0x4000_0062),
            force_flags: Some(0x4000_0060),
            ..WindowsHeap::default()
        }
    }

    #[test]
    fn a_debugged_process_is_found_with_the_variable_as_remedy() {
        let found = &WindowsDebugHeap.look(&facts(debugged()))[0];
        assert_eq!((found.severity, found.title.contains("has the checks")), (Severity::High, true));
        assert!(found.remedy.contains("_NO_DEBUG_HEAP=1") && found.evidence[0].contains("0x40000060"));
    }

    #[test]
    fn a_debugger_alone_is_no_finding() {
        let clean = WindowsHeap { nt_global_flag: Some(0), force_flags: Some(0), ..debugged() };
        assert_eq!(WindowsDebugHeap.look(&facts(clean)), []);
        // The block was written to afterwards; the heap is what counts.
        let late = WindowsHeap { force_flags: Some(0), ..debugged() };
        assert_eq!(WindowsDebugHeap.look(&facts(late)), []);
    }

    #[test]
    fn a_variable_that_came_too_late_is_named() {
        let late = Facts { variables: Variables::from([("_NO_DEBUG_HEAP", "1")]), ..facts(debugged()) };
        let found = &WindowsDebugHeap.look(&late)[0];
        assert!(found.evidence.iter().any(|line| line.contains("too late")), "{found:?}");
    }

    #[test]
    fn the_registry_is_the_cause_if_it_asks_for_it() {
        let key = ImageOptions {
            key: "\"HKLM\\x.exe\" /reg:64".into(),
            global_flag: Some(0x70),
            ..ImageOptions::default()
        };
        let by_registry = WindowsHeap { image_options: vec![key.clone()], ..debugged() };
        assert!(WindowsDebugHeap.look(&facts(by_registry))[0].remedy.contains("reg delete \"HKLM"));
        // Of a command nothing else is known.
        let command = WindowsHeap { image_options: vec![key], ..WindowsHeap::default() };
        let command = Facts { subject: Subject::Command, ..facts(command) };
        assert!(WindowsDebugHeap.look(&command)[0].title.contains("would have"));
    }

    #[test]
    fn wine_is_said_to_emulate_it() {
        let wine = WindowsHeap { wine: Some("8.0".into()), ..debugged() };
        let found = &WindowsDebugHeap.look(&facts(wine))[0];
        assert!(found.evidence.iter().any(|line| line.contains("Wine 8.0") && line.contains("emulation")));
    }
}

//! Keys that heap tracing and `gflags` leave behind in Image File Execution Options.
//!
//! The checks of what such a key turns on name it as their cause. This one is about the rest: tracing that was never turned
//! off, and keys that change what a debugger does to the heap and are easily forgotten.

use super::Check;
use crate::facts::ImageOptions;
use crate::facts::windows::{APPLICATION_VERIFIER, DEBUG_HEAP, PAGE_HEAP};
use crate::{Facts, Finding, Severity};

/// In `TracingFlags`: every call of the heap is traced, as `wpr -HeapTracingConfig` sets it.
const HEAP_TRACING: u32 = 1;

pub(super) struct ImageFileExecutionOptions;

impl Check for ImageFileExecutionOptions {
    fn id(&self) -> &'static str {
        "image-file-execution-options"
    }

    fn about(&self) -> &'static str {
        "a key in the registry that heap tracing or gflags left behind for programs of this name"
    }

    fn look(&self, facts: &Facts) -> Vec<Finding> {
        let windows = facts.windows.iter().flat_map(|windows| &windows.image_options);
        windows.filter_map(|options| self.of_key(facts, options)).collect()
    }
}

impl ImageFileExecutionOptions {
    fn of_key(&self, facts: &Facts, options: &ImageOptions) -> Option<Finding> {
        let key = &options.key;
        let remedy = format!("if it is not needed any more, as administrator: reg delete {key} /f");
        if let Some(flags) = options.tracing_flags.filter(|flags| flags & HEAP_TRACING != 0) {
            let title = format!("the program {} each call of its heap traced", facts.has());
            let finding = Finding::new(self.id(), Severity::Medium, title, remedy);
            return Some(finding.because(format!("TracingFlags={flags:#x} in {key}")));
        }
        let flag = options.global_flag.unwrap_or_default();
        let now = facts.windows.as_ref().and_then(|windows| windows.nt_global_flag);
        let asked = flag & (DEBUG_HEAP | PAGE_HEAP | APPLICATION_VERIFIER);
        if asked != 0 {
            // Checks that are already on have a separate finding, and so has what a command would have.
            let pending = now.is_some_and(|now| now & asked == 0);
            let title = "the next start of the program will have a checking heap";
            return pending.then(|| {
                Finding::new(self.id(), Severity::Medium, title, remedy)
                    .because(format!("GlobalFlag={flag:#x} in {key}"))
            });
        }
        let title =
            "the registry has options for programs of this name, so a debugger gives them no debug heap";
        Some(Finding::new(self.id(), Severity::Note, title, remedy).because(format!("there is {key}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::WindowsHeap;

    fn look(options: ImageOptions, now: Option<u32>) -> Vec<Finding> {
        let windows =
            WindowsHeap { nt_global_flag: now, image_options: vec![options], ..WindowsHeap::default() };
        ImageFileExecutionOptions.look(&Facts { windows: Some(windows), ..Facts::default() })
    }

    #[test]
    fn a_key_without_flags_is_a_note() {
        assert_eq!(look(ImageOptions::default(), Some(0))[0].severity, Severity::Note);
    }

    #[test]
    fn tracing_is_a_finding() {
        let traced = ImageOptions { tracing_flags: Some(1), ..ImageOptions::default() };
        assert_eq!(look(traced, None)[0].severity, Severity::Medium);
    }

    #[test]
    fn what_has_a_finding_of_its_own_is_not_reported_twice() {
        let flagged = ImageOptions { global_flag: Some(0x70), ..ImageOptions::default() };
        assert_eq!(look(flagged.clone(), Some(0x70)), []);
        assert_eq!(look(flagged.clone(), None), []);
        assert!(look(flagged, Some(0))[0].title.contains("next start"));
    }
}

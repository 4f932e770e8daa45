//! The debug version of Microsoft's C runtime, whose heap has additional checks.

use super::Check;
use crate::{Facts, Finding, Severity};

pub(super) struct MsvcDebugRuntime;

impl Check for MsvcDebugRuntime {
    fn id(&self) -> &'static str {
        "msvc-debug-runtime"
    }

    fn about(&self) -> &'static str {
        "C and C++ code in the process was built with /MDd, whose heap checks and fills blocks"
    }

    fn look(&self, facts: &Facts) -> Vec<Finding> {
        if !facts.windows.as_ref().is_some_and(|windows| windows.has_debug_crt) {
            return Vec::new();
        }
        let title = "the debug version of the C runtime is loaded, whose heap checks and fills blocks";
        let remedy =
            "measure a release build (/MD); Rust code is not affected, it asks Windows for memory itself";
        let finding = Finding::new(self.id(), Severity::Medium, title, remedy);
        vec![finding.because("ucrtbased.dll, or an older one of its kind, is loaded")]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::WindowsHeap;

    #[test]
    fn it_is_found_where_it_is_loaded() {
        let look = |has_debug_crt| {
            let windows = WindowsHeap { has_debug_crt, ..WindowsHeap::default() };
            MsvcDebugRuntime.look(&Facts { windows: Some(windows), ..Facts::default() }).len()
        };
        assert_eq!([look(true), look(false)], [1, 0]);
    }
}

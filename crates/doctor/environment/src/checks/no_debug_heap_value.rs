//! `_NO_DEBUG_HEAP` with a value that does nothing.

use super::Check;
use crate::facts::System;
use crate::{Facts, Finding, NO_DEBUG_HEAP, Severity, turns_debug_heap_off};

pub(super) struct NoDebugHeapValue;

impl Check for NoDebugHeapValue {
    fn id(&self) -> &'static str {
        "no-debug-heap-value"
    }

    fn about(&self) -> &'static str {
        "_NO_DEBUG_HEAP has a value that Windows ignores"
    }

    fn variables(&self) -> &'static [&'static str] {
        &[NO_DEBUG_HEAP]
    }

    fn look(&self, facts: &Facts) -> Vec<Finding> {
        let value = facts.variables.get(NO_DEBUG_HEAP).filter(|_| facts.system == System::Windows);
        let Some(value) = value.filter(|value| !turns_debug_heap_off(value)) else { return Vec::new() };
        let title = format!("{NO_DEBUG_HEAP} is set and does nothing");
        vec![
            Finding::new(self.id(), Severity::Low, title, format!("set {NO_DEBUG_HEAP}=1"))
                .because(format!("{NO_DEBUG_HEAP}={value}"))
                .because("Windows takes a number other than 0, and neither `true` nor an empty value")
                .costs("none without a debugger; under one, whatever the debug heap costs"),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::Variables;

    #[test]
    fn values_that_windows_ignores_are_found_on_windows() {
        let look = |system, value| {
            let variables = Variables::from([("_NO_DEBUG_HEAP", value)]);
            NoDebugHeapValue.look(&Facts { system, variables, ..Facts::default() }).len()
        };
        for value in ["true", "", "0", "yes"] {
            assert_eq!((look(System::Windows, value), look(System::Linux, value)), (1, 0), "{value:?}");
        }
        assert_eq!(look(System::Windows, "1"), 0);
        let unset = Facts { system: System::Windows, ..Facts::default() };
        assert_eq!(NoDebugHeapValue.look(&unset), []);
    }
}

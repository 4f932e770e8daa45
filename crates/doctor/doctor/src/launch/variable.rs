//! Whether the variable has to be set.

#![cfg_attr(not(any(windows, test)), expect(dead_code, reason = "for Windows"))]

use heapwise_environment::turns_debug_heap_off;
use std::ffi::OsStr;

/// The value to set, or `None` if the one that is inherited works.
pub(crate) fn needed(inherited: Option<&OsStr>) -> Option<&'static str> {
    let works = inherited.and_then(OsStr::to_str).is_some_and(turns_debug_heap_off);
    (!works).then_some("1")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_that_works_is_kept() {
        let needed = |value: &str| needed(Some(value.as_ref()));
        assert_eq!(
            [needed("2"), needed("true"), needed("0"), needed("")],
            [None, Some("1"), Some("1"), Some("1")]
        );
        assert_eq!(super::needed(None), Some("1"));
    }
}

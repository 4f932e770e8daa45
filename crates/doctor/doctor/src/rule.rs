//! What a value of `_NO_DEBUG_HEAP` does, and why if it does nothing. The rule itself is that of
//! [`heapwise_environment::turns_debug_heap_off`].

use heapwise_environment::{LONGEST_VALUE, ntdll_integer, turns_debug_heap_off};

/// The variable. Names of variables do not depend on case on Windows.
pub const VARIABLE: &str = heapwise_environment::NO_DEBUG_HEAP;

/// What a value of `_NO_DEBUG_HEAP` does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// The process gets the plain heap.
    Off,
    /// The process gets the debug heap all the same.
    Nothing {
        /// Why, as the rest of a sentence that begins with the value.
        why: &'static str,
    },
}

/// Applies the rule to a value.
pub fn effect(value: &str) -> Effect {
    if turns_debug_heap_off(value) {
        return Effect::Off;
    }
    Effect::Nothing {
        why: match ntdll_integer(value) {
            _ if value.encode_utf16().count() > LONGEST_VALUE => {
                "is longer than the 15 characters that ntdll reads"
            }
            None => "is no number, and only a number other than zero counts",
            Some(_) => "is zero, and only a number other than zero counts",
        },
    }
}

/// Whether a name is that of the variable.
pub fn is_variable(name: &str) -> bool {
    name.eq_ignore_ascii_case(VARIABLE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_number_other_than_zero_turns_it_off() {
        for off in ["1", "2", "0x1", "0o7", "0b1", " 1", "-1", "+1", "10", "1 ", "1abc", "007"] {
            assert_eq!(effect(off), Effect::Off, "{off:?}");
        }
        for nothing in ["", " ", "0", "00", "0x0", "0x", "0o", "true", "yes", "on", "TRUE", "x1", "\"1\""] {
            assert!(matches!(effect(nothing), Effect::Nothing { .. }), "{nothing:?}");
        }
    }

    #[test]
    fn a_value_has_to_fit_into_sixteen_words() {
        assert_eq!(effect("000000000000001"), Effect::Off);
        assert!(matches!(effect("0000000000000001"), Effect::Nothing { why } if why.contains("15")));
        assert!(matches!(effect("4294967296"), Effect::Nothing { .. }), "it wraps to zero");
    }

    #[test]
    fn the_case_of_the_name_does_not_matter() {
        assert!(is_variable("_No_Debug_Heap"));
        assert!(!is_variable("NO_DEBUG_HEAP"));
    }
}

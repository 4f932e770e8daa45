//! What `ntdll` makes of `_NO_DEBUG_HEAP`.
//!
//! When a process starts that a debugger created, `LdrpInitializeExecutionOptions` reads the variable into a buffer of 16
//! UTF-16 words and has `RtlUnicodeStringToInteger` convert it with base 0. The heap checks stay on if there is no such
//! variable, if it does not fit, or if the number is zero. So `true`, `yes` and nothing at all are zero, and the debug heap
//! stays; `1`, `2` and `0x1` turn it off. It is read once, before `main`.
//!
//! Source: the function in a decompiled ntdll of Windows 10 that is public, and the documentation of
//! `RtlUnicodeStringToInteger`, <https://learn.microsoft.com/windows-hardware/drivers/ddi/wdm/nf-wdm-rtlunicodestringtointeger>.

/// The variable. Names of variables do not depend on case on Windows.
pub const VARIABLE: &str = "_NO_DEBUG_HEAP";

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

/// Characters that fit into ntdll's buffer with the zero that ends them.
const BUFFER: usize = 15;

/// Applies the rule to a value.
pub fn effect(value: &str) -> Effect {
    if value.encode_utf16().count() > BUFFER {
        return Effect::Nothing { why: "is longer than the 15 characters that ntdll reads" };
    }
    match number(value) {
        None => Effect::Nothing { why: "is no number, and only a number other than zero counts" },
        Some(0) => Effect::Nothing { why: "is zero, and only a number other than zero counts" },
        Some(_) => Effect::Off,
    }
}

/// Whether a name is that of the variable.
pub fn is_variable(name: &str) -> bool {
    name.eq_ignore_ascii_case(VARIABLE)
}

/// The digits at the front as `RtlUnicodeStringToInteger` reads them with base 0, or nothing if there are none.
fn number(value: &str) -> Option<u32> {
    // It skips everything up to the space, then takes one sign, which does not make a number zero.
    let value = value.trim_start_matches(|c: char| c <= ' ');
    let value = value.strip_prefix(['-', '+']).unwrap_or(value);
    let (base, digits) = match value.as_bytes() {
        [b'0', b'x', ..] => (16, &value[2..]),
        [b'0', b'o', ..] => (8, &value[2..]),
        [b'0', b'b', ..] => (2, &value[2..]),
        _ => (10, value),
    };
    let mut any = false;
    let mut sum = 0_u32;
    // What follows the digits is ignored. There is no check for an overflow either: 2^32 is zero.
    for digit in digits.chars().map_while(|c| c.to_digit(base)) {
        any = true;
        sum = sum.wrapping_mul(base).wrapping_add(digit);
    }
    any.then_some(sum)
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

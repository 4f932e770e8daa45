//! `_NO_DEBUG_HEAP`, and what ntdll makes of its value.
//!
//! The rule is that of a recent ntdll as it was decompiled (`LdrpInitializeExecutionOptions`): a process that a debugger has
//! created, and for whose program the registry has no options, gets the debug heap unless the variable is a number other
//! than 0. It is read once, by the process itself, before `main`: setting it there is too late.

pub const NO_DEBUG_HEAP: &str = "_NO_DEBUG_HEAP";

/// Units of UTF-16 that fit into ntdll's buffer of 16 with the zero that ends them. What does not fit counts as not set.
pub const LONGEST_VALUE: usize = 15;

/// Whether a value of `_NO_DEBUG_HEAP` does what it is set for.
///
/// `1` does, and so does any integer but 0, in decimal or with `0x`, `0o` or `0b` in front. `true`, `yes`, `0` and the empty
/// string do not. As ntdll does, spaces in front and whatever comes after the digits are passed over.
///
/// ```
/// # use heapwise_environment::turns_debug_heap_off;
/// assert!(turns_debug_heap_off("1") && turns_debug_heap_off("0x10"));
/// assert!(!turns_debug_heap_off("true") && !turns_debug_heap_off("0") && !turns_debug_heap_off(""));
/// ```
pub fn turns_debug_heap_off(value: &str) -> bool {
    value.encode_utf16().count() <= LONGEST_VALUE && ntdll_integer(value).is_some_and(|number| number != 0)
}

/// What ntdll reads as a number, `RtlUnicodeStringToInteger` with base 0: a number up to the first character that is none of it. `None` for no digits.
pub fn ntdll_integer(text: &str) -> Option<u32> {
    let text = text.trim_start_matches(|c| c <= ' ');
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let bases = [("0x", 16), ("0o", 8), ("0b", 2)];
    let based = bases.iter().find_map(|(prefix, base)| Some((digits.strip_prefix(prefix)?, *base)));
    let (digits, base) = based.unwrap_or((digits, 10));
    let mut digits = digits.chars().map_while(|c| c.to_digit(base)).peekable();
    digits.peek()?;
    // What is too large wraps around, as it does there.
    let number = digits.fold(0_u32, |number, digit| number.wrapping_mul(base).wrapping_add(digit));
    Some(if negative { number.wrapping_neg() } else { number })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) const DOES: &[&str] = &[
        "1",
        "2",
        "-1",
        "+1",
        " 1",
        "\t 7",
        "0x1",
        "0xff",
        "0o7",
        "0b1",
        "01",
        "1 ",
        "1;",
        "1true",
        "4294967295",
    ];
    pub(crate) const DOES_NOT: &[&str] = &[
        "",
        "0",
        "00",
        "0x0",
        "-0",
        " ",
        "true",
        "yes",
        "on",
        "TRUE",
        "x1",
        "0X1",
        "0x",
        "--1",
        "\"1\"",
        "4294967296",
    ];

    #[test]
    fn only_a_number_that_is_not_zero_turns_it_off() {
        for value in DOES {
            assert!(turns_debug_heap_off(value), "{value:?}");
        }
        for value in DOES_NOT {
            assert!(!turns_debug_heap_off(value), "{value:?}");
        }
        assert!(turns_debug_heap_off("000000000000001") && !turns_debug_heap_off("0000000000000001"));
    }
}

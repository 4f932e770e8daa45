//! Names of a recorded program, made harmless: as in other exports, what would move a cursor or end a line is spelled out.

use crate::id::Id;
use heapwise_environment::harmless::escape;
use std::borrow::Cow;

/// Longer texts are cut: a table has thousands of rows, and a hostile recording one name of a megabyte for all of them.
const LONGEST: usize = 1000;
/// What stands for the rest, at most.
const ENDING: usize = 40;

/// The text without harmful characters. Of a long one the end becomes the id of the whole, so that two of them stay two. What is harmless
/// stays as it is.
pub(crate) fn harmless(text: &str) -> Cow<'_, str> {
    let escaped = escape(text);
    if escaped.len() <= LONGEST + ENDING {
        return escaped;
    }
    let whole = Id::of(&[escaped.as_bytes()]);
    Cow::Owned(format!("{}… {whole}", &escaped[..escaped.floor_char_boundary(LONGEST)]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_harmless_stays_and_long_texts_stay_different() {
        assert_eq!(harmless("Vec<T>::push"), "Vec<T>::push");
        assert_eq!(harmless("a\u{1b}[31m\n"), "a\\u{1b}[31m\\n");
        let (long, longer) = ("é".repeat(600), "é".repeat(601));
        let cut = harmless(&long).into_owned();
        assert!(cut.len() <= LONGEST + ENDING && cut != harmless(&longer), "{cut}");
        for text in [cut.as_str(), "a\\u{1b}", &"\n".repeat(900), &"x".repeat(1030)] {
            let once = harmless(text).into_owned();
            assert_eq!(harmless(&once), once);
        }
    }
}

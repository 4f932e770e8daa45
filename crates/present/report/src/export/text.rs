//! Names of a recorded program, made harmless.
//!
//! They come from symbol tables and debug information that are not trusted. Characters that would move a cursor, end a line or
//! reverse the direction of writing are spelled out, and long names are cut. Markup is left unchanged: the formats have no
//! markup, and each is escaped by its own rules.

use crate::escape::terminal::escape;
use heapwise_analysis::{Frame, Place};
use std::borrow::Cow;

/// Longer names are cut. As long as what heapwise itself finds in a symbol table, with room for a path.
const LONGEST: usize = 4200;

/// The text without harmful characters.
pub(crate) fn harmless(text: &str) -> Cow<'_, str> {
    match text.len() > LONGEST {
        true => Cow::Owned(escape(&text[..text.floor_char_boundary(LONGEST)]).into_owned() + "…"),
        false => escape(text),
    }
}

/// The name of a frame's function; without one, where its code is.
pub(crate) fn function<'a>(frame: &Frame<'a>) -> Cow<'a, str> {
    match frame.function.map(str::trim).filter(|name| !name.is_empty()) {
        Some(name) => harmless(name),
        None => Cow::Owned(unnamed(frame.module.map(|m| m.path.as_str()), frame.address)),
    }
}

/// The source file of a frame, if it is known.
pub(crate) fn file<'a>(frame: &Frame<'a>) -> Option<Cow<'a, str>> {
    frame.file.filter(|file| !file.is_empty()).map(harmless)
}

/// Path of the object file of a place, if there is one.
pub(crate) fn module<'a>(place: &Place<'a>) -> Option<Cow<'a, str>> {
    place.module.map(|(_, image)| harmless(&image.path))
}

fn unnamed(module: Option<&str>, address: u64) -> String {
    match module {
        Some(path) => format!("{}+0x{address:x}", harmless(last_part(path))),
        None => format!("0x{address:x}"),
    }
}

/// The name of a file without its folders.
pub(crate) fn last_part(path: &str) -> &str {
    path.rsplit('/').find(|part| !part.is_empty()).unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_spelled_out_and_markup_is_left() {
        assert_eq!(harmless("Vec<T, A>::push"), "Vec<T, A>::push");
        assert_eq!(harmless("a\x1b[2J\nb\u{85}"), "a\\u{1b}[2J\\nb\\u{85}");
        assert_eq!(harmless("\u{202e}x\u{2028}\u{fffd}<script>"), "\\u{202e}x\\u{2028}\u{fffd}<script>");
    }

    #[test]
    fn long_names_are_cut_between_characters() {
        let cut = harmless(&"é".repeat(LONGEST)).into_owned();
        assert!(cut.ends_with("é…") && cut.len() <= LONGEST + 3);
        assert!(harmless(&"\n".repeat(1 << 20)).len() <= 2 * LONGEST + 3);
    }

    #[test]
    fn code_without_a_name_is_where_it_lies() {
        assert_eq!(unnamed(Some("/usr/lib/libx.so.1"), 0x1234), "libx.so.1+0x1234");
        assert_eq!(unnamed(Some("[vdso]"), 9), "[vdso]+0x9");
        assert_eq!(unnamed(None, 0xffee), "0xffee");
    }
}

//! Each string once.

use crate::escape::terminal::escape;
use serde::{Serialize, Serializer};
use std::collections::HashMap;

/// A table of strings. Number 0 is the empty one, which stands for what is not known.
#[derive(Debug)]
pub(super) struct Strings {
    list: Vec<String>,
    numbers: HashMap<String, u32>,
}

impl Default for Strings {
    fn default() -> Self {
        Self { list: vec![String::new()], numbers: HashMap::from([(String::new(), 0)]) }
    }
}

impl Strings {
    /// The number of a string. Control characters and the like are spelled out, as on a terminal.
    pub(super) fn number(&mut self, text: &str) -> u32 {
        let text = escape(text);
        if let Some(&number) = self.numbers.get(text.as_ref()) {
            return number;
        }
        let number = self.list.len() as u32;
        self.list.push(text.clone().into_owned());
        self.numbers.insert(text.into_owned(), number);
        number
    }

    /// The string of a number.
    pub(super) fn text(&self, number: u32) -> &str {
        self.list.get(number as usize).map_or("", String::as_str)
    }
}

impl Serialize for Strings {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.list.serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_strings_have_one_number_and_harmful_ones_are_spelled_out() {
        let mut strings = Strings::default();
        assert_eq!(
            [strings.number("a"), strings.number(""), strings.number("b"), strings.number("a")],
            [1, 0, 2, 1]
        );
        strings.number("a\u{202e}b\n");
        assert_eq!(serde_json::to_string(&strings).unwrap(), r#"["","a","b","a\\u{202e}b\\n"]"#);
    }
}

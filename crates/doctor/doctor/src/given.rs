//! What one place of a configuration sets `_NO_DEBUG_HEAP` to.

use crate::edit::Change;
use crate::json;
use crate::rule::{self, Effect};
use crate::source::Source;
use crate::text;
use jsonc_parser::ast::{Object, Value};
use jsonc_parser::common::Ranged;
use std::path::PathBuf;

/// What the variable is set to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Given {
    #[default]
    Absent,
    /// A value that turns the debug heap off.
    Off {
        /// Where, for a message.
        at: String,
    },
    /// A value that does nothing.
    Mistake(Mistake),
    /// A value that is only known later.
    Unknown {
        /// The value and where it is, for a message.
        at: String,
    },
}

/// A value that does nothing, although it looks as if it did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mistake {
    /// The value as written in the file.
    pub(crate) shown: String,
    /// What is wrong with it, as the rest of a sentence that begins with the value.
    pub(crate) why: String,
    /// The file that it is in.
    pub(crate) file: PathBuf,
    /// The line that it is in.
    pub(crate) line: usize,
    /// What sets it right.
    pub(crate) change: Option<Change>,
}

impl Given {
    /// What a value means. `change` sets it right if it does nothing.
    pub(crate) fn value(source: &Source, value: &str, at: usize, change: Option<Change>) -> Self {
        let line = source.line(at);
        let shown = text::plain(value);
        // `${…}` of VS Code, `$VAR` of Zed, `$(…)` of Visual Studio, `%VAR%` of Windows.
        if value.contains(['$', '%']) {
            return Self::Unknown { at: format!("{shown} in line {line}") };
        }
        match rule::effect(value) {
            Effect::Off => Self::Off { at: format!("{shown} in line {line}") },
            Effect::Nothing { why } => {
                let file = source.file.clone();
                Self::Mistake(Mistake {
                    shown: format!("\"{shown}\""),
                    why: why.to_owned(),
                    file,
                    line,
                    change,
                })
            }
        }
    }

    /// This value, or the other one if this is absent.
    pub(crate) fn or_else(self, elsewhere: impl FnOnce() -> Self) -> Self {
        if self == Self::Absent { elsewhere() } else { self }
    }

    /// The value that an environment in JSON has: an object, an array of objects with name and value, or an array of
    /// `NAME=VALUE`.
    pub(crate) fn in_json(source: &Source, environment: Option<&Value<'_>>) -> Self {
        match environment {
            Some(Value::Object(object)) => Self::in_object(source, object),
            Some(Value::Array(array)) => array
                .elements
                .iter()
                .rev()
                .map(|item| Self::in_item(source, item))
                .fold(Self::Absent, |a, b| a.or_else(|| b)),
            _ => Self::Absent,
        }
    }

    fn in_object(source: &Source, object: &Object<'_>) -> Self {
        match object.properties.iter().rev().find(|p| rule::is_variable(p.name.as_str())) {
            Some(property) => Self::json_value(source, &property.value),
            None => Self::Absent,
        }
    }

    /// A value of JSON. Environments take strings only.
    fn json_value(source: &Source, value: &Value<'_>) -> Self {
        let change = Some(Change::replace(json::range(value), "\"1\""));
        if let Some(string) = json::as_str(value) {
            return Self::value(source, string, value.start(), change);
        }
        let why = "is no string, and environments take strings only".to_owned();
        let (shown, line) = (text::plain(&source.text()[json::range(value)]), source.line(value.start()));
        Self::Mistake(Mistake { shown, why, file: source.file.clone(), line, change })
    }

    fn in_item(source: &Source, item: &Value<'_>) -> Self {
        match item {
            Value::Object(pair) if json::string(pair, "name").is_some_and(rule::is_variable) => {
                match json::get(pair, "value") {
                    Some(value) => Self::json_value(source, value),
                    None => Self::Absent,
                }
            }
            Value::StringLit(pair) => match pair.value.split_once('=') {
                Some((name, value)) if rule::is_variable(name) => {
                    let change = Change::replace(json::range(item), format!("\"{}=1\"", rule::VARIABLE));
                    Self::value(source, value, item.start(), Some(change))
                }
                _ => Self::Absent,
            },
            _ => Self::Absent,
        }
    }

    /// The value that lines of `NAME=VALUE` have, as in env files and in Visual Studio. The text begins at a byte of the source.
    pub(crate) fn in_lines(source: &Source, lines: &str, start: usize) -> Self {
        let mut given = Self::Absent;
        let mut at = start;
        for line in lines.split_inclusive('\n') {
            let body = line.trim();
            let pair = body.strip_prefix("export ").unwrap_or(body).split_once('=');
            if let Some((_, value)) = pair.filter(|(name, _)| rule::is_variable(name.trim())) {
                let value = value.trim();
                let begin = at + (value.as_ptr() as usize - line.as_ptr() as usize);
                let bare = value.trim_matches(['"', '\'']);
                given =
                    Self::value(source, bare, begin, Some(Change::replace(begin..begin + value.len(), "1")));
            }
            at += line.len();
        }
        given
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edit::Fix;
    use crate::places::Owner;

    fn source(text: &str) -> Source {
        Source::from_bytes("a".into(), Owner::Project, text.as_bytes().to_vec()).expect("is UTF-8")
    }

    fn corrected(text: &str) -> Option<String> {
        let source = source(text);
        let value = json::parse(&source).expect("is JSON").expect("is not empty");
        match Given::in_json(&source, Some(&value)) {
            Given::Mistake(mistake) => {
                let edit = Fix::new(&source, vec![mistake.change.expect("can be set right")])?.edit()?;
                Some(String::from_utf8(edit.after).expect("is UTF-8"))
            }
            _ => None,
        }
    }

    #[test]
    fn environments_in_json_are_read_in_each_form() {
        let fixed = |text: &str, after: &str| assert_eq!(corrected(text).as_deref(), Some(after), "{text}");
        fixed(r#"{"_NO_DEBUG_HEAP": "true"}"#, r#"{"_NO_DEBUG_HEAP": "1"}"#);
        fixed(r#"{"_no_debug_heap": 1}"#, r#"{"_no_debug_heap": "1"}"#);
        fixed(r#"{"_NO_DEBUG_HEAP": null}"#, r#"{"_NO_DEBUG_HEAP": "1"}"#);
        fixed(
            r#"[{"name": "_NO_DEBUG_HEAP", "value": ""}]"#,
            r#"[{"name": "_NO_DEBUG_HEAP", "value": "1"}]"#,
        );
        fixed(r#"["A=1", "_NO_DEBUG_HEAP=yes"]"#, r#"["A=1", "_NO_DEBUG_HEAP=1"]"#);
        for fine in [r#"{"_NO_DEBUG_HEAP": "0x2"}"#, r#"["_NO_DEBUG_HEAP=1"]"#, r#"{"A": "1"}"#, "[]"] {
            assert_eq!(corrected(fine), None, "{fine}");
        }
    }

    #[test]
    fn variables_are_known_later() {
        let source = source(r#"{"_NO_DEBUG_HEAP": "${env:HEAP}"}"#);
        let value = json::parse(&source).expect("is JSON");
        assert!(matches!(Given::in_json(&source, value.as_ref()), Given::Unknown { .. }));
    }

    #[test]
    fn the_last_line_counts() {
        let text = "# x\nA=1\nexport _NO_DEBUG_HEAP=1\r\n_NO_DEBUG_HEAP = 'yes'\r\n";
        let source = source(text);
        let Given::Mistake(mistake) = Given::in_lines(&source, text, 0) else { panic!("it is one") };
        assert_eq!((mistake.line, mistake.shown.as_str()), (4, "\"yes\""));
        assert_eq!(&text[mistake.change.expect("can be set right").range], "'yes'");
    }
}

//! A question in SQL: what it is about, and which values it needs.

use crate::failure::{Failure, USAGE};
use anyhow::anyhow;

/// A question in SQL.
#[derive(Clone, Debug)]
pub(crate) struct Question {
    pub(crate) sql: String,
    /// The names behind `$` in it.
    pub(crate) parameters: Vec<String>,
}

impl Question {
    pub(crate) fn new(sql: &str) -> Self {
        Self { sql: sql.to_owned(), parameters: parameters(sql) }
    }

    /// What it answers: its first comment, up to the end of its first sentence.
    pub(crate) fn about(&self) -> String {
        let lines = self.sql.lines().map_while(|line| line.strip_prefix("--")).map(str::trim);
        let comment = lines.collect::<Vec<_>>().join(" ");
        match comment.split_once("? ") {
            Some((question, _)) => format!("{question}?"),
            None => comment,
        }
    }

    /// # Errors
    /// If a value was given that it has no place for.
    pub(crate) fn check(&self, given: &[(String, String)]) -> Result<(), Failure> {
        let Some((name, _)) = given.iter().find(|(name, _)| !self.parameters.contains(name)) else {
            return Ok(());
        };
        let known: Vec<String> = self.parameters.iter().map(|name| format!("${name}")).collect();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        Err(Failure::new(USAGE, anyhow!("the question has no ${name}, only: {known}")))
    }
}

/// Of a value that was not given and that nothing suggests.
pub(crate) fn is_missing(name: &str) -> Failure {
    Failure::new(USAGE, anyhow!("the question needs ${name}: give it with --set {name}=VALUE"))
}

/// The names behind `$`, outside of comments, of texts and of quoted names.
fn parameters(sql: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let mut rest = sql;
    while let Some(first) = rest.chars().next() {
        let behind = |text: &str, end: &str| text.find(end).map_or(text.len(), |at| at + end.len());
        let skipped = match first {
            // Two quotes in a text, which stand for one, are the end of it and the beginning of the next.
            '\'' | '"' => 1 + behind(&rest[1..], if first == '"' { "\"" } else { "'" }),
            '-' if rest.starts_with("--") => behind(rest, "\n"),
            '/' if rest.starts_with("/*") => behind(rest, "*/"),
            '$' => {
                let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
                let name: String = rest[1..].chars().take_while(|c| is_part(*c)).collect();
                let length = 1 + name.len();
                if !name.is_empty() && !names.contains(&name) {
                    names.push(name);
                }
                length
            }
            other => other.len_utf8(),
        };
        rest = &rest[skipped..];
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_behind_a_dollar_are_parameters_but_in_texts_names_and_comments() {
        for (sql, names) in [
            ("-- $comment\nselect '$text', $a, $b_2 -- $c\nwhere x = $a and y = '$' || $d", "a b_2 d"),
            ("select 'over\n$two lines', \"a $name\", 'it''s $x', $y", "y"),
            ("select 'a -- b', $z /* $block\n */, '日本', $1", "z 1"),
            ("select '$open", ""),
            ("select $", ""),
            ("/* $open", ""),
        ] {
            assert_eq!(Question::new(sql).parameters.join(" "), names, "{sql}");
        }
    }

    #[test]
    fn a_value_without_a_place_is_refused() {
        let question = Question::new("select $a");
        let given = |name: &str| question.check(&[(name.to_owned(), String::new())]);
        assert!(given("a").is_ok());
        assert!(given("b").expect_err("there is none").error.to_string().contains("only: $a"));
    }
}

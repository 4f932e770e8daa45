//! The registry of questions: a file of SQL each, and one table that lists them.

/// Their names and their SQL, which begins with what they answer.
pub(crate) const QUESTIONS: &[(&str, &str)] = &[
    ("growth", include_str!("../../../crates/fleet/tables/questions/growth.sql")),
    ("regressions", include_str!("../../../crates/fleet/tables/questions/regressions.sql")),
    ("leaks-by-host", include_str!("../../../crates/fleet/tables/questions/leaks_by_host.sql")),
    ("outliers", include_str!("../../../crates/fleet/tables/questions/outliers.sql")),
    ("top-sites", include_str!("../../../crates/fleet/tables/questions/top_sites.sql")),
    ("allocator-overhead", include_str!("../../../crates/fleet/tables/questions/overhead_of_allocators.sql")),
    ("debug-environments", include_str!("../../../crates/fleet/tables/questions/debug_environments.sql")),
];

/// A question in SQL.
#[derive(Clone, Debug)]
pub(crate) struct Question {
    pub(crate) sql: String,
    /// What it answers.
    pub(crate) about: String,
    /// The names behind `$` in it.
    pub(crate) parameters: Vec<String>,
}

impl Question {
    pub(crate) fn new(sql: &str) -> Self {
        Self { sql: sql.to_owned(), about: about(sql), parameters: parameters(sql) }
    }
}

/// Its first comment, up to the end of its first sentence.
pub(crate) fn about(sql: &str) -> String {
    let comment =
        sql.lines().map_while(|line| line.strip_prefix("--")).map(str::trim).collect::<Vec<_>>().join(" ");
    match comment.split_once("? ") {
        Some((question, _)) => format!("{question}?"),
        None => comment,
    }
}

/// The names behind `$`, outside of comments and of texts.
fn parameters(sql: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for line in sql.lines() {
        let code = line.split("--").next().unwrap_or_default();
        for (at, part) in code.split('\'').enumerate() {
            // Every second part is within quotes.
            if at % 2 == 1 {
                continue;
            }
            for behind in part.split('$').skip(1) {
                let name: String =
                    behind.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
                if !name.is_empty() && !names.contains(&name) {
                    names.push(name);
                }
            }
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_file_is_listed_and_says_what_it_answers() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../crates/fleet/tables/questions");
        let files = std::fs::read_dir(folder).expect("the folder").count();
        assert_eq!(files, QUESTIONS.len());
        for (name, sql) in QUESTIONS {
            let about = about(sql);
            assert!(about.ends_with('?') && about.len() > 20, "{name}: {about}");
        }
    }

    #[test]
    fn names_behind_a_dollar_are_parameters_but_in_texts_and_comments() {
        let sql = "-- $comment\nselect '$text', $a, $b_2 -- $c\nwhere x = $a and y = '$' || $d";
        assert_eq!(parameters(sql), ["a", "b_2", "d"]);
    }
}

//! The registry of tables: one file each, and one table that lists them.

mod environment;
mod findings;
mod frames;
mod memory;
mod predictions;
mod recordings;
mod samples;
mod site_samples;
mod sites;
mod stacks;

use crate::column::{Column, Kind};
use crate::table::Table;

/// All tables.
pub const TABLES: &[&Table] = &[
    &recordings::TABLE,
    &sites::TABLE,
    &stacks::TABLE,
    &frames::TABLE,
    &samples::TABLE,
    &site_samples::TABLE,
    &memory::TABLE,
    &findings::TABLE,
    &environment::TABLE,
    &predictions::TABLE,
];

/// The column that leads from a row to its recording.
const RECORDING: Column = Column::new("recording", Kind::Id, "the recording's id");

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use std::fmt::Write;

    /// All tables and their columns, for docs/tables.md.
    fn markdown() -> String {
        let mut text = String::new();
        for table in TABLES {
            let _ = writeln!(text, "## `{}`\n\n{}.\n", table.name, capitalised(table.about));
            text.push_str("| column | type | meaning |\n|---|---|---|\n");
            for column in table.columns {
                let or_none = if column.is_optional { " or none" } else { "" };
                let _ = writeln!(
                    text,
                    "| `{}` | {}{or_none} | {} |",
                    column.name,
                    column.kind.name(),
                    column.about
                );
            }
            text.push('\n');
        }
        text
    }

    fn capitalised(text: &str) -> String {
        let (first, rest) = text.split_at(1);
        first.to_uppercase() + rest
    }

    #[test]
    fn the_files_are_those_of_the_structures() {
        const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/tables.md");
        const MARKS: [&str; 2] = ["<!-- tables -->\n", "<!-- /tables -->"];
        let document = std::fs::read_to_string(PATH).expect("the document").replace("\r\n", "\n");
        let (before, rest) = document.split_once(MARKS[0]).expect("its first mark");
        let (list, behind) = rest.split_once(MARKS[1]).expect("its second mark");
        if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
            let document = [before, MARKS[0], &markdown(), MARKS[1], behind].concat();
            std::fs::write(PATH, document).expect("the file can be written");
        } else {
            assert!(
                list == markdown(),
                "docs/tables.md lists other columns: `cargo xtask schemas` writes it"
            );
        }
    }

    #[test]
    fn names_are_unique_and_each_is_explained() {
        let plain = |name: &str| name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
        let mut tables = HashSet::new();
        for table in TABLES {
            assert!(tables.insert(table.name) && plain(table.name) && table.about.len() > 20, "{table:?}");
            let mut columns = HashSet::new();
            for column in table.columns {
                assert!(columns.insert(column.name) && plain(column.name), "{table:?}.{}", column.name);
                assert!(column.about.len() > 5, "{table:?}.{}", column.name);
                assert!(!(column.is_optional && column.kind.is_list()), "{table:?}.{}", column.name);
            }
        }
    }
}

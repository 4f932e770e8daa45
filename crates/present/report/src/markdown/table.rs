//! Tables of Markdown, and what is folded.

/// A table: its head, in which a colon at the end of a title stands for numbers, and its rows.
#[derive(Debug)]
pub(crate) struct Table {
    out: String,
}

impl Table {
    pub(crate) fn new(titles: &[&str]) -> Self {
        let mut table = Self { out: String::new() };
        let names: Vec<String> = titles.iter().map(|t| t.trim_end_matches(':').to_owned()).collect();
        table.row(&names);
        let rules: Vec<_> = titles.iter().map(|t| if t.ends_with(':') { "---:" } else { "---" }).collect();
        table.out.push_str(&format!("|{}|\n", rules.join("|")));
        table
    }

    /// A row. The cells are Markdown already.
    pub(crate) fn row(&mut self, cells: &[String]) {
        self.out.push_str(&format!("| {} |\n", cells.join(" | ")));
    }

    pub(crate) fn finish(self) -> String {
        self.out
    }
}

/// Markdown that is folded under a line. The line is text of heapwise's own.
pub(crate) fn folded(summary: &str, content: &str) -> String {
    format!("\n<details>\n<summary>{summary}</summary>\n\n{content}\n</details>\n")
}

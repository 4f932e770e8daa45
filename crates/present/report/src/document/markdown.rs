//! A document for a comment on a pull request, as GitHub shows it.

use super::listing::Listing;
use super::{
    Alert, Block, Cell, Document, Evidence, Finding, Format, Mark, Place, Role, Row, Section, Snippet, Stack,
    Table, Title, Words,
};
use crate::escape::markdown::{Spot, block as code_block, code, prose};
use crate::escape::terminal::escape;
use crate::names::fit;

/// Characters of a command line that are shown.
const LONGEST_COMMAND: usize = 200;
/// Characters of another name that are shown.
const LONGEST_NAME: usize = 120;
/// Frames of a stack that are shown.
const MOST_FRAMES: usize = 40;
/// GitHub refuses comments of more than 65,536 characters: rows beyond this are counted.
const MOST_CHARACTERS: usize = 60_000;

/// Renders it.
pub fn markdown(document: &Document) -> String {
    let mut out = Out::default();
    if !document.title.is_empty() {
        out.paragraph(&format!("### {}", words(&document.title, Spot::Line, LONGEST_COMMAND)));
    }
    if !document.aside.is_empty() {
        out.paragraph(&prose(&document.aside, Spot::Line));
    }
    for section in &document.sections {
        if let Some(blocks) = section.blocks(Format::Markdown) {
            write_section(&mut out, section, &blocks);
        }
    }
    out.text
}

/// The text so far. Blocks have an empty line between them, and items of one list have none.
#[derive(Default)]
struct Out {
    /// How many characters were written elsewhere.
    before: usize,
    text: String,
    is_in_list: bool,
}

impl Out {
    fn paragraph(&mut self, text: &str) {
        self.end_list();
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(text.trim_end_matches('\n'));
        self.text.push('\n');
    }

    fn item(&mut self, text: &str) {
        if !self.is_in_list && !self.text.is_empty() {
            self.text.push('\n');
        }
        self.is_in_list = true;
        self.text.push_str(text);
        self.text.push('\n');
    }

    fn end_list(&mut self) {
        self.is_in_list = false;
    }
}

/// Words as Markdown.
fn words(words: &Words, spot: Spot, longest: usize) -> String {
    let piece = |(role, text): (Role, &str)| match role {
        _ if text.is_empty() && role != Role::Name => String::new(),
        Role::Own => escape(text).replace('<', "&lt;"),
        Role::Name => code(&fit(text, longest), spot),
        Role::Strong | Role::Bad if text.trim().is_empty() => String::new(),
        Role::Strong | Role::Bad => format!("**{}**", prose(text, spot)),
        Role::Prose | Role::Faint | Role::Caveat | Role::Good => prose(text, spot),
    };
    words.pieces().map(piece).collect()
}

fn line(text: &Words) -> String {
    words(text, Spot::Line, LONGEST_COMMAND)
}

fn title(title: &Title) -> String {
    prose(title.text(), Spot::Line)
}

fn write_section(out: &mut Out, section: &Section, blocks: &[&Block]) {
    out.end_list();
    if section.is_folded {
        let mut content = Out { before: out.before + out.text.len(), ..Out::default() };
        write_blocks(&mut content, blocks);
        out.paragraph(&folded(&title(&section.title), &content.text));
        return;
    }
    let is_alert = blocks.iter().any(|block| matches!(block, Block::Alert(_)));
    if !section.is_untitled() && !is_alert {
        out.paragraph(&format!("#### {}", title(&section.title)));
        let brackets = blocks.iter().filter_map(|block| match block {
            Block::Table(table) if !table.in_brackets.is_empty() => Some(table.in_brackets),
            _ => None,
        });
        let mut asides: Vec<String> = brackets.map(str::to_owned).collect();
        if !section.aside.is_empty() {
            asides.insert(0, prose(&section.aside, Spot::Line));
        }
        if !asides.is_empty() {
            out.paragraph(&asides.join("; "));
        }
    }
    write_blocks(out, blocks);
}

fn write_blocks(out: &mut Out, blocks: &[&Block]) {
    for block in blocks {
        match block {
            Block::Line(mark, text) => write_line(out, *mark, text),
            Block::Alert(alert) => write_alert(out, alert),
            Block::Finding(finding) => write_finding(out, finding),
            Block::Facts(facts) => {
                facts.iter().for_each(|(name, what)| out.item(&format!("- {}: {}", line(name), line(what))));
            }
            Block::Table(table) => write_table(out, table),
            Block::Snippet(snippet) => write_snippet(out, snippet),
            Block::Listing(listing) => write_listing(out, listing),
            Block::Stack(lead, stack) => {
                out.paragraph(&line(lead));
                out.paragraph(&write_stack(stack));
            }
            Block::Only(..) | Block::Figures(_) | Block::Course(_) => {}
        }
    }
}

fn write_line(out: &mut Out, mark: Mark, text: &Words) {
    match mark {
        Mark::Plain | Mark::Indented | Mark::Nested => out.paragraph(&line(text)),
        Mark::Setup | Mark::Item | Mark::Point | Mark::Unbroken(_) => out.item(&format!("- {}", line(text))),
        Mark::Labelled(label) => out.item(&format!("- {label}: {}", line(text))),
    }
}

fn write_alert(out: &mut Out, alert: &Alert) {
    let kind = if alert.is_severe { "CAUTION" } else { "WARNING" };
    let mut text = format!("> [!{kind}]\n");
    if !alert.lead.is_empty() {
        text.push_str(&format!("> {}:\n", alert.lead));
    }
    for (what, remedy) in &alert.items {
        let remedy =
            if remedy.is_empty() { String::new() } else { format!("; {}", prose(remedy, Spot::Line)) };
        text.push_str(&format!("> - {}{remedy}\n", line(what)));
    }
    out.paragraph(&text);
}

fn write_finding(out: &mut Out, finding: &Finding) {
    let number = finding.number.map_or_else(|| "-".to_owned(), |number| format!("{number}."));
    let tags: Vec<String> = finding.tags.iter().map(|tag| prose(tag, Spot::Line)).collect();
    let head = prose(&finding.title, Spot::Line);
    out.item(&format!("{number} **{head}** ({})", tags.join(", ")));
    let indent = " ".repeat(number.len() + 1);
    let mut point = |text: &str| out.item(&format!("{indent}- {text}"));
    let (evidence, show): (_, fn(&str) -> String) = match &finding.evidence {
        Evidence::Sentences(all) => (all, |sentence| prose(sentence, Spot::Line)),
        Evidence::Lines(all) => (all, |found| code(found, Spot::Line)),
    };
    evidence.iter().filter(|text| !text.trim().is_empty()).for_each(|text| point(&show(text)));
    if let Some([_, saves]) = &finding.saves {
        point(&line(&Words::own(format!("would save {saves}"))));
    }
    if !finding.cost.is_empty() {
        point(&format!("costs: {}", prose(&finding.cost, Spot::Line)));
    }
    for line in finding.remedy.lines().filter(|line| !line.trim().is_empty()) {
        point(&format!("→ {}", prose(line, Spot::Line)));
    }
}

fn write_table(out: &mut Out, table: &Table) {
    out.paragraph(&rows(table, &table.rows, out.before + out.text.len()));
    if let Some(rest) = &table.rest {
        out.paragraph(rest);
    }
    if !table.more.is_empty() {
        out.paragraph(&folded(
            &format!("{} more", table.more.len()),
            &rows(table, &table.more, out.before + out.text.len()),
        ));
    }
}

/// Some rows of a table, as many as there is room for after so many characters.
fn rows(table: &Table, shown_rows: &[Row], before: usize) -> String {
    let columns: Vec<usize> =
        (0..table.columns.len()).filter(|at| table.columns[*at].shown.has(Format::Markdown)).collect();
    let titles = columns.iter().map(|at| {
        let column = &table.columns[*at];
        let below = if column.below.is_empty() { String::new() } else { format!(", {}", column.below) };
        prose(&format!("{}{below}", column.title), Spot::Cell)
    });
    let mut text = format!("| {} |\n", titles.collect::<Vec<_>>().join(" | "));
    let rule = |at: &usize| if table.has_numbers(*at) { "---:" } else { "---" };
    text.push_str(&format!("|{}|\n", columns.iter().map(rule).collect::<Vec<_>>().join("|")));
    for (at, row) in shown_rows.iter().enumerate() {
        let cells = columns.iter().map(|column| row.cells.get(*column).map_or_else(String::new, cell));
        let line = format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "));
        if before + text.len() + line.len() > MOST_CHARACTERS {
            text.push_str(&format!("\n{} more are left out here.\n", shown_rows.len() - at));
            break;
        }
        text.push_str(&line);
    }
    text
}

fn cell(cell: &Cell) -> String {
    let place = cell.place.as_ref().map(Place::words);
    words(place.as_ref().unwrap_or(&cell.whole), Spot::Cell, LONGEST_NAME)
}

/// Markdown that is folded under a line.
fn folded(summary: &str, content: &str) -> String {
    format!("<details>\n<summary>{summary}</summary>\n\n{}\n\n</details>\n", content.trim_end_matches('\n'))
}

fn write_snippet(out: &mut Out, snippet: &Snippet) {
    out.paragraph(&format!("{}:", title(&snippet.title)));
    let Some(language) = snippet.language else {
        out.end_list();
        snippet.lines.iter().for_each(|sentence| out.item(&format!("- {}", prose(sentence, Spot::Line))));
        return;
    };
    // No line of a snippet may end its block.
    let lines = snippet.lines.iter().map(|code| format!("{}\n", escape(code).replace("```", "` ` `")));
    out.paragraph(&format!("```{language}\n{}```\n", lines.collect::<String>()));
}

/// As much of it as there is room for.
fn write_listing(out: &mut Out, listing: &Listing) {
    let mut lines = listing.plain();
    let mut room = MOST_CHARACTERS.saturating_sub(out.before + out.text.len());
    let fits = lines.iter().take_while(|line| {
        let left = room.checked_sub(line.len() + 1);
        room = left.unwrap_or(0);
        left.is_some()
    });
    let fits = fits.count();
    let omitted = lines.len() - fits;
    lines.truncate(fits);
    out.paragraph(&code_block(&lines));
    if omitted > 0 {
        out.paragraph(&format!("{omitted} more lines are left out here."));
    }
}

fn write_stack(stack: &Stack) -> String {
    let line = |frame: &super::StackFrame| {
        let mark = if frame.is_users { '>' } else { ' ' };
        let [function, at] = [&frame.function, &frame.at].map(|name| fit(&escape(name), LONGEST_NAME));
        format!("{mark} {function}  {at}").trim_end().to_owned()
    };
    let mut lines: Vec<String> = stack.frames.iter().take(MOST_FRAMES).map(line).collect();
    if stack.frames.len() > MOST_FRAMES {
        lines.push(format!("  … {} more frames", stack.frames.len() - MOST_FRAMES));
    }
    code_block(&lines)
}

#[cfg(test)]
mod tests {
    use super::super::Column;
    use super::*;
    use crate::style::Style;

    #[test]
    fn further_rows_are_folded_and_a_terminal_says_where_they_are() {
        let mut table = Table::new(["candidate", "goal"].map(Column::new));
        table.row([Cell::text("first"), Cell::number("1")]);
        table.more.push(Row::of([Cell::text("second"), Cell::number("2")]));
        let sections = vec![Section::new("On replays", [Block::Table(table)])];
        let document = Document { sections, ..Document::default() };
        let page = markdown(&document);
        let (seen, folded) = page.split_once("<summary>1 more</summary>").expect("something folded");
        assert!(seen.contains("#### On replays") && seen.contains("| first | 1 |"), "{page}");
        assert!(!seen.contains("second") && folded.contains("| second | 2 |"), "{page}");
        let text = super::super::terminal(&document, Style { color: false, width: 80 });
        assert!(text.contains("ON REPLAYS  1 more in JSON") && !text.contains("second"), "{text}");
    }

    #[test]
    fn numbers_are_no_markup_and_more_rows_than_fit_are_counted() {
        let mut table = Table::new(["n", "share"].map(Column::new));
        for n in 0..5000 {
            table.row([Cell::text(format!("<b>{n}")), Cell::number("<0.1 %")]);
        }
        let document =
            Document { sections: vec![Section::untitled([Block::Table(table)])], ..Document::default() };
        let page = markdown(&document);
        assert!(page.contains("| \\<b\\>0 | &lt;0.1 % |\n"), "{page}");
        assert!(page.len() < 65_000 && page.contains(" more are left out here."), "{}", page.len());
    }
}

//! A document for people at a terminal.

pub(super) mod curve;
mod page;
mod table;

use super::listing::{Listing, Output};
use super::{Alert, Block, Document, Evidence, Finding, Format, Mark, Role, Section, Snippet, Title, Words};
use crate::escape::terminal::escape;
use crate::names::width_of;
use crate::style::Style;
use page::{Page, left};

/// Renders it.
pub fn terminal(document: &Document, style: Style) -> String {
    let mut page = Page::new(style);
    if !document.title.is_empty() {
        let title = (Role::Strong, escape(&document.title.plain()).into_owned());
        let gap = (Role::Own, "  ".to_owned());
        page.line([title, gap, (Role::Faint, escape(&document.aside).into_owned())]);
    }
    let sections = document.sections.iter();
    let shown = sections.filter_map(|section| Some((section, section.blocks(Format::Terminal)?)));
    let (last, first): (Vec<_>, Vec<_>) = shown.partition(|(section, _)| section.is_conclusion);
    for (at, (section, blocks)) in first.into_iter().chain(last).enumerate() {
        if section.is_untitled() && at > 0 {
            page.empty();
        }
        write_section(&mut page, section, blocks);
    }
    page.finish()
}

/// A title of ours in capitals. Text in brackets keeps its case, so that it can be searched for.
fn capitals(title: &Title) -> String {
    let own = match title {
        Title::Given(given) => return escape(given).into_owned(),
        Title::Own(own) => own,
    };
    let mut depth = 0;
    let mut out = String::new();
    for c in own.chars() {
        depth += i32::from(c == '[') - i32::from(c == ']');
        if depth > 0 { out.push(c) } else { out.extend(c.to_uppercase()) }
    }
    out
}

fn write_section(page: &mut Page, section: &Section, blocks: Vec<&Block>) {
    if !section.is_untitled() {
        let is_alert = blocks.iter().any(|block| matches!(block, Block::Alert(_)));
        let mut asides = vec![escape(&section.aside).into_owned()];
        for block in &blocks {
            if let Block::Table(table) = block {
                asides.push(table::in_brackets(table, page.columns).to_owned());
                let more = table.more.len();
                asides.push(if more > 0 { format!("{more} more in JSON") } else { String::new() });
            }
        }
        asides.retain(|aside| !aside.is_empty());
        let role = if is_alert { Role::Caveat } else { Role::Strong };
        page.heading(role, &capitals(&section.title), &asides.join("; "));
    }
    for block in blocks {
        write_block(page, block);
    }
}

fn write_block(page: &mut Page, block: &Block) {
    match block {
        Block::Line(mark, words) => write_line(page, *mark, words),
        Block::Alert(alert) => write_alert(page, alert),
        Block::Finding(finding) => write_finding(page, finding),
        Block::Facts(facts) => write_facts(page, facts),
        Block::Table(table) => table::table(page, table),
        Block::Course(course) => curve::over_time(page, course),
        Block::Snippet(snippet) => write_snippet(page, snippet),
        Block::Listing(listing) => write_listing(page, listing),
        Block::Only(..) | Block::Figures(_) | Block::Stack(..) => {}
    }
}

fn write_line(page: &mut Page, mark: Mark, words: &Words) {
    let (first, role) = match mark {
        Mark::Plain => ("", Role::Own),
        Mark::Setup => ("", Role::Faint),
        Mark::Indented => ("  ", Role::Own),
        Mark::Nested => ("    ", Role::Own),
        Mark::Item => ("  - ", Role::Own),
        Mark::Point => ("  → ", Role::Own),
        Mark::Unbroken(indent) => return page.verbatim(&" ".repeat(indent), &escape(&words.plain())),
        Mark::Labelled(label) => return page.paragraph(&format!("  {label}: "), Role::Own, words),
    };
    page.paragraph(first, role, words);
}

fn write_alert(page: &mut Page, alert: &Alert) {
    for (what, remedy) in &alert.items {
        page.paragraph("  ! ", Role::Caveat, what);
        if !remedy.is_empty() {
            page.paragraph("    ", Role::Faint, &remedy.as_str().into());
        }
    }
}

fn write_finding(page: &mut Page, finding: &Finding) {
    const MARGIN: &str = "     ";
    let number = finding.number.map_or_else(|| "  -  ".to_owned(), |number| format!("{number:>3}. "));
    page.paragraph(&number, Role::Strong, &finding.title.as_str().into());
    if finding.is_brief {
        return;
    }
    let saves = finding.saves.iter().map(|[short, _]| format!("saves {short}"));
    let tags: Vec<String> = finding.tags.iter().cloned().chain(saves).collect();
    page.paragraph(MARGIN, Role::Faint, &tags.join(" · ").into());
    if let Some((at, code)) = &finding.at {
        page.line([(Role::Faint, format!("{MARGIN}at ")), (Role::Name, escape(at).into_owned())]);
        if let Some(code) = code {
            page.line([(Role::Faint, format!("{MARGIN} │ ")), (Role::Own, escape(code).into_owned())]);
        }
    }
    match &finding.evidence {
        Evidence::Sentences(all) => page.paragraph(MARGIN, Role::Own, &format!("{}.", all.join("; ")).into()),
        Evidence::Lines(lines) => {
            lines.iter().for_each(|line| page.paragraph(MARGIN, Role::Own, &line.as_str().into()));
        }
    }
    if !finding.cost.is_empty() {
        page.paragraph(&format!("{MARGIN}costs: "), Role::Own, &finding.cost.as_str().into());
    }
    page.paragraph(&format!("{MARGIN}→ "), Role::Own, &finding.remedy.as_str().into());
}

fn write_facts(page: &mut Page, facts: &[(Words, Words)]) {
    let wide = |words: &Words| width_of(&escape(&words.plain()));
    let widest = facts.iter().map(|(name, _)| wide(name)).max().unwrap_or(0);
    for (name, what) in facts {
        let name = left(&escape(&name.plain()), widest);
        page.paragraph(&format!("  {name}  "), Role::Own, what);
    }
}

fn write_snippet(page: &mut Page, snippet: &Snippet) {
    page.heading(Role::Strong, &capitals(&snippet.title), "");
    for line in &snippet.lines {
        match snippet.language {
            // To be pasted: neither broken nor cut.
            Some(_) => page.verbatim("    ", &escape(line)),
            None => page.paragraph("    ", Role::Own, &line.as_str().into()),
        }
    }
}

fn write_listing(page: &mut Page, listing: &Listing) {
    for output in listing.lines(page.columns) {
        match output {
            Output::Line(runs) => page.line(runs),
            Output::Note(first, text) => page.paragraph(&first, Role::Caveat, &text.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_of_ours_are_in_capitals_and_a_conclusion_is_at_the_end() {
        let sections = vec![
            Section::conclusion(["Do it.".to_owned()]),
            Section::new("Rust: in Cargo.toml, under [dependencies]", []),
            Section { title: Title::Given("hash-map: drop".into()), ..Section::default() },
        ];
        let document = Document { title: Words::own("heapwise x"), sections, ..Document::default() };
        let text = terminal(&document, Style { color: false, width: 80 });
        let expected = "heapwise x\n\nRUST: IN CARGO.TOML, UNDER [dependencies]\n\nhash-map: drop\n\n\
                        WHAT IT MEANS\n  → Do it.\n";
        assert_eq!(text, expected);
    }
}

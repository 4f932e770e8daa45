//! The allocators that a program can be run with, and whether each candidate is what its name says, for a terminal.

use crate::document::{Block, Document, Mark, Section, Title, terminal};
use crate::style::Style;
use heapwise_allocators::{Allocator, Candidate, Check, Identity, Libraries, all, source};
use std::fmt::Write;

/// Each allocator, and its settings with what they take.
pub fn catalogue(libraries: &Libraries, style: Style) -> String {
    let closing = "Any other by its path; default is the baseline.";
    let closing = Section::untitled([Block::line(Mark::Plain, closing)]);
    let sections = all().iter().map(|allocator| section(*allocator, libraries));
    terminal(&Document { sections: sections.chain([closing]).collect(), ..Document::default() }, style)
}

fn section(allocator: &'static dyn Allocator, libraries: &Libraries) -> Section {
    let mut blocks = vec![Block::line(Mark::Unbroken(2), source(allocator, libraries))];
    for setting in allocator.settings() {
        let takes = format!("{}: {} [default: {}]", setting.name, setting.range(), setting.default);
        blocks.push(Block::line(Mark::Unbroken(2), takes));
        blocks.push(Block::line(Mark::Nested, setting.meaning));
    }
    let title = format!("{} {}", allocator.name(), allocator.version());
    Section { title: Title::Given(title.trim_end().to_owned()), ..Section::untitled(blocks) }
}

/// A line for each candidate that is what its name says. Others are errors, which the caller shows.
pub fn checks(checks: &[Check], style: Style) -> String {
    let lines = checks.iter().filter_map(|(candidate, result)| Some(line(candidate, result.as_ref().ok()?)));
    let section = Section::untitled(lines.map(|line| Block::line(Mark::Unbroken(0), line)));
    terminal(&Document { sections: vec![section], ..Document::default() }, style)
}

fn line(candidate: &Candidate, identity: &Identity) -> String {
    let name = identity.name.as_deref().unwrap_or("an unnamed allocator");
    let version = identity.version.as_deref().unwrap_or_default();
    let mut line = format!("{candidate}: {name} {version}");
    line.truncate(line.trim_end().len());
    for (setting, value) in &identity.settings {
        // Writing to a String does not fail.
        let _ = match value {
            Some(value) => write!(line, ", {setting} is {value}"),
            None => write!(line, ", {setting} is not reported"),
        };
    }
    let _ = write!(line, "; {} bytes for 100", identity.usable_of_100);
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_names_all_and_says_what_is_not_there() {
        let style = Style { color: false, width: 120 };
        let text = catalogue(&Libraries::new(&[("jemalloc", b"bytes")]), style);
        assert!(
            text.contains("jemalloc 5.3.1\n  bundled with heapwise, built from tikv-jemalloc-sys 0.7.1\n")
        );
        assert!(text.contains("snmalloc 0.7.6\n  not there: this heapwise was built without it\n"));
        let remedy = "built without it; build it again with HEAPWISE_WITH_ALLOCATORS=tcmalloc-google\n";
        assert!(text.contains(remedy), "{text}");
        let with = Libraries::new(&[("tcmalloc-google", b"bytes")]);
        assert!(
            catalogue(&with, style).contains("  bundled with heapwise, built from libtcmalloc-sys 0.1.14\n")
        );
        assert!(text.contains("  dirty_decay_ms: a whole number from -1 to 86400000 ms [default: 10000]\n"));
        assert!(text.ends_with("\nAny other by its path; default is the baseline.\n"), "{text}");
        assert!(!text.starts_with('\n'), "{text}");
    }
}

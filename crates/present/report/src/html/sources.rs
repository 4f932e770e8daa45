//! The source lines around the user's frames.

use super::sites::Sites;
use super::tree::Tree;
use crate::escape::terminal::escape;
use crate::source::{self, SourceFile, Sources};
use heapwise_diagnosis::Diagnosis;
use serde::Serialize;
use std::collections::{BTreeSet, HashMap, HashSet};

/// Lines that are shown above and below.
const AROUND: u32 = 3;
/// Excerpts are for the sites that lead in some measure, not for all of a hundred thousand.
const LEADERS: usize = 60;
/// Lines around that of a frame.
#[derive(Debug, Serialize)]
pub(super) struct Excerpt {
    frame: u32,
    /// The number of the first line.
    first: u32,
    lines: Vec<String>,
    changed: bool,
}

/// Excerpts for the frames that matter, and the files that they are of.
pub(super) fn excerpts(
    sources: &dyn Sources,
    sites: &Sites,
    tree: &Tree<'_>,
    diagnosis: &Diagnosis,
) -> (Vec<Excerpt>, Vec<String>) {
    let found = diagnosis.findings.iter().flat_map(|i| i.site.iter().chain(&i.sites).map(|id| id.0 as usize));
    let mut files: HashMap<&str, Option<SourceFile>> = HashMap::new();
    let mut seen = HashSet::new();
    let mut excerpts = Vec::new();
    let mut shown_files = BTreeSet::new();
    for site in found.chain(sites.leaders(LEADERS)) {
        let Some(frame) = sites.user_frame(site, tree).filter(|frame| seen.insert(*frame)) else { continue };
        let Some((path, line)) = tree.source_of(frame) else { continue };
        let file = files.entry(path).or_insert_with(|| sources.read(path));
        if let Some(excerpt) = file.as_ref().and_then(|file| excerpt(frame, file, line)) {
            excerpts.push(excerpt);
            shown_files.insert(path);
        }
    }
    (excerpts, shown_files.into_iter().map(|path| escape(path).into_owned()).collect())
}

/// `None` if the file has no such line: then it is not the file that was compiled.
fn excerpt(frame: u32, file: &SourceFile, line: u32) -> Option<Excerpt> {
    let first = line.saturating_sub(AROUND).max(1);
    let lines = file.text.lines().skip(first as usize - 1).take((line - first + AROUND) as usize + 1);
    let lines: Vec<String> = lines.map(shown).collect();
    (lines.len() > (line - first) as usize).then_some(Excerpt { frame, first, lines, changed: file.changed })
}

pub(super) fn shown(line: &str) -> String {
    escape(&source::shown(line)).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str, line: u32) -> Option<(u32, Vec<String>)> {
        let file = SourceFile { text: text.into(), changed: false };
        excerpt(7, &file, line).map(|e| (e.first, e.lines))
    }

    #[test]
    fn the_lines_around_a_line_are_shown() {
        let text: String = (1..=20).map(|n| format!("line {n}\n")).collect();
        let (first, lines) = of(&text, 10).unwrap();
        assert_eq!((first, lines.len(), lines[3].as_str()), (7, 7, "line 10"));
        let (first, lines) = of(&text, 1).unwrap();
        assert_eq!((first, lines.len(), lines[0].as_str()), (1, 4, "line 1"));
        assert_eq!(of(&text, 20).unwrap().1.len(), 4);
        assert_eq!(of(&text, 21), None, "the file is another one");
    }

    #[test]
    fn lines_are_made_harmless_and_short() {
        let (_, lines) = of(&format!("\ta\u{202e}b\u{7}\n{}", "x".repeat(1000)), 1).unwrap();
        assert_eq!(lines[0], "    a\\u{202e}b\\u{7}");
        assert_eq!(lines[1].len(), 240);
    }
}

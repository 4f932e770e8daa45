//! Links in documents lead somewhere: to a file or folder of the workspace, and to a heading of the document if they name one.
//! The index of docs mentions every document there, or it would not be found.
//!
//! Links to other places are not followed: whether those answer is not decided by a change of this workspace.

use super::Problem;
use super::tree::Tree;
use comrak::nodes::NodeValue;
use comrak::{Anchorizer, Arena, Options, parse_document};
use std::collections::{BTreeMap, BTreeSet};

const INDEX: &str = "docs/README.md";

/// What is read of a document.
#[derive(Debug, Default)]
struct Document {
    /// Its headings, as links name them.
    anchors: BTreeSet<String>,
    /// Links and images, with their line, from 0.
    links: Vec<(usize, String)>,
}

impl Document {
    fn parse(text: &str) -> Self {
        let mut options = Options::default();
        options.extension.table = true;
        let arena = Arena::new();
        let mut document = Self::default();
        let mut anchorizer = Anchorizer::new();
        for node in parse_document(&arena, text, &options).descendants() {
            let data = node.data();
            match &data.value {
                NodeValue::Heading(_) => {
                    document.anchors.insert(anchorizer.anchorize(&node.collect_text()));
                }
                NodeValue::Link(link) | NodeValue::Image(link) => {
                    document.links.push((data.sourcepos.start.line.saturating_sub(1), link.url.clone()));
                }
                _ => {}
            }
        }
        document
    }
}

/// Where a link of a document leads: a path of the workspace, and a heading. `None` if it leaves the workspace.
fn target<'a>(document: &str, link: &'a str) -> Option<(String, Option<&'a str>)> {
    let (path, anchor) = link.split_once('#').map_or((link, None), |(path, anchor)| (path, Some(anchor)));
    if path.is_empty() {
        return Some((document.to_owned(), anchor));
    }
    let mut parts: Vec<&str> = document.split('/').collect();
    parts.pop();
    for part in path.trim_end_matches('/').split('/') {
        match part {
            "." => {}
            ".." => _ = parts.pop()?,
            part => parts.push(part),
        }
    }
    Some((parts.join("/"), anchor))
}

fn is_elsewhere(link: &str) -> bool {
    link.contains("://") || link.starts_with("mailto:")
}

/// Finds links that lead nowhere, and documents that the index does not mention.
pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let documents: BTreeMap<&str, Document> =
        tree.with_extension(&["md"]).map(|(path, text)| (path, Document::parse(text))).collect();
    let mut problems = Vec::new();
    let mut mentioned = BTreeSet::new();
    for (&path, document) in &documents {
        for (line, link) in document.links.iter().filter(|(_, link)| !is_elsewhere(link)) {
            let mut report = |what: &str| problems.push(Problem::at(path, *line, format!("{link}: {what}")));
            let Some((file, anchor)) = target(path, link).filter(|(file, _)| tree.has(file)) else {
                report("there is no such file");
                continue;
            };
            let has = |anchor| documents.get(&*file).is_some_and(|d| d.anchors.contains(anchor));
            if anchor.is_some_and(|anchor| !has(anchor)) {
                report("there is no such heading");
            }
            if path == INDEX {
                mentioned.insert(file);
            }
        }
    }
    let is_in_docs = |path: &str| path.strip_prefix("docs/").is_some_and(|name| !name.contains('/'));
    let lost =
        documents.keys().filter(|&&path| is_in_docs(path) && path != INDEX && !mentioned.contains(path));
    problems.extend(lost.map(|&path| Problem::new(path, format!("{INDEX} does not mention it"))));
    problems
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::lines;

    #[test]
    fn links_that_lead_somewhere_are_fine() {
        let readme = "# It\n[a](docs/a.md) [b](docs/a.md#the-b-of-a) [c](#it) [d](docs) [e](LICENSE) [f](docs/)\n\
                      <https://example.org/x> [g](https://example.org/#y) [h](mailto:me@example.org)\n\n\
                      | a | b |\n|---|---|\n| [i](docs/a.md#the-b-of-a-1) | `[no](link)` |\n\n```text\n[no](link)\n```\n";
        let a = "# A\n## The `b` of a\n## The b of a\n[up](../README.md#it), [this](./a.md#a)";
        let index = "[a](a.md)";
        let tree = Tree::from([
            ("README.md", readme),
            ("docs/a.md", a),
            (INDEX, index),
            ("LICENSE", "yes"),
            ("x.rs", "[n](n)"),
        ]);
        assert_eq!(check(&tree), []);
    }

    #[test]
    fn links_that_lead_nowhere_are_found() {
        let readme = "# It\n\n[a](docs/b.md)\n[b](docs/a.md#none)\n[c](#its)\n\n| a |\n|---|\n| ![d](x.png) |\n\n\
                      [e](../out.md) [f](LICENSE#it)\n";
        let tree = Tree::from([
            ("README.md", readme),
            ("docs/a.md", "# A\n"),
            (INDEX, "[a](a.md)"),
            ("LICENSE", "yes"),
        ]);
        assert_eq!(
            lines(&check(&tree)),
            [
                "README.md:3: docs/b.md: there is no such file",
                "README.md:4: docs/a.md#none: there is no such heading",
                "README.md:5: #its: there is no such heading",
                "README.md:9: x.png: there is no such file",
                "README.md:11: ../out.md: there is no such file",
                "README.md:11: LICENSE#it: there is no such heading",
            ]
        );
    }

    #[test]
    fn a_document_that_the_index_does_not_mention_is_found() {
        let tree = Tree::from([
            ("docs/a.md", "[b](b.md)"),
            ("docs/b.md", ""),
            ("docs/adr/1.md", ""),
            (INDEX, "[a](a.md)"),
        ]);
        assert_eq!(lines(&check(&tree)), ["docs/b.md: docs/README.md does not mention it"]);
    }
}

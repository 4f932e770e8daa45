//! `cargo xtask book`: builds the book of docs/book by mdbook, with the documents of docs behind its chapters.
//!
//! The chapters link to the documents, which lie outside of the book's folder. So both are copied into one folder, in which each link
//! leads to where its target is then; a link to what is in neither becomes its words.

use crate::cargo;
use anyhow::{Context, Result, ensure};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The version that is installed if there is none.
const MDBOOK: &str = "0.5.2";
/// Where the documents are in the book.
const DOCUMENTS: &str = "documents";
/// Where the pictures are, beside its chapters.
const PICTURES: &str = "pictures";

/// Builds it into target/book, and returns its first page.
///
/// # Errors
/// When a chapter is missing, or mdbook cannot be installed or fails.
pub fn run() -> Result<PathBuf> {
    let target = cargo::target()?;
    let (source, built) = (target.join("book-source"), target.join("book"));
    stage(&cargo::root().join("docs"), &source)?;
    let mdbook = mdbook(&target)?;
    let status = Command::new(mdbook).arg("build").arg(&source).arg("--dest-dir").arg(&built).status();
    ensure!(status.context("cannot run mdbook")?.success(), "mdbook failed");
    Ok(built.join("index.html"))
}

/// The program, which is installed into the target folder if it is nowhere.
fn mdbook(target: &Path) -> Result<PathBuf> {
    let is_there =
        Command::new("mdbook").arg("--version").output().is_ok_and(|output| output.status.success());
    if is_there {
        return Ok("mdbook".into());
    }
    let root = target.join("tools");
    let program = root.join("bin/mdbook");
    if !program.exists() {
        let mut install = cargo::command(&["install", "mdbook", "--version", MDBOOK, "--locked", "--root"]);
        let status = install.arg(&root).status().context("cannot run cargo")?;
        ensure!(status.success(), "mdbook {MDBOOK} cannot be installed: install it by hand");
    }
    Ok(program)
}

/// Copies chapters and documents into a folder that is made anew.
fn stage(docs: &Path, source: &Path) -> Result<()> {
    if source.exists() {
        fs::remove_dir_all(source).with_context(|| format!("cannot empty {}", source.display()))?;
    }
    let (book, into) = (docs.join("book"), source.join("src"));
    let pictures = into.join(PICTURES);
    let documents = markdown(docs)?;
    let chapters = markdown(&book.join("src"))?;
    fs::create_dir_all(into.join(DOCUMENTS))?;
    fs::create_dir_all(&pictures)?;
    for picture in fs::read_dir(book.join("src").join(PICTURES)).context("the book has no pictures")? {
        let picture = picture?;
        fs::copy(picture.path(), pictures.join(picture.file_name()))?;
    }
    fs::copy(book.join("book.toml"), source.join("book.toml")).context("docs/book has no book.toml")?;
    let mut summary = String::new();
    for (name, text) in &chapters {
        let text = relinked(text, |link| in_chapter(link, &chapters, &documents));
        match name.as_str() {
            "SUMMARY.md" => summary = text,
            _ => fs::write(into.join(name), text)?,
        }
    }
    summary.push_str("\n# Documents\n\n");
    for (name, text) in &documents {
        let title = text.lines().find_map(|line| line.strip_prefix("# ")).unwrap_or(name);
        writeln!(summary, "- [{}]({DOCUMENTS}/{name})", title.replace('`', ""))?;
        fs::write(into.join(DOCUMENTS).join(name), relinked(text, |link| in_document(link, &documents)))?;
    }
    fs::write(into.join("SUMMARY.md"), summary)?;
    Ok(())
}

/// Files by their names.
type Texts = Vec<(String, String)>;

fn markdown(folder: &Path) -> Result<Texts> {
    let mut texts = Vec::new();
    let entries = fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "md") {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            texts.push((name, fs::read_to_string(&path)?));
        }
    }
    texts.sort();
    Ok(texts)
}

/// Where a link of a chapter leads in the book. `None` if that is not in it.
fn in_chapter(link: &str, chapters: &Texts, documents: &Texts) -> Option<String> {
    match link.strip_prefix("../../") {
        Some(of_docs) if is_one_of(of_docs, documents) => Some(format!("{DOCUMENTS}/{of_docs}")),
        None if is_one_of(link, chapters) || link.starts_with(PICTURES) => Some(link.to_owned()),
        _ => None,
    }
}

fn in_document(link: &str, documents: &Texts) -> Option<String> {
    is_one_of(link, documents).then(|| link.to_owned())
}

/// Whether a link leads to one of the files, or to a heading of the same one.
fn is_one_of(link: &str, texts: &Texts) -> bool {
    let file = link.split('#').next().unwrap_or_default();
    file.is_empty() || link.contains("://") || texts.iter().any(|(name, _)| name == file)
}

/// A text with other links: `[words](to)`, whose words may be on two lines. Code has none.
fn relinked(text: &str, place: impl Fn(&str) -> Option<String>) -> String {
    // Every second part is code.
    let parts = text.split("```").enumerate().map(|(at, part)| match at % 2 {
        0 => in_prose(part, &place),
        _ => part.to_owned(),
    });
    parts.collect::<Vec<_>>().join("```")
}

fn in_prose(text: &str, place: &impl Fn(&str) -> Option<String>) -> String {
    let (mut out, mut rest) = (String::with_capacity(text.len()), text);
    while let Some((before, words, to, after)) = link(rest) {
        out.push_str(before);
        match place(to) {
            Some(place) => write!(out, "[{words}]({place})").expect("a string has room"),
            None => out.push_str(words),
        }
        rest = after;
    }
    out + rest
}

/// What is before the first link of a text, its words, its target, and what is behind it.
fn link(line: &str) -> Option<(&str, &str, &str, &str)> {
    let middle = line.find("](")?;
    let begin = line[..middle].rfind('[')?;
    let end = middle + line[middle..].find(')')?;
    Some((&line[..begin], &line[begin + 1..middle], &line[middle + 2..end], &line[end + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(names: &[&str]) -> Texts {
        names.iter().map(|name| ((*name).to_owned(), String::new())).collect()
    }

    #[test]
    fn links_lead_to_where_their_targets_are_in_the_book() {
        let (chapters, documents) = (texts(&["a.md"]), texts(&["report.md"]));
        let text = "See [the\nreport](../../report.md#verdict), [a](a.md), [the code](../../../Cargo.toml)\n```\n[x](y)\n```\n";
        let expected =
            "See [the\nreport](documents/report.md#verdict), [a](a.md), the code\n```\n[x](y)\n```\n";
        assert_eq!(relinked(text, |link| in_chapter(link, &chapters, &documents)), expected);
        let text = "[here](#below), [schema](schema/x.json), [web](https://example.org)";
        let expected = "[here](#below), schema, [web](https://example.org)";
        assert_eq!(relinked(text, |link| in_document(link, &documents)), expected);
    }

    #[test]
    fn the_book_has_each_chapter_of_its_summary_and_no_other() {
        let chapters = markdown(&cargo::root().join("docs/book/src")).expect("the chapters");
        let summary = &chapters.iter().find(|(name, _)| name == "SUMMARY.md").expect("a summary").1;
        let mut rest = summary.as_str();
        let mut named = vec!["SUMMARY.md"];
        while let Some((_, _, to, after)) = link(rest) {
            named.push(to);
            rest = after;
        }
        named.sort_unstable();
        let there: Vec<&str> = chapters.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(named, there);
    }

    #[test]
    fn all_documents_come_behind_the_chapters() {
        let folder = tempfile::tempdir().expect("a folder");
        let source = folder.path().join("book");
        stage(&cargo::root().join("docs"), &source).expect("it can be copied");
        // A second time, since what was there is replaced.
        stage(&cargo::root().join("docs"), &source).expect("it can be copied again");
        let summary = fs::read_to_string(source.join("src/SUMMARY.md")).expect("a summary");
        assert!(
            summary.contains("(documents/report.md)") && summary.contains("(fragmentation.md)"),
            "{summary}"
        );
        assert!(source.join("src/documents/lab.md").exists() && source.join("book.toml").exists());
    }
}

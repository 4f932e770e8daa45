//! The library on first contact: a fresh project that takes the lines of the documents compiles, and does what they say.
//!
//! A block whose first line names a file is whole. A block `# Cargo.toml` begins a project, and the blocks of Rust that follow it
//! are its files. Nothing is added to them but what `cargo new` writes, and the folder of the sources for `…`.

use heapwise_tests::folders::{exclusively, target_folder, workspace};
use heapwise_tests::run::{self, Outcome};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Blocks of Rust that are parts of something, with their first lines. What is not listed has to name its file.
const FRAGMENTS: &[(&str, &str)] = &[
    // About the types of the contest; its own tests have these lines.
    ("docs/guide-benchmark.md", "let manifest: Manifest = serde_json::from_str(&json).unwrap();"),
    ("docs/guide-benchmark.md", "#[test]"),
    // Compiled as programs of `benches/wrappers`, which compares them with this document.
    ("docs/library-costs.md", "#[global_allocator]"),
    ("docs/library-costs.md", "use tikv_jemallocator::Jemalloc;"),
    ("docs/library-costs.md", "use mimalloc::MiMalloc;"),
    ("docs/library-costs.md", "use snmalloc_rs::SnMalloc;"),
];

/// What stands in the documents for the folder of the sources.
const SOURCES: &str = "…";
/// The end of the first line of a block that belongs into the manifest of a whole workspace.
const OF_THE_WORKSPACE: &str = ", of the whole workspace";

/// The main file that `cargo new` writes.
const HELLO: &str = "fn main() {\n    println!(\"Hello, world!\");\n}\n";

/// The first build compiles what the projects depend on.
const PATIENCE: Duration = Duration::from_secs(900);

/// A fenced block of a document.
struct Block {
    document: String,
    language: String,
    /// The file that its first line names.
    file: Option<String>,
    text: String,
}

struct Project {
    name: String,
    document: String,
    manifest: String,
    files: Vec<(String, String)>,
    /// The block of plain text after its Rust.
    printed: Option<String>,
}

impl Project {
    fn has(&self, file: &str) -> bool {
        self.files.iter().any(|(name, _)| name == file)
    }

    fn depends_on(&self, line: &str) -> bool {
        self.manifest.lines().any(|there| there.starts_with(line))
    }
}

fn blocks(document: &str) -> Vec<Block> {
    let text = fs::read_to_string(workspace().join(document)).expect("the document");
    let mut blocks: Vec<Block> = Vec::new();
    let mut is_open = false;
    for line in text.lines() {
        match line.strip_prefix("```") {
            Some(_) if is_open => is_open = false,
            Some(language) => {
                let (document, language) = (document.to_owned(), language.to_owned());
                blocks.push(Block { document, language, file: None, text: String::new() });
                is_open = true;
            }
            None if is_open => {
                let block = blocks.last_mut().expect("it was begun");
                if block.text.is_empty() {
                    block.file = file_of(&block.language, line);
                }
                block.text += &format!("{line}\n");
            }
            None => {}
        }
    }
    blocks
}

/// The file that a comment names: `# Cargo.toml`, `// src/main.rs`.
fn file_of(language: &str, line: &str) -> Option<String> {
    match language {
        "toml" => line.strip_prefix("# ").filter(|name| name.starts_with("Cargo.toml")),
        "rust" => line.strip_prefix("// ").filter(|name| name.ends_with(".rs")),
        _ => None,
    }
    .map(str::to_owned)
}

fn documents() -> Vec<String> {
    let mut documents = vec!["README.md".to_owned()];
    for entry in fs::read_dir(workspace().join("docs")).expect("a folder") {
        let name = entry.expect("an entry").file_name().into_string().expect("a name in Unicode");
        if name.ends_with(".md") {
            documents.push(format!("docs/{name}"));
        }
    }
    documents.sort();
    documents
}

/// The projects of a document, and the lines that it has for a whole workspace.
fn projects(document: &str) -> (Vec<Project>, String) {
    let (mut projects, mut of_workspace): (Vec<Project>, String) = Default::default();
    let stem = Path::new(document).file_stem().expect("a name").to_string_lossy().to_lowercase();
    for Block { document, language, file, text } in blocks(document) {
        match (language.as_str(), file) {
            ("toml", Some(file)) if file.ends_with(OF_THE_WORKSPACE) => of_workspace += &text,
            ("toml", Some(_)) => projects.push(Project {
                name: format!("{stem}-{}", projects.len() + 1),
                document,
                manifest: text,
                files: Vec::new(),
                printed: None,
            }),
            ("rust", Some(file)) => {
                let project = projects.last_mut();
                let project =
                    project.unwrap_or_else(|| panic!("{document}: {file} comes before a Cargo.toml"));
                match project.files.iter_mut().find(|(name, _)| *name == file) {
                    Some((_, before)) => *before += &text,
                    None => project.files.push((file, text)),
                }
            }
            ("text", _) => {
                let last = projects.last_mut().filter(|project| project.has("src/main.rs"));
                if let Some(project) = last.filter(|project| project.printed.is_none()) {
                    project.printed = Some(text);
                }
            }
            _ => {}
        }
    }
    (projects, of_workspace)
}

/// Writes a workspace of all projects, with the versions that this one has. Returns its folder.
fn write(projects: &[Project], of_workspace: &str) -> PathBuf {
    let root = target_folder().join("first-contact").join("projects");
    let _ = fs::remove_dir_all(&root);
    let write = |path: PathBuf, text: &str| {
        fs::create_dir_all(path.parent().expect("a folder")).expect("the target folder can be written to");
        fs::write(path, text).expect("the target folder can be written to");
    };
    let members: Vec<&str> = projects.iter().map(|project| project.name.as_str()).collect();
    let manifest = format!("[workspace]\nresolver = \"3\"\nmembers = {members:?}\n\n{of_workspace}");
    write(root.join("Cargo.toml"), &manifest);
    fs::copy(workspace().join("Cargo.lock"), root.join("Cargo.lock")).expect("Cargo.lock");
    let sources = workspace();
    for project in projects {
        let folder = root.join(&project.name);
        let package = format!(
            "[package]\nname = \"{}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n{}",
            project.name, project.manifest
        );
        write(folder.join("Cargo.toml"), &package.replace(SOURCES, &sources.to_string_lossy()));
        if !project.has("src/main.rs") && !project.has("src/lib.rs") {
            write(folder.join("src/main.rs"), HELLO);
        }
        for (name, text) in &project.files {
            write(folder.join(name), text);
        }
    }
    root
}

fn cargo(root: &Path, words: &[&str]) -> Outcome {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command: Command = run::command(program, root);
    command.args(words).env("CARGO_TARGET_DIR", target_folder().join("first-contact"));
    command.env("CARGO_TERM_COLOR", "never");
    // Lines are all that messages have; variables would only take longer to compile.
    command.env("CARGO_PROFILE_DEV_DEBUG", "line-tables-only");
    run::start(&mut command, root, "cargo").wait(PATIENCE)
}

#[test]
fn every_block_of_rust_names_its_file() {
    let mut seen = Vec::new();
    for document in documents() {
        for block in
            blocks(&document).into_iter().filter(|block| block.language == "rust" && block.file.is_none())
        {
            let first = block.text.lines().next().unwrap_or_default().to_owned();
            let known =
                FRAGMENTS.iter().find(|(document, line)| *document == block.document && *line == first);
            seen.push(
                *known.unwrap_or_else(|| panic!("{document}: `{first}` begins a block that names no file")),
            );
        }
    }
    for fragment in FRAGMENTS {
        assert!(seen.contains(fragment), "{fragment:?} is gone");
    }
}

#[test]
fn projects_that_take_the_lines_of_the_documents_compile_and_do_what_they_say() {
    let _held = exclusively("cargo");
    let (mut all, mut of_workspace) = (Vec::new(), String::new());
    for document in documents() {
        let (projects, lines) = self::projects(&document);
        all.extend(projects);
        of_workspace += &lines;
    }
    let root = write(&all, &of_workspace);
    for project in &all {
        // Each alone: cargo would unite their features, and one that lacks a feature would compile because of another.
        let checked = cargo(&root, &["check", "--all-targets", "-p", &project.name]);
        let Project { name, document, .. } = project;
        assert_eq!(checked.code(), 0, "{name} of {document} does not compile:\n{}", checked.stderr);
        // A line of a profile, or of a manifest, that does nothing.
        for nothing in ["did not match any packages", "unused manifest key"] {
            assert!(!checked.stderr.contains(nothing), "{name} of {document}:\n{}", checked.stderr);
        }
        if project.has("tests/budget.rs") {
            let tested = cargo(&root, &["test", "--test", "budget", "-p", name]);
            assert_eq!(tested.code(), 0, "{name} of {document}:\n{}{}", tested.text(), tested.stderr);
            assert!(tested.text().contains("test result: ok. 1 passed"), "{}", tested.text());
        }
        if let Some(printed) = &project.printed {
            let ran = cargo(&root, &["run", "--quiet", "-p", name]);
            assert_eq!(ran.code(), 0, "{name} of {document}:\n{}", ran.stderr);
            assert_eq!(ran.text().trim(), printed.trim(), "{name} of {document}");
        }
    }
    // What the documents are to cover.
    let covers =
        |what: &str, has: &dyn Fn(&Project) -> bool| assert!(all.iter().any(has), "no project has {what}");
    for line in
        ["criterion = \"0.7\"", "criterion = \"0.8\"", "rayon = ", "tokio = ", "tracing = ", "serde = "]
    {
        covers(line, &|project| project.depends_on(line));
    }
    covers("tests/budget.rs", &|project| project.has("tests/budget.rs") && project.document == "README.md");
    covers("what is printed", &|project| project.printed.is_some());
    assert!(of_workspace.contains("heapwise-recorder"), "{of_workspace}");
}

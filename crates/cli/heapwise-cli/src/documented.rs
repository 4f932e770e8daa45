//! Whether the commands that documents print are accepted. They are not run: what they name is on another machine.

use crate::args::{Cli, Command};
use crate::compare::program;
use clap::Parser;
use heapwise_allocators::Candidate;
use std::fs;
use std::path::{Path, PathBuf};

/// README.md, all of docs, and the book.
fn documents() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let folders = ["docs", "docs/book/src"].map(|folder| fs::read_dir(root.join(folder)).expect("a folder"));
    let files = folders.into_iter().flatten().map(|entry| entry.expect("an entry").path());
    let mut all: Vec<PathBuf> = files.filter(|path| path.extension().is_some_and(|e| e == "md")).collect();
    all.push(root.join("README.md"));
    all.sort();
    all
}

/// Commands of the blocks for a shell: lines behind a `$` where there is output as well, else all lines.
fn commands(document: &str) -> Vec<String> {
    let mut commands = Vec::new();
    let mut language = None;
    let mut before = String::new();
    for line in document.lines() {
        if let Some(fence) = line.trim_start().strip_prefix("```") {
            language = if language.is_some() { None } else { Some(fence.to_owned()) };
            continue;
        }
        let is_begun = !before.is_empty();
        let part = match language.as_deref() {
            Some("console") if is_begun => line,
            Some("console") => line.strip_prefix("$ ").unwrap_or_default(),
            Some("sh") => line,
            _ => continue,
        };
        match part.strip_suffix('\\') {
            Some(part) => before.push_str(part),
            None => commands.push(std::mem::take(&mut before) + part),
        }
    }
    commands
}

/// The words of a command, up to what is the shell's own: a comment, a pipe, another file or command.
fn words(command: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for letter in command.chars() {
        match (quote, letter) {
            (Some(end), _) if letter == end => quote = None,
            (None, '\'' | '"') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (None, ' ') => words.extend(word.take()),
            (None, '#') if word.is_none() => break,
            (None, '|' | '>' | ';' | '&') => break,
            _ => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    words
}

/// The arguments of a command, if it is one of heapwise.
fn arguments(command: &str) -> Option<Vec<String>> {
    let words = words(command);
    let from = match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["heapwise", ..] => 1,
        ["cargo", "run", rest @ ..] if !rest.contains(&"-p") => 3 + rest.iter().position(|w| *w == "--")?,
        _ => return None,
    };
    Some(std::iter::once("heapwise".to_owned()).chain(words[from..].iter().cloned()).collect())
}

/// Why a command is refused before anything is done.
fn refusal(arguments: &[String]) -> Option<String> {
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(error) => return Some(error.to_string()),
    };
    let list = |with: Option<&str>| Candidate::parse_list(with?).err().map(|e| e.to_string());
    match &cli.command {
        Command::Compare(args) => program(&args.command, &args.drive)
            .err()
            .map(|failure| failure.error.to_string())
            .or_else(|| list(args.with.as_deref())),
        Command::Replay(args) => list(args.with.as_deref()),
        Command::Tune(args) => {
            let goal = args.goal.as_deref().map(str::parse::<heapwise_trial::tune::Goal>);
            let goal = goal.and_then(|goal| Some(goal.err()?.to_string()));
            goal.or_else(|| list(args.with.as_deref()))
        }
        _ => None,
    }
}

#[test]
fn every_command_that_is_printed_is_accepted() {
    let mut found = 0;
    for path in documents() {
        let document = fs::read_to_string(&path).expect("a document");
        for command in commands(&document) {
            let Some(arguments) = arguments(&command) else { continue };
            found += 1;
            assert_eq!(refusal(&arguments), None, "{}: {command}", path.display());
        }
    }
    assert!(found > 50, "{found} commands are not all");
}

/// Each flag, and the commands that have it.
fn table_of_flags() -> String {
    let mut all = crate::args::command();
    all.build();
    let commands: Vec<_> = all.get_subcommands().filter(|c| !c.is_hide_set()).collect();
    let mut rows = std::collections::BTreeMap::<String, (String, Vec<&str>)>::new();
    for command in commands.iter().filter(|c| c.get_name() != "help") {
        for flag in command.get_arguments().filter(|a| !a.is_hide_set()) {
            let Some(long) = flag.get_long() else { continue };
            let short = flag.get_short().map(|short| format!("`-{short}`, ")).unwrap_or_default();
            let takes_value = flag.get_action().takes_values();
            let values = flag.get_value_names().filter(|_| takes_value).unwrap_or_default();
            let value: String = values.iter().map(|value| format!(" {value}")).collect();
            let name = format!("{short}`--{long}{value}`").replace('|', "\\|");
            rows.entry(long.to_owned()).or_insert_with(|| (name, Vec::new())).1.push(command.get_name());
        }
    }
    // What passes all words on to another program passes this one on, too.
    let passing = commands.iter().filter(|command| command.is_disable_help_flag_set());
    if let Some((_, having)) = rows.get_mut("help") {
        having.extend(passing.map(|command| command.get_name()).filter(|name| *name != "help"));
    }
    let every = commands.len() - 1;
    let mut text = String::from(
        "# Flags\n\nEach flag means the same in every command that has it. What it means there, with its default, is in \
         `heapwise COMMAND --help`.\n\n| flag | commands |\n|---|---|\n",
    );
    for (name, having) in rows.into_values() {
        let list = if having.len() == every { "all".to_owned() } else { having.join(", ") };
        text.push_str(&format!("| {name} | {list} |\n"));
    }
    text
}

#[test]
fn the_table_of_flags_is_that_of_the_command_line() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/flags.md");
    let table = table_of_flags();
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
        fs::write(&path, &table).expect("it can be written");
    }
    let documented = fs::read_to_string(&path).unwrap_or_default();
    assert!(documented == table, "docs/flags.md is not up to date: UPDATE_SNAPSHOTS=1 renews it");
}

#[test]
fn what_would_be_refused_is_seen() {
    let refused = |command: &str| refusal(&arguments(command).expect("a command of heapwise")).is_some();
    assert!(refused("heapwise compare --settle 12s -- ./program"), "of a program that ends by itself");
    assert!(!refused("heapwise compare --ready 'sleep 3' --settle 12s -- ./program  # as a server"));
    assert!(refused("heapwise compare --with jemaloc -- ./program | cat"));
    assert!(refused("cargo run --release -- report"));
    assert!(refused("heapwise tune --goal memory run.hw"));
    assert_eq!(arguments("cargo run -p fragmentation -- server"), None);
    let document = "```console\n$ heapwise run \\\n    -- ls > out\nan output\n```\n```sh\nheapwise lab\n```\nheapwise no\n";
    assert_eq!(commands(document), ["heapwise run     -- ls > out", "", "heapwise lab"]);
}

//! Whether the commands that documents and the example of a workflow print are accepted. They are not run.

use crate::args::{Cli, Command};
use crate::bench;
use clap::Parser;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

/// README.md, all of docs, and the example.
fn documents() -> Vec<PathBuf> {
    let docs =
        fs::read_dir(root().join("docs")).expect("a folder").map(|entry| entry.expect("an entry").path());
    let is_read = |path: &PathBuf| path.extension().is_some_and(|e| e == "md" || e == "yml");
    let mut all: Vec<PathBuf> = docs.filter(is_read).collect();
    all.push(root().join("README.md"));
    all.sort();
    all
}

/// The words of each command `cargo heapwise` in a text, up to what is the shell's own.
fn commands(text: &str) -> Vec<Vec<String>> {
    let mut text = text.replace("\\\n", " ");
    while let Some((from, to)) =
        text.find("${{").and_then(|from| Some((from, from + text[from..].find("}}")? + 2)))
    {
        text.replace_range(from..to, "some-name");
    }
    let lines = text.lines().filter_map(|line| {
        let line = line
            .trim_start()
            .trim_start_matches("- run: ")
            .trim_start_matches("run: ")
            .trim_start_matches("$ ");
        line.starts_with("cargo heapwise ").then_some(line)
    });
    let words = lines.map(|line| {
        let end = line.find([';', '|', '>', '#', '&']).unwrap_or(line.len());
        let words = line[..end].split_whitespace().skip(1);
        // What a shell puts in is some word.
        words
            .map(
                |word| {
                    if word.contains('$') { "some-name".to_owned() } else { word.replace(['"', '\''], "") }
                },
            )
            .collect()
    });
    words.collect()
}

fn refusal(words: &[String]) -> Option<String> {
    match Cli::try_parse_from(words) {
        Ok(cli) => match cli.command {
            Command::Bench(args) => bench::refusal(&args),
            _ => None,
        },
        Err(error) => Some(error.to_string()),
    }
}

#[test]
fn every_command_that_is_printed_is_accepted() {
    let mut found = 0;
    for path in documents() {
        for words in commands(&fs::read_to_string(&path).expect("a document")) {
            found += 1;
            assert_eq!(refusal(&words), None, "{}: {words:?}", path.display());
        }
    }
    assert!(found > 15, "{found} commands are not all");
}

#[test]
fn what_would_be_refused_is_seen() {
    let refused = |text| refusal(&commands(text)[0]).is_some();
    assert!(refused("$ cargo heapwise bench --treshold 5%"));
    assert!(refused("cargo heapwise bench --baseline a/b"));
    assert!(refused("      - run: cargo heapwise bench --baseline main --fail-on size+5%"));
    assert!(!refused("run: cargo heapwise bench --baseline ${{ x }} \\\n  --format markdown | tee out"));
    assert!(commands("cargo heap\ncargo bench\n").is_empty());
}

/// The parts of a workflow that GitHub reads, as far as they are used here. Unknown names are refused, so that a misspelt one is
/// noticed.
mod workflow {
    use serde::Deserialize;
    use std::collections::BTreeMap;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub(super) struct Workflow {
        #[serde(rename = "name")]
        pub(super) _name: String,
        pub(super) on: On,
        pub(super) permissions: BTreeMap<String, String>,
        pub(super) jobs: BTreeMap<String, Job>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub(super) struct On {
        pub(super) push: Push,
        #[serde(rename = "pull_request")]
        pub(super) _pull_request: Option<BTreeMap<String, String>>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub(super) struct Push {
        pub(super) branches: Vec<String>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub(super) struct Job {
        #[serde(rename = "runs-on")]
        pub(super) _runs_on: String,
        pub(super) steps: Vec<Step>,
    }

    #[derive(Debug, Default, Deserialize)]
    #[serde(deny_unknown_fields, default)]
    pub(super) struct Step {
        pub(super) name: Option<String>,
        pub(super) uses: Option<String>,
        pub(super) with: BTreeMap<String, String>,
        pub(super) env: BTreeMap<String, String>,
        pub(super) run: Option<String>,
        #[serde(rename = "if")]
        pub(super) condition: Option<String>,
    }
}

#[test]
fn the_example_of_a_workflow_saves_on_main_and_compares_on_pull_requests() {
    let text = fs::read_to_string(root().join("docs/heap.yml")).expect("the example");
    let workflow: workflow::Workflow = serde_saphyr::from_str(&text).expect("a workflow");
    assert_eq!(workflow.on.push.branches, ["main"]);
    assert_eq!(workflow.permissions["pull-requests"], "write");
    let steps: Vec<_> = workflow.jobs.values().flat_map(|job| &job.steps).collect();
    for step in &steps {
        assert!(step.uses.is_some() != step.run.is_some(), "a step does one thing: {step:?}");
        assert!(step.with.is_empty() || step.uses.is_some(), "{step:?}");
    }
    let step = |words: &str| {
        let has = |step: &&&workflow::Step| {
            step.run.as_deref().or(step.uses.as_deref()).is_some_and(|text| text.contains(words))
        };
        *steps.iter().find(has).unwrap_or_else(|| panic!("no step with {words}"))
    };
    let on = |event: &str| Some(format!("github.event_name == '{event}'"));
    assert_eq!(step("--save-baseline main").condition, on("push"));
    assert_eq!(step("actions/cache/save").condition, on("push"));
    assert_eq!(step("actions/cache/restore").condition, on("pull_request"));
    assert_eq!(step("--baseline main --format markdown").condition, on("pull_request"));
    // The job has failed already when a benchmark is worse; its result is published all the same.
    for words in ["GITHUB_STEP_SUMMARY", "gh pr comment"] {
        assert!(step(words).condition.as_deref().is_some_and(|text| text.contains("always()")), "{words}");
    }
    assert!(step("gh pr comment").env.contains_key("GH_TOKEN"));
    let (save, restore) = (step("actions/cache/save"), step("actions/cache/restore"));
    assert_eq!(save.with["path"], restore.with["path"]);
    assert_eq!(save.with["path"], "target/heapwise/baseline");
    let prefix = restore.with["restore-keys"].trim();
    assert!(save.with["key"].starts_with(prefix) && restore.with["key"].starts_with(prefix), "{prefix}");
    assert!(steps.iter().all(|step| step.name.is_some() || step.uses.is_some() || step.run.is_some()));
    let markdown = fs::read_to_string(root().join("docs/ci.md")).expect("a document");
    assert!(markdown.contains("heap.yml"));
}

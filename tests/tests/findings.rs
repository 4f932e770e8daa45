//! Every defect that findings are about: it is reported at the right line of the program that has it, and its twin, which does the
//! same without the defect, is not.
//!
//! The programs are in `victims/findings`, and in `victims-with-crates` those that need crates. The line of the defect ends
//! in `// here: ID`; where no line is to blame, a line says `// throughout: ID`; and where the environment is, a line
//! says it: `// variable: NAME=VALUE`. What the advice and the evidence have to contain, `// remedy: TEXT` and `// evidence: TEXT`
//! say; no advice for a program of C or C++ may speak of Rust. Each pair is a separate test. One more
//! sees that no finding is without a pair.

use heapwise_tests::build::{FlagSet, build};
use heapwise_tests::folders::workspace;
use heapwise_tests::programs;
use heapwise_tests::recording::Recording;
use heapwise_tests::report::{Finding, Report};
use heapwise_tests::run;
use heapwise_tests::tool::victim_with_crates;
use heapwise_tests::victim::{Language, Victim};
use libtest_mimic::{Arguments, Failed, Trial};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// A way to make a victim's program.
type Builder = fn(&Victim, FlagSet) -> PathBuf;

/// The folders of the programs, and how those in each are built.
const FOLDERS: [(&str, Builder); 2] =
    [("victims/findings", build), ("victims-with-crates/src/bin", build_with_crates)];

fn build_with_crates(victim: &Victim, flags: FlagSet) -> PathBuf {
    victim_with_crates(&victim.name, if flags == FlagSet::Debug { "dev" } else { "release" })
}

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert(2);
    let mut trials = Vec::new();
    let mut with_a_pair = BTreeSet::new();
    for (folder, builder) in FOLDERS {
        let all = Victim::all_in(folder);
        for defect in all.iter().filter(|victim| !victim.name.ends_with("_twin")) {
            let twin = all.iter().find(|v| v.name == format!("{}_twin", defect.name));
            with_a_pair.extend(twin.and_then(|_| Some(expected(defect)?.id)));
            for flags in [FlagSet::Debug, FlagSet::Release] {
                let name = format!("{}::{}", defect.name, flags.name());
                let (defect, twin) = (defect.clone(), twin.cloned());
                let test = move || pair(&defect, &twin.ok_or("it has no twin")?, builder, flags);
                trials.push(Trial::test(name, test));
            }
        }
    }
    trials.push(Trial::test("every_finding_has_a_pair_and_is_in_the_readme", move || complete(&with_a_pair)));
    for (name, program, arguments) in SMALL {
        trials.push(Trial::test(format!("nothing_high_in_{name}"), move || nothing_high(program, arguments)));
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// What a victim is about.
#[derive(Debug, PartialEq, Eq)]
struct Expected {
    id: String,
    /// The line that it has to name; `None` if it is about the program as a whole.
    line: Option<u32>,
}

/// What a victim's source says that it is about; a twin's says nothing.
fn expected(victim: &Victim) -> Option<Expected> {
    let text = std::fs::read_to_string(&victim.source).ok()?;
    let mut lines = text.lines().zip(1..);
    lines.find_map(|(line, n)| {
        let here = line.split_once("// here: ").map(|(_, id)| (id, Some(n)));
        let (id, line) = here.or_else(|| Some((line.strip_prefix("// throughout: ")?, None)))?;
        Some(Expected { id: id.trim().to_owned(), line })
    })
}

fn report(victim: &Victim, builder: Builder, flags: FlagSet) -> Result<Report, Failed> {
    let folder = run::private_folder();
    let text = std::fs::read_to_string(&victim.source)?;
    let mut recording = Recording::new(folder.path());
    for setting in text.lines().filter_map(|line| line.strip_prefix("// variable: ")) {
        let (name, value) = setting.split_once('=').ok_or("a variable needs a value")?;
        recording = recording.variable(name, value);
    }
    let recorded = recording.record(builder(victim, flags), &[]);
    if recorded.outcome.code() != 0 {
        return Err(recorded.outcome.stderr.into());
    }
    Ok(recorded.report.clone()?)
}

fn pair(defect: &Victim, twin: &Victim, builder: Builder, flags: FlagSet) -> Result<(), Failed> {
    let Expected { id, line } = expected(defect).ok_or("no line says `// here: ` or `// throughout: `")?;
    if expected(twin).is_some() {
        return Err("the twin has the defect too".into());
    }
    let with = report(defect, builder, flags)?;
    let file = defect.source.file_name().and_then(|f| f.to_str()).unwrap_or_default();
    let place = line.map(|line| (file, line));
    let of_id: Vec<_> = with.findings.iter().filter(|i| i.id == id).collect();
    if !of_id.iter().any(|i| with.line_of(i) == place) {
        return Err(format!("no {id} at {place:?}, but {:#?}", with.findings).into());
    }
    if let Some(vague) = of_id.iter().find(|i| i.evidence.is_empty() || i.remedy.is_empty()) {
        return Err(format!("evidence or remedy is missing: {vague:?}").into());
    }
    says_what_it_should(defect, &of_id)?;
    let without = report(twin, builder, flags)?;
    match without.findings.iter().find(|i| i.id == id) {
        None => Ok(()),
        Some(alarm) => Err(format!("false alarm on the twin: {alarm:#?}").into()),
    }
}

/// Compares advice and evidence with what the source asks for.
fn says_what_it_should(defect: &Victim, found: &[&Finding]) -> Result<(), Failed> {
    let text = std::fs::read_to_string(&defect.source)?;
    let wanted = |key: &str| -> Vec<String> {
        text.lines().filter_map(|line| line.strip_prefix(key)).map(|text| text.trim().to_owned()).collect()
    };
    for text in wanted("// remedy: ") {
        if !found.iter().any(|finding| finding.remedy.contains(&text)) {
            return Err(format!("no advice has {text:?}: {found:#?}").into());
        }
    }
    for text in wanted("// evidence: ") {
        if !found.iter().any(|finding| finding.evidence.iter().any(|sentence| sentence.contains(&text))) {
            return Err(format!("no evidence has {text:?}: {found:#?}").into());
        }
    }
    let of_rust = ["Vec<", "Vec::", "`Vec", "with_capacity", "`String`", "&str", "clone()", "HashMap"];
    let is_rust = defect.language == Language::Rust;
    match found.iter().find(|finding| !is_rust && of_rust.iter().any(|word| finding.remedy.contains(word))) {
        Some(wrong) => Err(format!("advice for Rust: {wrong:#?}").into()),
        None => Ok(()),
    }
}

/// Compares the findings that there are with those that have a pair and those that docs/findings.md explains.
fn complete(with_a_pair: &BTreeSet<String>) -> Result<(), Failed> {
    let registry = registry()?;
    if registry != *with_a_pair {
        return Err(
            format!("the registry has {registry:#?}, and pairs there are for {with_a_pair:#?}").into()
        );
    }
    let document = std::fs::read_to_string(workspace().join("docs/findings.md"))?;
    let (_, table) = document
        .split_once("| finding | what was seen |\n")
        .ok_or("docs/findings.md has no table of findings")?;
    let rows = table.lines().take_while(|line| line.starts_with('|'));
    let explained: BTreeSet<String> =
        rows.filter_map(|row| Some(row.strip_prefix("| `")?.split_once('`')?.0.to_owned())).collect();
    if registry != explained {
        return Err(format!("the registry has {registry:#?}, and in docs/findings.md {explained:#?}").into());
    }
    Ok(())
}

/// The names of all findings, from the sources of the rules.
///
/// A report has only those that were found, so none of them has all. The compiler sees to it that each file is a
/// rule in use, and a file that does not say its name as expected is an error here: no rule can be left out.
fn registry() -> Result<BTreeSet<String>, Failed> {
    let folder = workspace().join("crates/explain/diagnosis/src/findings");
    let mut names = BTreeSet::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.ends_with("mod.rs") {
            continue;
        }
        let text = std::fs::read_to_string(&path)?;
        let body = text.split_once("fn id(&self) -> &'static str {").map(|(_, body)| body.trim_start());
        let name = body.and_then(|body| body.strip_prefix('"')?.split_once('"'));
        let (name, _) = name.ok_or_else(|| format!("no name of a finding in {}", path.display()))?;
        names.insert(name.to_owned());
    }
    Ok(names)
}

/// Small programs that many people use. There is nothing in them to be excited about.
const SMALL: [(&str, &str, &[&str]); 3] = [
    ("ls", "ls", &["-la", "/usr/lib"]),
    ("git_status", "git", &["status"]),
    (
        "sqlite3",
        "sqlite3",
        &[
            ":memory:",
            "create table t(a); with recursive n(i) as (select 1 union all select i + 1 from n where i < 20000) \
                       insert into t select i from n; select sum(a) from t;",
        ],
    ),
];

fn nothing_high(program: &str, arguments: &[&str]) -> Result<(), Failed> {
    let Some(path) = programs::find(program) else { return Ok(()) };
    let folder = run::private_folder();
    if program == "git" {
        repository(&path, folder.path())?;
    }
    let recorded = Recording::new(folder.path()).record(path, arguments);
    if recorded.outcome.code() != 0 {
        return Err(recorded.outcome.stderr.into());
    }
    let report = recorded.report.clone()?;
    match report.findings.iter().find(|i| i.severity == "high") {
        None => Ok(()),
        Some(high) => Err(format!("{high:#?}").into()),
    }
}

fn repository(git: &Path, folder: &Path) -> Result<(), Failed> {
    for i in 0..200 {
        std::fs::write(folder.join(format!("file{i}")), "line\n".repeat(i))?;
    }
    for arguments in [["init", "-q", "."], ["add", "-A", "."]] {
        let outcome = run::finish(run::command(git, folder).args(arguments), folder, "git");
        if outcome.code() != 0 {
            return Err(outcome.stderr.into());
        }
    }
    Ok(())
}

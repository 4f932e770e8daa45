//! Every defect that insights are about: the program that has it is told so at the right line, and its twin, which does the
//! same without the defect, is not.
//!
//! The programs are in `victims/insights`. The line of the defect ends in `// here: ID`. Each pair is a test of its own.

use heapwise_tests::build::{FlagSet, build};
use heapwise_tests::programs;
use heapwise_tests::recording::Recording;
use heapwise_tests::report::Report;
use heapwise_tests::run;
use heapwise_tests::victim::Victim;
use libtest_mimic::{Arguments, Failed, Trial};
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert(2);
    let all = Victim::all_in("victims/insights");
    let twin_of = |name: &str| all.iter().find(|v| v.name == format!("{name}_twin")).cloned();
    let defects = all.iter().filter(|victim| !victim.name.ends_with("_twin"));
    let pairs =
        defects.flat_map(|defect| [FlagSet::Debug, FlagSet::Release].map(|flags| (defect.clone(), flags)));
    let mut trials: Vec<Trial> = pairs
        .map(|(defect, flags)| {
            let twin = twin_of(&defect.name);
            let name = format!("{}::{}", defect.name, flags.name());
            Trial::test(name, move || pair(&defect, &twin.ok_or("it has no twin")?, flags))
        })
        .collect();
    for (name, program, arguments) in SMALL {
        trials.push(Trial::test(format!("nothing_high_in_{name}"), move || nothing_high(program, arguments)));
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// Which insight a victim is about, and on which line.
fn expected(victim: &Victim) -> Option<(String, u32)> {
    let text = std::fs::read_to_string(&victim.source).ok()?;
    let mut lines = text.lines().zip(1..);
    lines.find_map(|(line, n)| Some((line.split_once("// here: ")?.1.trim().to_owned(), n)))
}

fn report(victim: &Victim, flags: FlagSet) -> Result<Report, Failed> {
    let folder = run::private_folder();
    let recorded = Recording::new(folder.path()).record(build(victim, flags), &[]);
    if recorded.outcome.code() != 0 {
        return Err(recorded.outcome.stderr.into());
    }
    Ok(recorded.report.clone()?)
}

fn pair(defect: &Victim, twin: &Victim, flags: FlagSet) -> Result<(), Failed> {
    let (id, line) = expected(defect).ok_or("no line says `// here: `")?;
    if expected(twin).is_some() {
        return Err("the twin has the defect too".into());
    }
    let with = report(defect, flags)?;
    let file = defect.source.file_name().and_then(|f| f.to_str()).unwrap_or_default();
    let of_id: Vec<_> = with.insights.iter().filter(|i| i.id == id).collect();
    if !of_id.iter().any(|i| with.line_of(i) == Some((file, line))) {
        return Err(format!("no {id} at {file}:{line}, but {:#?}", with.insights).into());
    }
    if let Some(vague) = of_id.iter().find(|i| i.evidence.is_empty() || i.remedy.is_empty()) {
        return Err(format!("evidence or remedy is missing: {vague:?}").into());
    }
    let without = report(twin, flags)?;
    match without.insights.iter().find(|i| i.id == id) {
        None => Ok(()),
        Some(alarm) => Err(format!("false alarm on the twin: {alarm:#?}").into()),
    }
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
    match report.insights.iter().find(|i| i.severity == "high") {
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

//! What the command does besides checking processes: configuration, documentation, wrong use, other formats.

use crate::ask::{checkup, doctor, has, has_not};
use heapwise_tests::folders::workspace;
use heapwise_tests::run;
use libtest_mimic::Failed;

pub(crate) fn clean_machine() -> Result<(), Failed> {
    let folder = run::private_folder();
    let found = checkup(folder.path(), &[], &[])?;
    if found.checks.len() < 25 || found.checks.iter().any(|check| check.id.is_empty()) {
        return Err(format!("{:?}", found.checks).into());
    }
    let documentation = std::fs::read_to_string(workspace().join("docs/doctor.md"))?;
    let rows: Vec<&str> = documentation
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split_once("` | "))
        .map(|row| row.0)
        .collect();
    if let Some(check) = found.checks.iter().find(|check| !rows.contains(&check.id.as_str())) {
        return Err(format!("docs/doctor.md has no row for {}", check.id).into());
    }
    // What the machine itself is like is not the test's to say, what the environment is like is.
    let of_environment =
        ["malloc-check", "malloc-perturb", "glibc-tunables", "allocator-probe", "checking-library"];
    of_environment.iter().try_for_each(|check| has_not(&found, check))
}

/// A project whose launches have the debug heap on Windows.
fn project(launches: &str) -> Result<tempfile::TempDir, Failed> {
    let folder = run::private_folder();
    std::fs::create_dir(folder.path().join(".vscode"))?;
    std::fs::write(folder.path().join(".vscode/launch.json"), launches)?;
    Ok(folder)
}

/// Detect, explain, fix, look again.
pub(crate) fn configuration_is_set_right() -> Result<(), Failed> {
    let before = "{\r\n  // started with F5\r\n  \"configurations\": [\r\n    { \"type\": \"lldb\", \"request\": \"launch\", \
                  \"name\": \"F5\", },\r\n  ],\r\n}\r\n";
    let folder = project(before)?;
    let file = folder.path().join(".vscode/launch.json");
    // The user's own settings are none of the test's business.
    let home = [("HOME", folder.path().to_str().ok_or("a path that is text")?)];
    has(&checkup(folder.path(), &home, &[])?, "ide-debug-heap", "low")?;
    let asked = doctor(folder.path(), &home, &["--fix"]);
    if asked.code() != 3
        || std::fs::read_to_string(&file)? != before
        || !asked.text().contains("_NO_DEBUG_HEAP")
    {
        return Err(
            format!("no fix was confirmed: {} {} {}", asked.code(), asked.text(), asked.stderr).into()
        );
    }
    let fixed = doctor(folder.path(), &home, &["--fix", "--yes"]);
    let after = std::fs::read_to_string(&file)?;
    let without = after.replacen(", \"env\": { \"_NO_DEBUG_HEAP\": \"1\" }", "", 1);
    if fixed.code() != 0 || without != before {
        return Err(format!("{} {after:?} {}", fixed.code(), fixed.stderr).into());
    }
    let backup = folder.path().join(".vscode/launch.json.heapwise-backup");
    if std::fs::read_to_string(backup)? != before {
        return Err("the backup is another one".into());
    }
    has_not(&checkup(folder.path(), &home, &[])?, "ide-debug-heap")?;
    let again = doctor(folder.path(), &home, &["--fix", "--yes"]);
    match again.code() == 0 && std::fs::read_to_string(&file)? == after {
        true => Ok(()),
        false => Err("the second time something was changed".into()),
    }
}

pub(crate) fn broken_configuration_is_left_alone() -> Result<(), Failed> {
    let before = "{\n  \"configurations\": [\n    { \"type\": \"lldb\", ]\n}\n";
    let folder = project(before)?;
    let home = [("HOME", folder.path().to_str().ok_or("a path that is text")?)];
    let outcome = doctor(folder.path(), &home, &["--fix", "--yes"]);
    let is_reported = outcome.stderr.contains(".vscode/launch.json:3:23: ");
    match is_reported && std::fs::read_to_string(folder.path().join(".vscode/launch.json"))? == before {
        true => Ok(()),
        false => Err(outcome.stderr.into()),
    }
}

pub(crate) fn bad_requests() -> Result<(), Failed> {
    let folder = run::private_folder();
    let at = folder.path();
    for (arguments, code, word) in [
        (&["--pid", "4194304"][..], 1, "no such process"),
        (&["--", "there-is-no-such-program"][..], 127, "command not found"),
        (&["--pid", "x"][..], 2, "invalid value"),
        (&["--pid", "1", "--", "ls"][..], 2, "cannot be used with"),
    ] {
        let outcome = doctor(at, &[], arguments);
        if outcome.code() != code || !outcome.stderr.contains(word) || outcome.stderr.contains("panicked") {
            return Err(format!("{arguments:?}: {} {}", outcome.code(), outcome.stderr).into());
        }
    }
    Ok(())
}

pub(crate) fn markdown_and_text() -> Result<(), Failed> {
    let folder = run::private_folder();
    let variables = [("MALLOC_PERTURB_", "165"), ("COLUMNS", "80")];
    let text = doctor(folder.path(), &variables, &["--", "/bin/ls"]).text();
    if text.lines().any(|line| line.chars().count() > 80) || !text.contains("MALLOC_PERTURB_=165") {
        return Err(text.into());
    }
    let markdown = doctor(folder.path(), &variables, &["--format", "markdown", "--", "/bin/ls"]).text();
    if !markdown.starts_with("### heapwise doctor") || !markdown.contains("`MALLOC_PERTURB_=165`") {
        return Err(markdown.into());
    }
    Ok(())
}

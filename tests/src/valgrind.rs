//! valgrind as an independent count of all allocations.

use crate::recording::Recording;
use crate::{programs, run};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

/// The last line of valgrind: `total heap usage: 1,234 allocs, 1,200 frees, 56,789 bytes allocated`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// Blocks, reallocations included.
    pub allocs: u64,
    /// Their requested bytes.
    pub bytes: u64,
}

/// Environments in which a program finds variables of the same names and lengths under valgrind and under heapwise, for programs
/// that copy them: each of the two tools adds variables.
#[derive(Debug, Default)]
pub struct Twins {
    /// What to add for valgrind.
    pub valgrind: Vec<(String, String)>,
    /// What to add for heapwise.
    pub heapwise: Vec<(String, String)>,
}

/// Finds out what must be added; `None` if valgrind is missing and the test may be skipped.
pub fn twins(folder: &Path) -> Option<Twins> {
    let valgrind = programs::find("valgrind")?;
    let env = programs::find("env")?;
    let mut command = run::command(valgrind, folder);
    let valgrind = variables(command.arg("--log-file=/dev/null").arg(&env), folder);
    let heapwise = variables(&mut Recording::new(folder).command(&env, &[]), folder);
    let mut twins = Twins::default();
    for (name, value) in &valgrind {
        match heapwise.get(name) {
            None => twins.heapwise.push((name.clone(), value.clone())),
            // The loader skips empty entries, so whatever was preloaded before is kept after a colon.
            Some(other) if other.len() < value.len() => {
                twins.heapwise.push((name.clone(), ":".repeat(value.len() - other.len() - 1)));
            }
            Some(_) => {}
        }
    }
    let missing = heapwise.into_iter().filter(|(name, _)| !valgrind.contains_key(name));
    twins.valgrind.extend(missing);
    Some(twins)
}

fn variables(env: &mut Command, folder: &Path) -> BTreeMap<String, String> {
    let outcome = run::finish(env, folder, "env");
    let text = outcome.text();
    let pairs = text.lines().filter_map(|line| line.split_once('='));
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// Runs a command line under valgrind and returns its count.
///
/// # Panics
/// If it does not end with `code`.
pub fn count(line: &[&OsStr], folder: &Path, variables: &[(String, String)], code: i32) -> Usage {
    let mut command = run::command("valgrind", folder);
    command.envs(variables.iter().map(|(name, value)| (name, value)));
    command.args(["--run-libc-freeres=no", "--leak-check=no", "--log-file=valgrind.log", "--"]).args(line);
    let outcome = run::finish(&mut command, folder, "valgrind");
    assert_eq!(outcome.code(), code, "valgrind ended otherwise: {}", outcome.stderr);
    let log = std::fs::read_to_string(folder.join("valgrind.log")).expect("valgrind writes its log");
    parse(&log).unwrap_or_else(|| panic!("valgrind counted nothing:\n{log}"))
}

fn parse(log: &str) -> Option<Usage> {
    let line = log.lines().rev().find_map(|line| line.split_once("total heap usage: "))?.1;
    let mut numbers =
        line.split(", ").map(|part| part.split(' ').next().unwrap_or_default().replace(',', ""));
    let allocs = numbers.next()?.parse().ok()?;
    let bytes = numbers.nth(1)?.parse().ok()?;
    Some(Usage { allocs, bytes })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_of_valgrind_is_understood() {
        let log = "==7== HEAP SUMMARY:\n==7==   total heap usage: 1,234 allocs, 1,200 frees, 5,056,789 bytes allocated\n";
        assert_eq!(parse(log), Some(Usage { allocs: 1234, bytes: 5_056_789 }));
        assert_eq!(parse("killed"), None);
    }
}

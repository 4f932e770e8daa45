//! Taking away what concerns the heap: the plain condition begins with it, and it is what `heapwise doctor` recommends.

use heapwise_environment::is_heap_variable;
use std::ffi::{OsStr, OsString};
use std::process::Command;

/// The list of libraries that the loader puts in front.
const PRELOAD: &str = "LD_PRELOAD";
/// Settings of the workers themselves.
const OWN: &str = "HEAPWISE_LAB_";

/// Whether a variable concerns the heap: one that a check knows, or one of ours.
fn concerns_the_heap(name: &OsStr) -> bool {
    name.to_str().is_some_and(|name| is_heap_variable(name) || name.starts_with(OWN) || name == PRELOAD)
}

/// Removes every variable that concerns the heap from a command: those that it would inherit, and those that it was given.
pub fn clean(command: &mut Command) {
    let inherited = std::env::vars_os().map(|(name, _)| name);
    let given = command.get_envs().map(|(name, _)| name.to_owned());
    let names: Vec<OsString> = inherited.chain(given).filter(|name| concerns_the_heap(name)).collect();
    for name in names {
        command.env_remove(name);
    }
}

/// The names of variables of this process that concern the heap. Workers do not get them.
pub fn own_heap_variables() -> Vec<String> {
    let names = std::env::vars_os().map(|(name, _)| name);
    let mut names: Vec<String> =
        names.filter(|name| concerns_the_heap(name)).filter_map(|name| name.into_string().ok()).collect();
    names.sort_unstable();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(command: &Command) -> Vec<(String, Option<String>)> {
        let text = |s: &OsStr| s.to_string_lossy().into_owned();
        command.get_envs().map(|(name, value)| (text(name), value.map(text))).collect()
    }

    #[test]
    fn what_concerns_the_heap_goes_and_the_rest_stays() {
        let mut command = Command::new("true");
        command
            .env("MALLOC_CHECK_", "3")
            .env("LD_PRELOAD", "x.so")
            .env("LANG", "C")
            .env("HEAPWISE_LAB_ALLOCATOR", "x");
        clean(&mut command);
        let left: Vec<_> = environment(&command).into_iter().filter(|(_, value)| value.is_some()).collect();
        assert_eq!(left, [("LANG".to_owned(), Some("C".to_owned()))]);
        // Removed, and not merely never given: the worker would inherit them otherwise.
        assert!(environment(&command).contains(&("MALLOC_CHECK_".to_owned(), None)));
    }
}

//! Unsafe code stays in the modules that are named here, so that a reader knows where to look for it.

use super::Problem;
use super::code::{has_word, only};
use super::tree::{Tree, is_in};

const ALLOWED: &[&str] = &[
    // Runs inside other programs, without an allocator of its own.
    "crates/record/recorder/",
    "crates/record/preload/src/lib.rs",
    // Compiles files of the recorder, and hands them memory.
    "tests/models/src/",
    // Is given memory by the recorder.
    "crates/record/collector/src/tests/",
    // Shared memory, signals, and what happens between fork and exec.
    "crates/record/collector/src/command.rs",
    "crates/record/collector/src/signals.rs",
    "crates/record/collector/src/sys.rs",
    // Reads the processor's clock.
    "crates/record/collector/src/ticks.rs",
    // Asks the allocator of its own process.
    "crates/record/collector/src/usable.rs",
    // Asks the C library for its version, and its allocator for a few blocks.
    "crates/doctor/environment/src/facts/linux/machine.rs",
    "crates/doctor/environment/src/facts/probes_unix.rs",
    // Asks the C library for its version.
    "crates/trial/allocators/src/c_library.rs",
    // Waits, traces, and what happens between fork and exec.
    "crates/trial/trial/src/compare/measure/sys.rs",
    // Calls the C allocation functions, on memory that two processes share; the one is waited for by the other.
    "crates/trial/trial/src/replay/worker/",
    "crates/trial/trial/src/replay/parent/child.rs",
    "crates/trial/trial/src/replay/parent/memory.rs",
    "crates/trial/trial/src/replay/parent/ticks.rs",
    // Asks the allocator of its own process who it is.
    "crates/trial/allocators/src/identity/answer.rs",
    "crates/trial/allocators/src/identity/own.rs",
    "crates/trial/allocators/src/identity/symbols.rs",
    // Functions of Windows: a process's memory, the registry, Wine.
    "crates/doctor/environment/src/facts/windows/sys/",
    // Debugs a process.
    "crates/doctor/doctor/src/launch/windows/sys.rs",
    // Looks at descriptors and signals before main, and what happens between fork and exec; changes its own environment.
    "crates/cli/heapwise-cli/src/inherited.rs",
    "crates/cli/heapwise-cli/src/nested.rs",
    // Sets a variable in its own environment, as programs do that believe in it.
    "crates/cli/heapwise-cli/tests/windows/tool.rs",
    // Is heapwise's own allocator, which passes calls on to one of two.
    "crates/trial/trial/src/lab/allocator.rs",
    // Passes calls on, walks stacks without a lock, and has counters of threads that stay for ever.
    "crates/library/heapwise/src/allocator.rs",
    "crates/library/heapwise/src/budget/capture.rs",
    "crates/library/heapwise/src/tally/slot.rs",
    // Puts a function where the loader finds it.
    "crates/library/heapwise/src/record/linux/inside.rs",
    // Asks the system for stacks, object files and threads.
    "crates/record/portable/src/system/",
    // Forks, to see that a child is not recorded.
    "crates/library/heapwise/tests/recording/scenes.rs",
    // Files as memory, and a system call that std lacks.
    "crates/explain/symbols/src/mmap.rs",
    "crates/explain/symbols/src/inspect/xattr.rs",
    // Allocators under the names of the C library's functions.
    "allocators/",
    // Programs that are recorded or measured, and the one that measures them.
    "benches/launcher/measure.rs",
    "benches/workloads/",
    "tests/",
];

/// Finds unsafe code elsewhere, and places in the list above that have none.
pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut used = vec![false; ALLOWED.len()];
    for (path, text) in tree.with_extension(&["rs"]) {
        let code = only(text);
        let Some(number) = code.lines().position(|line| has_word(line, "unsafe")) else { continue };
        match ALLOWED.iter().position(|place| is_in(path, &[place])) {
            Some(place) => used[place] = true,
            None => problems.push(Problem::at(path, number, "unsafe code is not allowed here")),
        }
    }
    for (place, _) in ALLOWED.iter().zip(used).filter(|(_, used)| !used) {
        problems
            .push(Problem::new(*place, "has no unsafe code: strike it off xtask/src/tidy/unsafe_code.rs"));
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::lines;

    #[test]
    fn unsafe_code_elsewhere_is_found() {
        let tree = Tree::from([
            ("crates/record/recorder/src/deep/er.rs", "unsafe fn f() {}"),
            ("crates/record/collector/src/sys.rs", "unsafe impl Send for X {}"),
            ("crates/record/collector/src/system.rs", "// unsafe\n\n    unsafe { f() }"),
            ("crates/explain/analysis/src/lib.rs", "#![forbid(unsafe_code)] // unsafe\nlet s = \"unsafe\";"),
        ]);
        let found = lines(&check(&tree));
        assert_eq!(found[0], "crates/record/collector/src/system.rs:3: unsafe code is not allowed here");
        // All other lines are about places that this small tree lacks.
        assert!(found[1..].iter().all(|line| line.contains("strike it off")), "{found:?}");
        assert_eq!(found.len(), 1 + ALLOWED.len() - 2);
    }
}

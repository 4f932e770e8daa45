//! The direction of dependencies between the crates of the workspace.

use super::Problem;
use super::packages::{Package, Packages};

/// Each crate, from the ground up, and the crates of this workspace that it may be built from.
const LAYERS: &[(&str, &[&str])] = &[
    // The formats: what the recorder and everybody else have in common.
    ("heapwise-trace", &[]),
    // Inside the recorded program. The library that is preloaded is the only one that exports C symbols.
    ("heapwise-recorder", &["heapwise-trace"]),
    ("heapwise-preload", &["heapwise-recorder"]),
    // Outside of it. The collector speaks to the recorder through the formats and not through its code.
    ("heapwise-collector", &["heapwise-trace"]),
    ("heapwise-symbols", &[]),
    // Other allocators, and how a program gets one.
    ("heapwise-allocators", &[]),
    // What outside of the code slows a heap: built into programs of other people, so it needs nothing of ours.
    ("heapwise-environment", &[]),
    // Names of others, shown as text.
    ("heapwise-escape", &[]),
    // Attributes and derives run inside of the compiler.
    ("heapwise-macros", &[]),
    // What programs of other people use of ours.
    (
        "heapwise",
        &[
            "heapwise-collector",
            "heapwise-environment",
            "heapwise-macros",
            "heapwise-recorder",
            "heapwise-trace",
        ],
    ),
    // Starts programs on Windows, with or without the debug heap.
    ("heapwise-launch", &["heapwise-environment"]),
    // Configuration files of editors are nothing that other people's programs need.
    ("heapwise-ide", &["heapwise-environment", "heapwise-escape"]),
    // Numbers that were measured, and what can be said of them.
    ("heapwise-statistics", &[]),
    // Experiments: what an environment does to a heap on this machine, measured.
    ("heapwise-lab", &["heapwise-environment", "heapwise-statistics"]),
    // A program itself under one allocator after the other, measured.
    ("heapwise-compare", &["heapwise-environment", "heapwise-statistics"]),
    ("heapwise-analysis", &["heapwise-trace"]),
    ("heapwise-diagnosis", &["heapwise-analysis", "heapwise-trace"]),
    // A recording done again, in processes of its own with other allocators.
    (
        "heapwise-replay",
        &[
            "heapwise-allocators",
            "heapwise-analysis",
            "heapwise-collector",
            "heapwise-statistics",
            "heapwise-trace",
        ],
    ),
    // The search for what suits a program.
    ("heapwise-tune", &["heapwise-allocators", "heapwise-compare", "heapwise-replay", "heapwise-statistics"]),
    (
        "heapwise-report",
        &[
            "heapwise-allocators",
            "heapwise-analysis",
            "heapwise-compare",
            "heapwise-diagnosis",
            "heapwise-environment",
            "heapwise-escape",
            "heapwise-lab",
            "heapwise-replay",
            "heapwise-statistics",
            "heapwise-trace",
            "heapwise-tune",
        ],
    ),
    ("heapwise-export", &["heapwise-analysis", "heapwise-escape", "heapwise-trace"]),
    // The program puts them together, and carries the preload library as a file.
    (
        "heapwise-cli",
        &[
            "heapwise-allocators",
            "heapwise-analysis",
            "heapwise-collector",
            "heapwise-compare",
            "heapwise-diagnosis",
            "heapwise-environment",
            "heapwise-escape",
            "heapwise-export",
            "heapwise-launch",
            "heapwise-ide",
            "heapwise-lab",
            "heapwise-replay",
            "heapwise-report",
            "heapwise-symbols",
            "heapwise-trace",
            "heapwise-tune",
        ],
    ),
    // Starts the program, and reads what benchmarks leave.
    ("cargo-heapwise", &["heapwise-escape"]),
    // These look at heapwise from outside, as its users do.
    ("heapwise-tests", &["heapwise-allocators", "heapwise-analysis", "heapwise-symbols", "heapwise-trace"]),
    ("victims-with-crates", &[]),
    ("victims-wrapped", &["heapwise"]),
    ("benches", &["heapwise-environment", "heapwise-statistics"]),
    ("wrappers", &["heapwise"]),
    ("async-server", &[]),
    ("fragmentation", &[]),
    ("poetry-contest", &[]),
    ("xtask", &[]),
];

/// Crates that nothing may be built from, nor tested with.
const TOPS: &[&str] = &[
    "cargo-heapwise",
    "heapwise-cli",
    "heapwise-preload",
    "heapwise-tests",
    "benches",
    "async-server",
    "fragmentation",
    "poetry-contest",
    "victims-with-crates",
    "victims-wrapped",
    "wrappers",
    "xtask",
];

/// Finds dependencies that go the wrong way.
pub(super) fn check(packages: &Packages) -> Vec<Problem> {
    let is_member = |name: &str| packages.members().any(|member| member.name == name);
    let mut problems = Vec::new();
    for Package { name, dependencies, test_dependencies, .. } in packages.members() {
        let Some((_, allowed)) = LAYERS.iter().find(|(layer, _)| layer == name) else {
            problems.push(Problem::new(name, "has no place in the layers (xtask/src/tidy/layers.rs)"));
            continue;
        };
        for lower in dependencies.iter().filter(|d| is_member(d) && !allowed.contains(&d.as_str())) {
            problems.push(Problem::new(name, format!("must not depend on {lower}")));
        }
        // The tests of a crate may use its neighbours, but not what is above all.
        for top in test_dependencies.iter().filter(|d| TOPS.contains(&d.as_str())) {
            problems.push(Problem::new(name, format!("must not be tested with {top}")));
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::lines;

    fn member(name: &str, dependencies: &[&str]) -> Package {
        let dependencies = dependencies.iter().map(|d| (*d).to_owned()).collect();
        Package { name: name.to_owned(), is_member: true, dependencies, ..Package::default() }
    }

    #[test]
    fn upwards_is_refused_and_downwards_is_not() {
        let mut all = vec![
            member("heapwise-trace", &["serde"]),
            member("heapwise-collector", &["heapwise-trace", "heapwise-recorder"]),
            member("heapwise-recorder", &["heapwise-trace"]),
            member("heapwise-report", &["heapwise-cli"]),
            member("heapwise-cli", &["heapwise-report", "heapwise-trace"]),
        ];
        all[0].test_dependencies = ["heapwise-cli".to_owned(), "proptest".to_owned()].into();
        assert_eq!(
            lines(&check(&Packages { all })),
            [
                "heapwise-trace: must not be tested with heapwise-cli",
                "heapwise-collector: must not depend on heapwise-recorder",
                "heapwise-report: must not depend on heapwise-cli",
            ]
        );
    }

    #[test]
    fn a_new_crate_needs_a_place() {
        let problems = check(&Packages { all: vec![member("heapwise-new", &[])] });
        assert!(lines(&problems)[0].starts_with("heapwise-new: has no place"));
    }

    #[test]
    fn the_table_goes_from_the_ground_up() {
        for (at, (name, allowed)) in LAYERS.iter().enumerate() {
            for lower in *allowed {
                let below = LAYERS[..at].iter().any(|(layer, _)| layer == lower);
                assert!(below, "{lower} is not below {name}");
                assert!(!TOPS.contains(lower), "{name} is on top of {lower}");
            }
        }
    }
}

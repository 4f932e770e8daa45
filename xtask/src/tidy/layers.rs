//! The wings of the house: which folder each crate lies in, and which crates it may be built from.

use super::Problem;
use super::packages::{Package, Packages};
use std::fmt::Write;

/// A folder of crates.
struct Wing {
    name: &'static str,
    /// What it is about, for the list in ARCHITECTURE.md.
    about: &'static str,
    crates: &'static [Layer],
}

/// A crate, and the crates of this workspace that it may be built from.
struct Layer {
    package: &'static str,
    about: &'static str,
    uses: &'static [&'static str],
}

const fn layer(package: &'static str, about: &'static str, uses: &'static [&'static str]) -> Layer {
    Layer { package, about, uses }
}

/// All of them, from the ground up: a crate uses only what stands above it here.
const WINGS: &[Wing] = &[
    Wing {
        name: "knowledge",
        about: "tables that all may look things up in",
        crates: &[layer("heapwise-allocators", "all that is known of an allocator", &[])],
    },
    Wing {
        name: "record",
        about: "from a call of an allocation function to a file",
        crates: &[
            layer("heapwise-trace", "the formats: events, the shared memory, the file", &[]),
            layer("heapwise-recorder", "inside of the recorded program", &["heapwise-trace"]),
            layer("heapwise-preload", "the recorder as a library to preload", &["heapwise-recorder"]),
            layer("heapwise-collector", "outside of it, while it runs", &["heapwise-trace"]),
            layer(
                "heapwise-portable",
                "a program records a sample of itself, on any system",
                &["heapwise-allocators", "heapwise-trace"],
            ),
        ],
    },
    Wing {
        name: "explain",
        about: "from the file to findings",
        crates: &[
            layer(
                "heapwise-symbols",
                "names, and what an executable is",
                &["heapwise-allocators", "heapwise-trace"],
            ),
            layer(
                "heapwise-analysis",
                "from a recording to tables",
                &["heapwise-allocators", "heapwise-trace"],
            ),
            layer(
                "heapwise-diagnosis",
                "from tables to findings",
                &["heapwise-allocators", "heapwise-analysis", "heapwise-trace"],
            ),
        ],
    },
    Wing {
        name: "doctor",
        about: "what outside of the code slows a heap",
        crates: &[
            layer(
                "heapwise-environment",
                "facts about a process, and checks of them",
                &["heapwise-allocators"],
            ),
            layer(
                "heapwise-doctor",
                "configuration of editors and debuggers, and starts without the debug heap",
                &["heapwise-environment"],
            ),
        ],
    },
    Wing {
        name: "trial",
        about: "what another allocator would change",
        crates: &[layer(
            "heapwise-trial",
            "compare, replay, tune, and the lab",
            &[
                "heapwise-allocators",
                "heapwise-analysis",
                "heapwise-collector",
                "heapwise-environment",
                "heapwise-trace",
                "poetry-contest",
            ],
        )],
    },
    Wing {
        name: "present",
        about: "for people and for other programs",
        crates: &[layer(
            "heapwise-report",
            "reports in all formats, exports, escaping",
            &[
                "heapwise-allocators",
                "heapwise-analysis",
                "heapwise-diagnosis",
                "heapwise-environment",
                "heapwise-trace",
                "heapwise-trial",
            ],
        )],
    },
    Wing {
        name: "fleet",
        about: "many recordings together",
        crates: &[layer(
            "heapwise-tables",
            "a recording as tables in Parquet",
            &["heapwise-analysis", "heapwise-diagnosis", "heapwise-environment", "heapwise-trace"],
        )],
    },
    Wing {
        name: "library",
        about: "what programs of other people use",
        crates: &[
            layer("heapwise-macros", "its attribute and its derive", &[]),
            layer(
                "heapwise",
                "counts, budgets, benchmarks, recordings from inside",
                &[
                    "heapwise-collector",
                    "heapwise-environment",
                    "heapwise-macros",
                    "heapwise-portable",
                    "heapwise-recorder",
                    "heapwise-trace",
                ],
            ),
        ],
    },
    Wing {
        name: "cli",
        about: "the programs",
        crates: &[
            layer(
                "heapwise-cli",
                "`heapwise`, which carries the preload library as a file",
                &[
                    "heapwise-allocators",
                    "heapwise-analysis",
                    "heapwise-collector",
                    "heapwise-diagnosis",
                    "heapwise-doctor",
                    "heapwise-environment",
                    "heapwise-report",
                    "heapwise-symbols",
                    "heapwise-tables",
                    "heapwise-trace",
                    "heapwise-trial",
                ],
            ),
            layer("cargo-heapwise", "starts cargo and `heapwise`", &["heapwise-report"]),
        ],
    },
];

/// What looks at heapwise from outside, as its users do.
const OUTSIDE: &[Layer] = &[
    layer(
        "heapwise-tests",
        "tests of the whole",
        &[
            "heapwise-allocators",
            "heapwise-analysis",
            "heapwise-report",
            "heapwise-symbols",
            "heapwise-trace",
            "heapwise-trial",
        ],
    ),
    layer("budgets", "messages of budgets, also in an optimised build", &["heapwise"]),
    layer("models", "every schedule of ring and trie", &["heapwise-trace"]),
    layer("victims-with-crates", "programs that tests record", &[]),
    layer("victims-wrapped", "and such that wrap their allocator", &["heapwise"]),
    layer(
        "benches",
        "measurements",
        &["heapwise-allocators", "heapwise-analysis", "heapwise-environment", "heapwise-trial"],
    ),
    layer("with-dhat", "programs that they measure, with dhat-rs", &[]),
    layer("wrappers", "programs that they measure", &["heapwise"]),
    layer("async-server", "an example", &[]),
    layer("fragmentation", "an example", &[]),
    layer("xtask", "everything that builds, checks and measures", &["heapwise-allocators"]),
];

/// Outside of the wings, and below them: an example that the worker of experiments contains.
const BELOW: &[Layer] = &[layer("poetry-contest", "an example", &[])];

/// Outside of the wings, and above them: what the examples in the library's docs are compiled with.
const BESIDE: &[Layer] = &[layer("heapwise-installed", "the allocator of examples in docs", &["heapwise"])];

/// Crates of the wings that nothing may be built from, nor tested with. So is all that is outside.
const TOPS: &[&str] = &["cargo-heapwise", "heapwise-cli", "heapwise-preload"];

fn layers() -> impl Iterator<Item = &'static Layer> {
    BELOW.iter().chain(WINGS.iter().flat_map(|wing| wing.crates)).chain(BESIDE).chain(OUTSIDE)
}

fn is_top(name: &str) -> bool {
    TOPS.contains(&name) || OUTSIDE.iter().any(|layer| layer.package == name)
}

/// Finds dependencies that go the wrong way, and crates in the wrong wing.
pub(super) fn check(packages: &Packages) -> Vec<Problem> {
    let is_member = |name: &str| packages.members().any(|member| member.name == name);
    let mut problems = Vec::new();
    for Package { name, folder, dependencies, test_dependencies, .. } in packages.members() {
        let Some(layer) = layers().find(|layer| layer.package == name) else {
            problems.push(Problem::new(name, "has no place in the layers (xtask/src/tidy/layers.rs)"));
            continue;
        };
        let wing = WINGS.iter().find(|wing| wing.crates.iter().any(|layer| layer.package == name));
        if let Some(wing) = wing
            && !folder.starts_with(&format!("crates/{}/", wing.name))
        {
            problems.push(Problem::new(name, format!("lies in {folder} and not in crates/{}", wing.name)));
        }
        for lower in dependencies.iter().filter(|d| is_member(d) && !layer.uses.contains(&d.as_str())) {
            problems.push(Problem::new(name, format!("must not depend on {lower}")));
        }
        // The tests of a crate may use its neighbours, but not what is above all.
        for top in test_dependencies.iter().filter(|d| is_top(d)) {
            problems.push(Problem::new(name, format!("must not be tested with {top}")));
        }
    }
    problems
}

/// The list for ARCHITECTURE.md.
pub(crate) fn list() -> String {
    let mut text = String::from("```text\n");
    for wing in WINGS {
        let _ = writeln!(text, "crates/{:<21}{}", wing.name, wing.about);
        for Layer { package, about, uses } in wing.crates {
            let _ = writeln!(text, "  {package:<24}  {about}");
            let uses: Vec<&str> = uses.iter().map(|name| name.trim_start_matches("heapwise-")).collect();
            if !uses.is_empty() {
                let _ = writeln!(text, "{:28}[{}]", "", uses.join(", "));
            }
        }
    }
    text.push_str("outside                     they use heapwise as its users do\n");
    for Layer { package, about, .. } in OUTSIDE {
        let _ = writeln!(text, "  {package:<24}  {about}");
    }
    text + "```\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::lines;

    fn member(name: &str, wing: &str, dependencies: &[&str]) -> Package {
        let dependencies = dependencies.iter().map(|d| (*d).to_owned()).collect();
        let (name, folder) = (name.to_owned(), format!("crates/{wing}/any"));
        Package { name, folder, is_member: true, dependencies, ..Package::default() }
    }

    #[test]
    fn upwards_is_refused_and_downwards_is_not() {
        let mut all = vec![
            member("heapwise-trace", "record", &["serde"]),
            member("heapwise-collector", "record", &["heapwise-trace", "heapwise-recorder"]),
            member("heapwise-recorder", "explain", &["heapwise-trace"]),
            member("heapwise-report", "present", &["heapwise-cli"]),
            member("heapwise-cli", "cli", &["heapwise-report", "heapwise-trace"]),
        ];
        all[0].test_dependencies = ["heapwise-cli".to_owned(), "proptest".to_owned()].into();
        assert_eq!(
            lines(&check(&Packages { all })),
            [
                "heapwise-trace: must not be tested with heapwise-cli",
                "heapwise-collector: must not depend on heapwise-recorder",
                "heapwise-recorder: lies in crates/explain/any and not in crates/record",
                "heapwise-report: must not depend on heapwise-cli",
            ]
        );
    }

    #[test]
    fn a_new_crate_needs_a_place() {
        let problems = check(&Packages { all: vec![member("heapwise-new", "record", &[])] });
        assert!(lines(&problems)[0].starts_with("heapwise-new: has no place"));
    }

    #[test]
    fn the_table_goes_from_the_ground_up() {
        let all: Vec<_> = layers().collect();
        for (at, Layer { package, uses, .. }) in all.iter().enumerate() {
            for lower in *uses {
                let below = all[..at].iter().any(|layer| layer.package == *lower);
                assert!(below, "{lower} is not below {package}");
                assert!(!is_top(lower), "{package} is on top of {lower}");
            }
        }
    }

    /// The folders of crates may hold so many.
    const MOST_CRATES: usize = 18;

    #[test]
    fn the_house_is_small() {
        assert!(WINGS.iter().map(|wing| wing.crates.len()).sum::<usize>() <= MOST_CRATES);
    }
}

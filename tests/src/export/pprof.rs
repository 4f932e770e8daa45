//! pprof, as `go tool pprof`.

use crate::{programs, run};
use std::collections::BTreeMap;
use std::path::Path;

/// A profile as pprof prints it.
#[derive(Clone, Debug, Default)]
pub struct Profile {
    /// Sums over all samples: allocated objects and bytes, objects and bytes in use.
    pub sums: [u64; 4],
    /// Innermost location first.
    pub stacks: Vec<Vec<u64>>,
    /// Functions with their places in the source, the innermost inlined one first.
    pub locations: BTreeMap<u64, Vec<String>>,
    /// Lines about object files.
    pub mappings: Vec<String>,
    pub comments: Vec<String>,
    /// All that was printed.
    pub text: String,
}

/// Runs pprof on a profile; `None` if there is no pprof and the test may be skipped.
///
/// # Panics
/// If pprof refuses the file.
pub fn pprof(file: &Path, arguments: &[&str], folder: &Path) -> Option<String> {
    let go = programs::find("go")?;
    let mut command = run::command(go, folder);
    // A newer Go has pprof as source, and caches its build.
    command.env("GOTOOLCHAIN", "local").env("GOFLAGS", "-buildvcs=false").env("PPROF_TMPDIR", folder);
    let outcome = run::finish(command.args(["tool", "pprof"]).args(arguments).arg(file), folder, "pprof");
    assert_eq!(outcome.code(), 0, "pprof refuses {}: {}", file.display(), outcome.stderr);
    Some(outcome.text())
}

/// Reads a profile with pprof.
///
/// # Panics
/// If pprof refuses the file, or prints something else than expected.
pub fn read(file: &Path, folder: &Path) -> Option<Profile> {
    let text = pprof(file, &["-raw"], folder)?;
    let mut profile = Profile { text: text.clone(), ..Profile::default() };
    let mut part = "";
    let mut at = 0;
    for line in text.lines() {
        match line {
            "Samples:" | "Locations" | "Mappings" => part = line,
            _ if part == "Samples:" && line.contains("alloc_objects/count") => {
                assert_eq!(
                    line.trim(),
                    "alloc_objects/count alloc_space/bytes inuse_objects/count inuse_space/bytes[dflt]"
                );
            }
            _ if part == "Samples:" => {
                let (values, stack) = line.split_once(':').expect("values, a colon, a stack");
                let values: Vec<u64> = values.split_whitespace().map(number).collect();
                assert_eq!(values.len(), 4, "{line}");
                profile.sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
                profile.stacks.push(stack.split_whitespace().map(number).collect());
            }
            _ if part == "Locations" => {
                let mut name = line.trim();
                // `7: 0x4a0 M=1 main main.c:3:0 s=0`, and below it the functions into which that one was inlined.
                if let Some((id, rest)) = name.split_once(": 0x")
                    && id.bytes().all(|b| b.is_ascii_digit())
                {
                    at = number(id);
                    name = rest.split_once(' ').map_or("", |(_address, rest)| rest);
                    name =
                        name.strip_prefix("M=").map_or(name, |rest| rest.split_once(' ').map_or("", |r| r.1));
                }
                profile.locations.entry(at).or_default().push(name.to_owned());
            }
            _ if part == "Mappings" => profile.mappings.push(line.to_owned()),
            _ => profile.comments.extend(line.strip_prefix("Comment: ").map(str::to_owned)),
        }
    }
    Some(profile)
}

fn number(text: &str) -> u64 {
    text.parse().unwrap_or_else(|e| panic!("{text}: {e}"))
}

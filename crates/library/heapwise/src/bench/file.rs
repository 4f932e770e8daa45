//! The file of a benchmark, `heapwise.bench/1`, which `cargo heapwise bench` reads.

use super::{Figures, Iteration, MeanIteration};
use crate::output;
use serde::Serialize;
use std::path::Path;
use std::{env, io};

/// The value of the field `schema`.
pub(crate) const SCHEMA: &str = "heapwise.bench/1";

/// What a benchmark allocates.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub(crate) struct Document<'figures> {
    /// The name and version of this schema.
    #[cfg_attr(test, schemars(extend("const" = SCHEMA)))]
    schema: &'static str,
    /// The name of the benchmark.
    id: &'figures str,
    /// The executable that it is in.
    target: &'figures str,
    /// The run that it is of, as `cargo heapwise bench` calls it; empty without.
    run: &'figures str,
    /// The version of heapwise.
    heapwise: &'static str,
    /// How many iterations the numbers are of, without the first one.
    iterations: u64,
    /// The first iteration, in which caches are filled.
    first: &'figures Iteration,
    /// The mean of the others.
    mean: &'figures MeanIteration,
    /// The least of each number in the others.
    min: &'figures Iteration,
    /// The greatest of each number in the others.
    max: &'figures Iteration,
}

pub(super) fn write(id: &str, figures: &Figures) -> io::Result<()> {
    let target = target(&env::current_exe()?);
    let run = env::var_os("HEAPWISE_RUN").unwrap_or_default();
    let document = Document {
        schema: SCHEMA,
        id,
        target: &target,
        run: &run.to_string_lossy(),
        heapwise: env!("CARGO_PKG_VERSION"),
        iterations: figures.iterations,
        first: &figures.first,
        mean: &figures.mean,
        min: &figures.min,
        max: &figures.max,
    };
    let folder = output::folder()?.join("bench").join(output::plain_name(&target));
    output::write(&folder.join(output::file_name(id)), &output::json(&document))
}

/// The benchmark's name: that of its program without the hash that cargo adds.
fn target(program: &Path) -> String {
    let name = program.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    let name = name.strip_suffix(".exe").unwrap_or(&name);
    let is_hash =
        |end: &str| end.len() == 16 && end.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
    match name.rsplit_once('-') {
        Some((name, end)) if is_hash(end) && !name.is_empty() => name.to_owned(),
        _ => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_of_cargo_is_no_part_of_the_name() {
        let of = |name: &str| target(&Path::new("deps").join(name));
        assert_eq!(of("contest-0123456789abcdef"), "contest");
        assert_eq!(of("my-bench-0123456789abcdef.exe"), "my-bench");
        let others = ["my-bench", "contest-0123456789ABCDEF", "contest-123", "-0123456789abcdef"];
        assert_eq!(others.map(of), others);
    }
}

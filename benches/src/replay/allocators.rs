//! The allocators that programs really run with, as libraries to be preloaded.

use anyhow::{Result, bail};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// gperftools' tcmalloc, where it is installed.
const TCMALLOC: [&str; 2] =
    ["/usr/lib/x86_64-linux-gnu/libtcmalloc_minimal.so.4", "/usr/lib64/libtcmalloc_minimal.so.4"];

#[derive(Clone, Debug, Serialize)]
pub(crate) struct Allocator {
    /// As `heapwise replay` names it.
    pub(crate) name: &'static str,
    pub(crate) library: PathBuf,
}

/// All that are there.
pub(crate) fn present(target: &Path) -> Result<Vec<Allocator>> {
    let mut all = Vec::new();
    // glibc's is preloaded as well, for programs that bring another one: Debian's redis is linked with jemalloc, and would run
    // with it where it is compared with glibc.
    for name in heapwise_allocators::bundled().map(|allocator| allocator.name()) {
        let library = target.join("allocators").join(name).join(format!("release/lib{name}.so"));
        if !library.is_file() {
            bail!(
                "{} is missing: `cargo xtask bench replay` builds it, or cargo build --release --manifest-path \
                 allocators/Cargo.toml -p {name} --target-dir {}",
                library.display(),
                target.join("allocators").join(name).display()
            );
        }
        all.push(Allocator { name, library });
    }
    match TCMALLOC.iter().map(Path::new).find(|path| path.is_file()) {
        Some(path) => all.push(Allocator { name: "tcmalloc", library: path.to_owned() }),
        None => eprintln!("bench: tcmalloc is missing (apt-get install libtcmalloc-minimal4): not measured"),
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_said_with_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        let error = present(folder.path()).unwrap_err().to_string();
        assert!(error.contains("glibc") && error.contains("cargo xtask bench replay"), "{error}");
    }
}

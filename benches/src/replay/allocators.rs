//! The allocators that programs really run with, as libraries to be preloaded.

use crate::launcher::compile;
use anyhow::{Result, bail};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Those that `allocators/` has.
const BUILT: [&str; 4] = ["jemalloc", "mimalloc", "mimalloc2", "snmalloc"];
/// gperftools' tcmalloc, where it is installed.
const TCMALLOC: [&str; 2] =
    ["/usr/lib/x86_64-linux-gnu/libtcmalloc_minimal.so.4", "/usr/lib64/libtcmalloc_minimal.so.4"];

/// One of them.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Allocator {
    /// As `heapwise replay` names it.
    pub(crate) name: &'static str,
    pub(crate) library: PathBuf,
}

/// All that are there. glibc's is preloaded as well, for programs that bring another one.
pub(crate) fn present(target: &Path, folder: &Path) -> Result<Vec<Allocator>> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("launcher/glibc.rs");
    let glibc = folder.join("libglibc.so");
    compile(&source, &glibc, &["--crate-type", "cdylib", "-C", "panic=abort"])?;
    let mut all = vec![Allocator { name: super::fidelity::BASELINE, library: glibc }];
    for name in BUILT {
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
    use std::process::Command;

    #[test]
    fn what_is_missing_is_said_with_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        let error = present(folder.path(), folder.path()).unwrap_err().to_string();
        assert!(error.contains("jemalloc") && error.contains("cargo xtask bench replay"), "{error}");
    }

    /// `sort` with several threads allocates, reallocates and frees enough to notice a library that does it wrong.
    #[test]
    fn a_program_runs_with_glibc_preloaded() {
        let folder = tempfile::tempdir().unwrap();
        let _ = present(folder.path(), folder.path());
        let library = folder.path().join("libglibc.so");
        let output = Command::new("sh")
            .args(["-c", "seq 100000 | sort -r -n --parallel=3 | tail -1; grep -c libglibc /proc/self/maps"])
            .env("LD_PRELOAD", &library)
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let (last, mapped) = text.trim_end().split_once('\n').unwrap();
        assert_eq!(last, "1");
        assert!(mapped.parse::<u32>().unwrap() > 0, "{text}");
    }
}

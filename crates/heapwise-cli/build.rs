//! Builds the preload library and hands its path to the program, which carries it inside.
//!
//! The library needs an optimised profile without unwinding whatever the program is built with, and cargo cannot build
//! a dependency as a shared library with a profile of its own; so this runs cargo once more, in a target folder of its
//! own (docs/adr/0003-preload-inside-the-binary.md).

use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    if variable("CARGO_CFG_TARGET_OS") != "linux" {
        // Elsewhere nothing is recorded.
        println!("cargo::rerun-if-changed=build.rs");
        return;
    }
    let here = PathBuf::from(variable("CARGO_MANIFEST_DIR"));
    let crates = here.parent().expect("the crate lies in a folder of crates");
    for folder in ["heapwise-preload", "heapwise-recorder", "heapwise-trace"] {
        println!("cargo::rerun-if-changed={}", crates.join(folder).display());
    }
    println!("cargo::rerun-if-changed=build.rs");
    let package = crates.join("heapwise-preload");
    let out = PathBuf::from(variable("OUT_DIR"));
    for (name, features) in [("HEAPWISE_PRELOAD", ""), ("HEAPWISE_PRELOAD_CXX", "cxx")] {
        let built = build(&package, &out.join("preload"), features);
        // Both have the same name in the target folder.
        let kept = out.join(format!("{name}.so"));
        std::fs::copy(&built, &kept).unwrap_or_else(|e| panic!("cannot copy {}: {e}", built.display()));
        println!("cargo::rustc-env={name}={}", kept.display());
    }
}

fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("cargo sets {name} for build scripts"))
}

fn build(package: &Path, target: &Path, features: &str) -> PathBuf {
    let manifest = package.join("Cargo.toml");
    let mut cargo = Command::new(variable("CARGO"));
    cargo.args(["build", "--profile", "preload", "--lib", "--manifest-path"]).arg(&manifest);
    cargo
        .args(["--features", features])
        .arg("--target-dir")
        .arg(target)
        .args(["--target", &variable("TARGET")]);
    // What the outer build was told about flags and wrappers (coverage, sanitizers, a linter in rustc's place) is not
    // meant for code that runs in other processes.
    for name in [
        "CARGO_ENCODED_RUSTFLAGS",
        "RUSTFLAGS",
        "RUSTC_WRAPPER",
        "RUSTC_WORKSPACE_WRAPPER",
        "CARGO_BUILD_TARGET",
    ] {
        cargo.env_remove(name);
    }
    let status = cargo.status().unwrap_or_else(|e| panic!("cannot run cargo for the preload library: {e}"));
    assert!(status.success(), "the preload library did not build");
    target.join(variable("TARGET")).join("preload/libheapwise_preload.so")
}

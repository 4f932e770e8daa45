//! The `heapwise` program under test, and others of the project.

use crate::folders::{exclusively, profile_name, target_folder, workspace};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// Names another `heapwise` to test, an installed one for example.
pub const OVERRIDE: &str = "HEAPWISE_BIN";

/// Path of `heapwise`: the override, or the one in the folder of the tests, which is built if it is missing.
///
/// `cargo test --workspace` has built it already; for a test that was started alone cargo has not, since it builds the programs
/// of other packages only on request.
pub fn heapwise() -> &'static Path {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    PATH.get_or_init(|| match std::env::var_os(OVERRIDE) {
        Some(path) => PathBuf::from(path),
        None => built("heapwise", &profile_name()),
    })
}

/// Path of `cargo-heapwise`, which is built if it is missing. Only its tests need it, so cargo checks whether it is up to date.
pub fn cargo_heapwise() -> PathBuf {
    let _held = exclusively("cargo");
    cargo("cargo-heapwise", &profile_name())
}

/// Path of the contest program, the project's example of one that allocates too much.
pub fn poetry_contest() -> &'static Path {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    PATH.get_or_init(|| match std::env::var_os("HEAPWISE_CONTEST") {
        Some(path) => PathBuf::from(path),
        None => built("poetry-contest", &profile_name()),
    })
}

/// Path of the contest program as users run it: optimised, so that its functions are inlined into one another.
pub fn optimised_poetry_contest() -> PathBuf {
    let _held = exclusively("cargo");
    cargo("poetry-contest", "release")
}

/// Path of the asynchronous server, another example, as a profile of cargo's makes it: `dev` or `release`.
///
/// Cargo checks each time whether it is up to date: the profile that the tests do not have is built nowhere else.
pub fn async_server(profile: &str) -> PathBuf {
    let _held = exclusively("cargo");
    cargo("async-server", profile)
}

/// Path of a victim that needs crates, from a profile of cargo's: `dev` or `release`.
pub fn victim_with_crates(name: &str, profile: &str) -> PathBuf {
    let _held = exclusively("cargo");
    cargo(name, profile)
}

/// Path of a program that has wrapped its allocator, from a profile of cargo's: `dev` or `release`.
pub fn victim_wrapped(name: &str, profile: &str) -> PathBuf {
    let _held = exclusively("cargo");
    cargo(name, profile)
}

/// Path of such a program that is linked statically, for a target of rustc's. Allocators written in C are left out, and so is the
/// collector that no program of these has: most of what would be compiled.
pub fn static_victim(name: &str, target: &str) -> PathBuf {
    let _held = exclusively("cargo");
    let folder = target_folder();
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args([
        "build",
        "--quiet",
        "-p",
        "victims-wrapped",
        "--bin",
        name,
        "--release",
        "--no-default-features",
    ]);
    cargo.args(["--target", target]).arg("--manifest-path").arg(workspace().join("Cargo.toml"));
    // With a target, these flags are not those of build scripts and macros, which are shared with other builds.
    cargo.arg("--target-dir").arg(&folder).env("RUSTFLAGS", "-C target-feature=+crt-static");
    let path = folder.join(target).join("release").join(name);
    let status = cargo.status().expect("cargo can be started");
    assert!(status.success() && path.exists(), "cargo did not build {}", path.display());
    path
}

/// Whether rustc has the standard library for a target. `cargo xtask test` has tried to install it; if that failed, tests that
/// need it are skipped, with a message.
pub fn has_target(target: &str) -> bool {
    let output = Command::new("rustc").args(["--print", "target-libdir", "--target", target]).output();
    let folder = output.map(|o| PathBuf::from(String::from_utf8_lossy(&o.stdout).trim())).unwrap_or_default();
    let found = folder.is_dir();
    if !found {
        eprintln!("SKIPPED: rustc lacks {target}: rustup target add {target}");
    }
    found
}

/// Path of an allocator of `allocators/`, as a library to be preloaded: its version is one that distributions do not have.
pub fn allocator(name: &str) -> PathBuf {
    let _held = exclusively("cargo");
    let (mut cargo, library) =
        heapwise_allocators::library(&workspace(), &target_folder().join("allocators"), name, None);
    let status = cargo.status().expect("cargo can be started");
    assert!(status.success() && library.exists(), "cargo did not build {}", library.display());
    library
}

/// The static library that the build of an allocator has left, by its place there.
pub fn static_allocator(name: &str, file: &str) -> PathBuf {
    let built = allocator(name);
    let folders = built.parent().expect("a folder").join("build");
    let found = std::fs::read_dir(folders).expect("what was built").filter_map(|entry| {
        let library = entry.expect("an entry").path().join("out").join(file);
        library.exists().then_some(library)
    });
    { found }.next().expect("it is built from source")
}

/// Path of the worker of experiments alone. `heapwise` contains another build of it.
pub fn lab_worker() -> &'static Path {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    PATH.get_or_init(|| built("heapwise-lab-worker", &profile_name()))
}

/// Path of the worker that `heapwise` contains: its build script leaves it there.
pub fn optimised_lab_worker() -> PathBuf {
    let folder = target_folder().join("lab-worker/x86_64-unknown-linux-gnu/lab-worker");
    let path = folder.join("heapwise-lab-worker");
    assert!(path.exists(), "the build of heapwise has made {}", path.display());
    path
}

fn built(program: &str, profile: &str) -> PathBuf {
    let path = program_path(program, profile);
    // What is there is taken at once: another test may hold cargo for minutes, and whoever measures a time asks for it within that.
    if path.exists() {
        return path;
    }
    let _held = exclusively("cargo");
    if path.exists() {
        return path;
    }
    cargo(program, profile)
}

/// A test that needs the library alone. See [`cargo`].
const SMALL_TEST: &str = "budget_message";

/// Builds a program of the workspace.
///
/// Cargo chooses the features of dependencies by all packages that it is asked for, and those that tests need only if it is asked for
/// a test. In the profile of the tests, a request for a program alone would build most of its dependencies once more beside those that
/// `cargo test --workspace` has built. In another profile nothing is there, and a test would bring dependencies that no program has.
fn cargo(program: &str, profile: &str) -> PathBuf {
    let path = program_path(program, profile);
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["build", "--quiet", "--workspace", "--bin", program]);
    if profile == profile_name() {
        cargo.args(["--test", SMALL_TEST]);
    }
    cargo.args(["--profile", profile]).arg("--manifest-path").arg(workspace().join("Cargo.toml"));
    cargo.arg("--target-dir").arg(target_folder());
    let status = cargo.status().expect("cargo can be started");
    assert!(status.success() && path.exists(), "cargo did not build {}", path.display());
    path
}

fn program_path(program: &str, profile: &str) -> PathBuf {
    let folder = if profile == "dev" { "debug" } else { profile };
    target_folder().join(folder).join(program)
}

//! Builds the preload library, the allocators and the worker of experiments, and passes their paths to the program, which embeds
//! them.
//!
//! They need optimised profiles whatever the program is built with, and cargo cannot build a dependency as a shared library or a
//! program with a separate profile; so this runs cargo once more, in separate target folders
//! (docs/adr/0003-preload-inside-the-binary.md, docs/adr/0010-allocators-inside-the-binary.md,
//! docs/adr/0019-experiments-have-a-separate-worker.md).

use heapwise_allocators::{Origin, all, bundled, keep_profile, library};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Set to a non-empty value, it leaves the allocators out: the first build takes a fifth less.
const WITHOUT: &str = "HEAPWISE_WITHOUT_ALLOCATORS";
/// Names of those that are built on request, with commas between them.
const WITH: &str = "HEAPWISE_WITH_ALLOCATORS";
/// Flags and wrappers of the outer build (coverage, sanitizers, a linter in rustc's place) are not meant for code that runs in
/// other processes. Nor is what changes a profile.
const OUTER: [&str; 5] = [
    "CARGO_ENCODED_RUSTFLAGS",
    "RUSTFLAGS",
    "RUSTC_WRAPPER",
    "RUSTC_WORKSPACE_WRAPPER",
    "CARGO_BUILD_TARGET",
];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let here = PathBuf::from(variable("CARGO_MANIFEST_DIR"));
    let workspace = here.ancestors().nth(3).expect("the crate lies in a wing of the folder of crates");
    let out = PathBuf::from(variable("OUT_DIR"));
    // Elsewhere nothing is recorded.
    let records = variable("CARGO_CFG_TARGET_OS") == "linux";
    // Most of the time goes by in one process of each (a configure script, one large file of C, the linking of the preload library),
    // so side by side is quicker; cargo hands out the jobs that are left.
    std::thread::scope(|scope| {
        let mut builds = Vec::new();
        if records {
            builds.push(scope.spawn(|| carry_allocators(workspace, &out)));
            builds.push(scope.spawn(|| carry_preload(workspace, &out)));
        }
        builds.push(scope.spawn(|| carry_worker(workspace, &out)));
        builds.into_iter().for_each(|build| build.join().expect("the reason is above"));
    });
}

fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("cargo sets {name} for build scripts"))
}

/// `cargo build` of a package of the workspace, for the same target as the program.
fn nested(package: &Path, target: &Path) -> Command {
    let mut cargo = Command::new(variable("CARGO"));
    cargo.arg("build").arg("--manifest-path").arg(package.join("Cargo.toml"));
    cargo.arg("--target-dir").arg(target).args(["--target", &variable("TARGET")]);
    leave_outer_flags(keep_profile(&mut cargo));
    cargo
}

fn leave_outer_flags(cargo: &mut Command) -> &mut Command {
    OUTER.into_iter().fold(cargo, |cargo, name| cargo.env_remove(name))
}

/// Keeps what was built under a name of its variable, and passes the path to the program.
fn keep(built: &Path, out: &Path, name: &str) {
    let kept = out.join(name);
    std::fs::copy(built, &kept).unwrap_or_else(|e| panic!("cannot copy {}: {e}", built.display()));
    println!("cargo::rustc-env={name}={}", kept.display());
}

fn carry_preload(workspace: &Path, out: &Path) {
    let wing = workspace.join("crates/record");
    for folder in ["preload", "recorder", "trace"] {
        println!("cargo::rerun-if-changed={}", wing.join(folder).display());
    }
    let folder = shared_folder(out, "preload");
    // All have the same name in a target folder, and another build may want another one meanwhile.
    let variants = [("HEAPWISE_PRELOAD", ""), ("HEAPWISE_PRELOAD_CXX", "cxx"), ("HEAPWISE_IMAGE", "image")];
    for (name, features) in variants {
        let target = folder.join(if features.is_empty() { "c" } else { features });
        let mut cargo = nested(&wing.join("preload"), &target);
        cargo.args(["--profile", "preload", "--lib", "--features", features]);
        let status =
            cargo.status().unwrap_or_else(|e| panic!("cannot run cargo for the preload library: {e}"));
        assert!(status.success(), "the preload library did not build");
        keep(&target.join(variable("TARGET")).join("preload/libheapwise_preload.so"), out, name);
    }
}

fn carry_worker(workspace: &Path, out: &Path) {
    for folder in ["trial/trial", "doctor/environment", "knowledge/allocators"] {
        println!("cargo::rerun-if-changed={}", workspace.join("crates").join(folder).display());
    }
    let target = shared_folder(out, "lab-worker");
    let mut cargo = nested(&workspace.join("crates/trial/trial"), &target);
    cargo.args(["--quiet", "--profile", "lab-worker", "--bin", "heapwise-lab-worker"]);
    cargo.args(["--no-default-features", "--features", "worker"]);
    if let Some(flags) = flags_for_the_standard_library() {
        cargo.env("CARGO_ENCODED_RUSTFLAGS", flags);
    }
    let status = cargo.status().unwrap_or_else(|e| panic!("cannot run cargo for the worker: {e}"));
    assert!(status.success(), "the worker of experiments did not build");
    let suffix = if variable("CARGO_CFG_TARGET_OS") == "windows" { ".exe" } else { "" };
    let built = target.join(variable("TARGET")).join(format!("lab-worker/heapwise-lab-worker{suffix}"));
    keep(&built, out, "HEAPWISE_LAB_WORKER");
}

/// What the outer build says about where the standard library is, without which nothing can be built for its target.
fn flags_for_the_standard_library() -> Option<String> {
    let flags = std::env::var("CARGO_ENCODED_RUSTFLAGS").ok()?;
    let mut words = flags.split('\u{1f}').skip_while(|word| *word != "--sysroot");
    Some([words.next()?, words.next()?].join("\u{1f}"))
}

/// Writes a table of the allocators' libraries for the program to include.
fn carry_allocators(workspace: &Path, out: &Path) {
    println!("cargo::rerun-if-env-changed={WITHOUT}");
    println!("cargo::rerun-if-env-changed={WITH}");
    println!("cargo::rerun-if-changed={}", workspace.join("allocators").display());
    let mut table = String::from("&[");
    let folder = shared_folder(out, "allocators");
    let chosen = chosen_allocators();
    let built: Vec<PathBuf> = std::thread::scope(|scope| {
        let one = |name| {
            let folder = &folder;
            scope.spawn(move || build_allocator(workspace, folder, name))
        };
        let builds: Vec<_> = chosen.iter().copied().map(one).collect();
        builds.into_iter().map(|build| build.join().expect("the reason is above")).collect()
    });
    for (name, built) in chosen.into_iter().zip(built) {
        // The shared folder may be built into again while this program is compiled.
        let kept = out.join(format!("lib{name}.so"));
        std::fs::copy(&built, &kept).unwrap_or_else(|e| panic!("cannot copy {}: {e}", built.display()));
        write!(table, "({name:?}, include_bytes!({:?})), ", kept.display().to_string())
            .expect("a String takes it");
    }
    table.push(']');
    std::fs::write(out.join("allocators.rs"), table).expect("the folder is for this");
}

/// Those that this heapwise is to contain. Each is a member of `allocators/` with its name.
fn chosen_allocators() -> Vec<&'static str> {
    let is_without = std::env::var_os(WITHOUT).is_some_and(|value| !value.is_empty());
    let mut chosen: Vec<_> = bundled().filter(|_| !is_without).map(|allocator| allocator.name()).collect();
    let on_request = all().iter().filter(|allocator| matches!(allocator.origin(), Origin::OnRequest { .. }));
    let on_request: Vec<_> = on_request.map(|allocator| allocator.name()).collect();
    for name in std::env::var(WITH).unwrap_or_default().split(',').map(str::trim).filter(|n| !n.is_empty()) {
        let known = on_request.iter().find(|known| **known == name);
        let known =
            known.unwrap_or_else(|| panic!("{WITH} names {name:?}; it can name {}", on_request.join(", ")));
        if !chosen.contains(known) {
            chosen.push(known);
        }
    }
    chosen
}

/// Where something is built whose profile is always the same: one folder for all profiles of the program, and for the tests,
/// which build the allocators as well. jemalloc alone takes more than a minute.
fn shared_folder(out: &Path, name: &str) -> PathBuf {
    // target/[triple/]profile/build/package/out. Cargo's own mark is in a target folder only if cargo has made it.
    let builds = out.ancestors().find(|folder| folder.ends_with("build"));
    let target = builds.and_then(Path::parent).and_then(Path::parent);
    target.unwrap_or(out).join(name)
}

fn build_allocator(workspace: &Path, folder: &Path, name: &str) -> PathBuf {
    let target = variable("TARGET");
    let triple = (target != variable("HOST")).then_some(&*target);
    let (mut cargo, built) = library(workspace, folder, name, triple);
    let status = leave_outer_flags(&mut cargo).status();
    let status = status.unwrap_or_else(|e| panic!("cannot run cargo for {name}: {e}"));
    assert!(
        status.success(),
        "the allocator {name} did not build (it needs make and a C++ compiler); {WITHOUT}=1 leaves out all that {WITH} does \
         not name"
    );
    built
}

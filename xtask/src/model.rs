//! `tests/models`: ring and trie of the recorder under a model checker, and where a nightly toolchain has them under
//! ThreadSanitizer and Miri.

use crate::cargo;
use anyhow::{Context, Result, ensure};
use std::path::Path;
use std::process::Command;

/// Runs all of them that there are.
///
/// # Errors
/// When a test fails.
pub fn run() -> Result<()> {
    let folder = cargo::target()?.join("models");
    let mut loom = cargo::command(TEST);
    loom.arg("--release").env("RUSTFLAGS", "--cfg loom");
    test("loom", loom, &folder)?;
    match sanitizer() {
        Some(flags) => {
            // The harness may be taken for a race if the standard library is not built for the sanitizer, too.
            let known = cargo::root().join("tests/models/tsan.supp");
            let mut sanitized = nightly("cargo", TEST);
            sanitized.args(["--target", HOST]).args(flags.build_std);
            sanitized.env("RUSTFLAGS", flags.compiler);
            sanitized.env("TSAN_OPTIONS", format!("suppressions={}", known.display()));
            test("tsan", sanitized, &folder)?;
        }
        None => eprintln!("xtask: SKIPPED: no nightly toolchain that has ThreadSanitizer"),
    }
    if succeeds(nightly("cargo", &["miri", "--version"])) {
        let mut miri = nightly("cargo", &["miri"]);
        // Leaves of the harness and of threads that have ended are no concern of it.
        miri.args(TEST).env("MIRIFLAGS", "-Zmiri-ignore-leaks");
        return test("miri", miri, &folder);
    }
    eprintln!("xtask: SKIPPED: no nightly toolchain that has Miri");
    Ok(())
}

const TEST: &[&str] = &["test", "--quiet", "-p", "models", "--tests"];
/// Named, so that build scripts and macros are not built for the sanitizer.
const HOST: &str = "x86_64-unknown-linux-gnu";

/// How to build for ThreadSanitizer.
struct Flags {
    compiler: &'static str,
    build_std: &'static [&'static str],
}

/// With the sources of the standard library that is built for it, too; else only compilers of 2025 and later can.
fn sanitizer() -> Option<Flags> {
    let sysroot = nightly("rustc", &["--print", "sysroot"]).output().ok()?;
    let sysroot = String::from_utf8(sysroot.stdout).ok()?;
    let flags = if Path::new(sysroot.trim()).join("lib/rustlib/src/rust/library/std").exists() {
        Flags { compiler: "-Zsanitizer=thread", build_std: &["-Zbuild-std"] }
    } else {
        Flags { compiler: "-Zsanitizer=thread -Cunsafe-allow-abi-mismatch=sanitizer", build_std: &[] }
    };
    let probe: Vec<&str> = flags.compiler.split(' ').chain(["--print", "cfg"]).collect();
    succeeds(nightly("rustc", &probe)).then_some(flags)
}

fn nightly(program: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new("rustup");
    command.args(["run", "nightly", program]).args(arguments).current_dir(cargo::root());
    // Those of the toolchain that runs this.
    ["CARGO", "RUSTC", "RUSTDOC"].iter().for_each(|name| _ = command.env_remove(name));
    command
}

fn succeeds(mut command: Command) -> bool {
    command.output().is_ok_and(|output| output.status.success())
}

fn test(name: &str, mut command: Command, folder: &Path) -> Result<()> {
    eprintln!("xtask: ring and trie under {name}");
    let status = command.env("CARGO_TARGET_DIR", folder.join(name)).status();
    ensure!(status.context("cannot run cargo")?.success(), "ring or trie failed under {name}");
    Ok(())
}

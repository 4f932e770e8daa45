//! The step for `fleet/`: the engine for questions about many recordings.

use crate::{build, cargo, dist, install, web};
use anyhow::{Context, Result, ensure};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

const MANIFEST: &str = "fleet/Cargo.toml";

/// What [`check`] tells the tests: which heapwise makes tables of recordings, and which Python has DuckDB.
const PROGRAM: &str = "HEAPWISE_PROGRAM";
const PYTHON: &str = "HEAPWISE_PYTHON";

/// Compiles it and runs its tests. The engine takes minutes to compile, so it is compiled once: clippy is the compiler, which it is
/// where nothing has to be fast.
///
/// # Errors
/// When there is a warning, or a test fails.
pub(crate) fn check(may_install: bool) -> Result<()> {
    install::component("clippy", "clippy", may_install)?;
    let target = cargo::target()?;
    let programs = build::workspace()?;
    let folder = target.join("fleet");
    let folder = folder.to_str().context("the target folder has a name that is not text")?;
    let arguments =
        ["test", "--locked", "--no-fail-fast", "--manifest-path", MANIFEST, "--target-dir", folder];
    eprintln!("xtask: cargo {}", arguments.join(" "));
    let mut command = cargo::command(&arguments);
    command.env("RUSTC_WORKSPACE_WRAPPER", "clippy-driver").env("CLIPPY_ARGS", flags(&["-D", "warnings"]));
    command.env(PROGRAM, programs.join("heapwise")).env(PYTHON, python(&target));
    ensure!(command.status().context("cannot run cargo")?.success(), "the tests of {MANIFEST} failed");
    let program = target.join("fleet/debug/heapwise-fleet");
    dist::check_fleet(may_install)?;
    let served = served(&program, &programs.join("heapwise"), &target.join("fleet/tmp/served"))?;
    web::check_served(&served.address, may_install)
}

/// A server that ends with this.
struct Served {
    process: Child,
    address: String,
}

impl Drop for Served {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Recordings of the fleet that a browser looks at, with their services and releases.
const RECORDINGS: [(&str, &str, &str); 3] =
    [("v1.0.hw", "<img src=x onerror=alert(1)>", "1"), ("v2.0.hw", "shop", "1"), ("v3.0.hw", "shop", "2")];

/// Makes a fleet, and serves it at a free port.
fn served(program: &Path, heapwise: &Path, folder: &Path) -> Result<Served> {
    if folder.exists() {
        std::fs::remove_dir_all(folder).context("cannot remove the fleet of the last time")?;
    }
    let golden = cargo::root().join("crates/record/trace/tests/golden");
    for (name, service, release) in RECORDINGS {
        let mut ingest = Command::new(program);
        ingest.arg("--heapwise").arg(heapwise).args(["fleet", "ingest"]).arg(golden.join(name));
        ingest.args(["--service", service, "--release", release, "--output"]).arg(folder);
        ensure!(ingest.status().context("cannot run heapwise-fleet")?.success(), "{name} was not added");
    }
    let mut serve = Command::new(program);
    serve.args(["fleet", "serve", "--listen", "127.0.0.1:0"]).arg(folder).stderr(Stdio::piped());
    let mut process = serve.spawn().context("cannot run heapwise-fleet")?;
    let mut line = String::new();
    BufReader::new(process.stderr.take().context("it says nothing")?).read_line(&mut line)?;
    let address = line.trim().rsplit(' ').next().unwrap_or_default().to_owned();
    let served = Served { process, address };
    ensure!(served.address.starts_with("http://127.0.0.1:"), "heapwise-fleet does not serve: {line}");
    Ok(served)
}

/// Flags as `cargo clippy` passes them on.
fn flags(flags: &[&str]) -> String {
    flags.iter().map(|flag| format!("{flag}__CLIPPY_HACKERY__")).collect()
}

fn python(target: &Path) -> std::path::PathBuf {
    target.join("python/bin/python3")
}

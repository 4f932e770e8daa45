//! Programs that tests and benchmarks need, and the packages of Debian and Ubuntu that have them.
//!
//! A fresh machine has none of them. There, as root, they are installed; elsewhere one line lists what is missing.

use crate::cargo;
use anyhow::{Context, Result, bail, ensure};
use std::env;
use std::fs::File;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::Command;

/// A program, or a shared library, and the package that has it.
pub type Needed = (&'static str, &'static str);

/// What the tests run: compilers for small programs in C and C++, valgrind to count allocations independently, and real
/// programs to record.
pub const FOR_TESTS: &[Needed] = &[
    ("cc", "gcc"),
    ("g++", "g++"),
    ("make", "make"),
    ("objcopy", "binutils"),
    ("valgrind", "valgrind"),
    ("python3", "python3"),
    ("sqlite3", "sqlite3"),
    ("git", "git"),
    ("redis-server", "redis-server"),
    ("redis-benchmark", "redis-tools"),
    ("node", "nodejs"),
    ("go", "golang-go"),
    // A terminal for the live view.
    ("tmux", "tmux"),
    // Other allocators, to be recorded on top of.
    ("libjemalloc.so.2", "libjemalloc2"),
    ("libmimalloc.so.2", "libmimalloc2.0"),
    ("libtcmalloc_minimal.so.4", "libtcmalloc-minimal4"),
    // And to be linked into programs.
    ("libjemalloc.a", "libjemalloc-dev"),
    ("libtcmalloc_minimal.a", "libgoogle-perftools-dev"),
    // What `doctor` has to find.
    ("libtcmalloc.so.4", "libgoogle-perftools4"),
    ("libefence.so.0", "electric-fence"),
    ("libduma.so.0", "duma"),
    ("musl-gcc", "musl-tools"),
];

/// Where libraries are.
const LIBRARY_FOLDERS: &[&str] = &["/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib"];
/// Packages of Python for tests, with their versions.
const PYTHON_PACKAGES: &str = "tests/python/requirements.txt";

/// What builds the HTML report's program, and the browser that tests it.
pub const FOR_WEB: &[Needed] = &[("node", "nodejs"), ("npm", "npm"), ("chromium", "chromium")];

/// What the benchmarks compare with, and what it compresses with.
pub const FOR_BENCHMARKS: &[Needed] = &[("python3", "python3"), ("heaptrack", "heaptrack"), ("zstd", "zstd")];

/// What `bench peers` compares with, as far as Debian has it.
pub const FOR_PEERS: &[Needed] = &[
    ("python3", "python3"),
    ("heaptrack", "heaptrack"),
    ("valgrind", "valgrind"),
    ("libjemalloc.so.2", "libjemalloc2"),
    ("jeprof", "libjemalloc-dev"),
    // What jeprof calls.
    ("perl", "perl"),
    ("addr2line", "binutils"),
];

/// What `bench replay` runs under each allocator, and the allocator that is not built.
pub const FOR_REPLAYS: &[Needed] = &[
    ("python3", "python3"),
    ("sqlite3", "sqlite3"),
    ("rg", "ripgrep"),
    ("redis-server", "redis-server"),
    ("redis-benchmark", "redis-tools"),
    ("git", "git"),
    ("libtcmalloc_minimal.so.4", "libtcmalloc-minimal4"),
];

/// What `bench sampled` runs besides those: a server whose clients are in the PATH, and an allocator with a profiler.
pub const FOR_SAMPLES: &[Needed] = &[("pgbench", "postgresql"), ("libjemalloc.so.2", "libjemalloc2")];

/// Makes sure that the programs are there.
///
/// # Errors
/// When some are missing and cannot be installed.
pub fn programs(needed: &[Needed], may_install: bool) -> Result<()> {
    let path = env::var_os("PATH").unwrap_or_default();
    let folders: Vec<_> = env::split_paths(&path).collect();
    let packages = || {
        missing(needed, |name| match name.starts_with("lib") {
            true => LIBRARY_FOLDERS.iter().any(|folder| Path::new(folder).join(name).exists()),
            false => folders.iter().any(|folder| is_program(&folder.join(name))),
        })
    };
    if packages().is_empty() {
        return Ok(());
    }
    let _alone = alone()?;
    // Another step may have installed them meanwhile.
    let packages = packages();
    if packages.is_empty() {
        return Ok(());
    }
    let line = format!("apt-get install {}", packages.join(" "));
    let can = is_root() && folders.iter().any(|folder| is_program(&folder.join("apt-get")));
    if !may_install || !can {
        bail!("programs are missing; as root: {line}");
    }
    eprintln!("xtask: {line}");
    // Lists of packages may be missing or old; if they cannot be fetched, the old ones may still do.
    let _ = apt_get(&["update"]);
    apt_get(&[&["install", "--yes", "--no-install-recommends"], packages.as_slice()].concat())
}

/// Lets only one step at a time install something, until the returned file is dropped: apt-get and rustup fail beside another of
/// their kind.
fn alone() -> Result<File> {
    let folder = cargo::target()?;
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let path = folder.join(".install.lock");
    let file = File::create(&path).with_context(|| format!("cannot write {}", path.display()))?;
    file.lock().with_context(|| format!("cannot lock {}", path.display()))?;
    Ok(file)
}

/// The packages of the programs that are not there.
fn missing(needed: &[Needed], is_there: impl Fn(&str) -> bool) -> Vec<&'static str> {
    let absent = needed.iter().filter(|(program, _)| !is_there(program));
    absent.map(|(_, package)| *package).collect()
}

fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
}

fn is_root() -> bool {
    Path::new("/proc/self").metadata().is_ok_and(|m| m.uid() == 0)
}

/// Silent, unless it fails.
fn apt_get(arguments: &[&str]) -> Result<()> {
    let output = Command::new("apt-get")
        .arg("-q")
        .args(arguments)
        .env("DEBIAN_FRONTEND", "noninteractive")
        .output()
        .context("cannot run apt-get")?;
    let said = [output.stdout, output.stderr].concat();
    ensure!(output.status.success(), "apt-get failed:\n{}", String::from_utf8_lossy(&said));
    Ok(())
}

/// Installs the standard library for another target, if rustup can. Returns whether it is there; where it is missing, the step
/// that needs it reports that.
pub fn target(target: &str, may_install: bool) -> bool {
    let rustup = || {
        let _alone = alone().map_err(std::io::Error::other)?;
        Command::new("rustup").args(["target", "add", target]).current_dir(cargo::root()).output()
    };
    let mut rustc = Command::new("rustc");
    rustc.args(["--print", "target-libdir", "--target", target]).current_dir(cargo::root());
    let mut is_there = || {
        let output = rustc.output().map(|output| output.stdout).unwrap_or_default();
        Path::new(String::from_utf8_lossy(&output).trim()).is_dir()
    };
    let found =
        is_there() || may_install && rustup().is_ok_and(|output| output.status.success()) && is_there();
    if !found {
        eprintln!("xtask: SKIPPED: rustc lacks {target}; what needs it is not tested");
    }
    found
}

/// Makes sure that Python has the packages that tests use, in a folder of its own below the folder of what is built. Where they cannot be
/// installed, the tests that need them report that.
///
/// # Errors
/// When the list of them cannot be read.
pub fn python_packages(may_install: bool) -> Result<()> {
    let folder = cargo::target()?.join("python");
    let list = cargo::root().join(PYTHON_PACKAGES);
    let wanted = std::fs::read(&list).with_context(|| format!("cannot read {}", list.display()))?;
    let mark = folder.join("installed.txt");
    if !may_install || std::fs::read(&mark).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    let _alone = alone()?;
    let succeeds = |command: &mut Command| command.output().is_ok_and(|output| output.status.success());
    let make = || succeeds(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&folder));
    // Debian has what makes such a folder in a package of its own.
    let is_made = make() || is_root() && apt_get(&["install", "--yes", "python3-venv"]).is_ok() && make();
    let mut pip = Command::new(folder.join("bin/python3"));
    pip.args(["-m", "pip", "install", "--quiet", "--no-deps", "--only-binary", ":all:", "-r"]).arg(&list);
    if is_made && succeeds(&mut pip) {
        std::fs::write(&mark, wanted).with_context(|| format!("cannot write {}", mark.display()))?;
    } else {
        eprintln!("xtask: the packages of {PYTHON_PACKAGES} cannot be installed");
    }
    Ok(())
}

/// Makes sure that a command of cargo is there, which belongs to a component of rustup.
///
/// # Errors
/// When it is missing and cannot be installed.
pub fn component(component: &str, command: &str, may_install: bool) -> Result<()> {
    let is_there = || cargo::command(&[command, "--version"]).output().is_ok_and(|o| o.status.success());
    if is_there() {
        return Ok(());
    }
    let line = format!("rustup component add {component}");
    ensure!(may_install, "cargo {command} is missing; {line}");
    eprintln!("xtask: {line}");
    let _alone = alone()?;
    let status = Command::new("rustup").args(["component", "add", component]).status();
    ensure!(status.is_ok_and(|s| s.success()) && is_there(), "cargo {command} is missing; {line}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_packages_of_absent_programs_are_named() {
        let packages = missing(FOR_TESTS, |program| program != "g++" && program != "redis-benchmark");
        assert_eq!(packages, ["g++", "redis-tools"]);
        assert!(missing(FOR_TESTS, |_| true).is_empty());
    }

    #[test]
    fn folders_and_plain_files_are_no_programs() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("cc"), "").unwrap();
        assert!(!is_program(folder.path()) && !is_program(&folder.path().join("cc")));
        assert!(is_program(Path::new("/bin/sh")));
    }
}

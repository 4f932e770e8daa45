//! Wine, with a separate prefix below the target folder.

use super::{TARGET, quietly};
use anyhow::{Context, Result};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A library that every program of Rust's loads and that Wine 8 lacks; without it they end with code 53 and no word.
const SHIM: &str = "bcryptprimitives.dll";
const SHIM_SOURCE: &str = include_str!("bcryptprimitives.c");

/// No browser engine and no .NET, which Wine would offer to install when it creates the prefix; no entries in this user's menus;
/// and no debugger for programs that crash, which would take a minute to write what is never read.
const OVERRIDES: &str = "mscoree,mshtml=;winemenubuilder.exe=d;winedbg.exe=d";

/// Where the runner finds Wine.
const WINE: &str = "HEAPWISE_TEST_WINE";

/// Runs a program of tests. One that fails and has printed nothing is one that Wine did not start: a program of tests says how many it
/// has before it runs one. It is started once more. On a busy machine, one of two dozen programs was once missing silently.
const RUNNER: &str = "\
\"$HEAPWISE_TEST_WINE\" \"$@\" >\"$WINEPREFIX/test-output\" 2>&1
code=$?
if [ $code -ne 0 ] && [ ! -s \"$WINEPREFIX/test-output\" ]; then
    echo \"xtask: Wine did not start $1: it ended with $code; once more\"
    exec \"$HEAPWISE_TEST_WINE\" \"$@\"
fi
cat \"$WINEPREFIX/test-output\"
exit $code
";

const RUNNER_FILE: &str = "run-test.sh";

/// Makes the Windows unless it is there. Returns the variables with which programs run in it.
pub(super) fn prepare(prefix: &Path) -> Result<Vec<(&'static str, OsString)>> {
    let wine = program();
    std::fs::create_dir_all(prefix).with_context(|| format!("cannot make {}", prefix.display()))?;
    let file = prefix.join(RUNNER_FILE);
    std::fs::write(&file, RUNNER).with_context(|| format!("cannot write {}", file.display()))?;
    let variables = vec![
        ("WINEPREFIX", prefix.into()),
        ("WINEDEBUG", "-all".into()),
        ("WINEDLLOVERRIDES", OVERRIDES.into()),
        (WINE, wine.clone().into()),
    ];
    let ready = prefix.join("ready");
    if !ready.exists() {
        eprintln!("xtask: making a Windows in {}", prefix.display());
        let mut boot = Command::new(&wine);
        // It links the user's folders into those of the Windows, which are not needed here.
        boot.args(["wineboot", "--init"]).envs(variables.iter().cloned()).env("HOME", prefix);
        quietly(&mut boot).context("Wine cannot make a Windows")?;
        std::fs::write(&ready, "").with_context(|| format!("cannot write {}", ready.display()))?;
    }
    let system = prefix.join("drive_c/windows/system32");
    if !system.join(SHIM).exists() {
        shim(prefix, &system.join(SHIM))?;
    }
    keep(&variables);
    Ok(variables)
}

/// The setting of cargo with which it runs programs of tests in this Windows.
pub(super) fn runner(prefix: &Path) -> String {
    format!("target.{TARGET}.runner={:?}", ["sh".as_ref(), prefix.join(RUNNER_FILE).as_os_str()])
}

/// Keeps this Windows running between programs. Each would start it otherwise, beside the one that ends with the program before.
fn keep(variables: &[(&'static str, OsString)]) {
    let mut server = Command::new(server());
    // One that runs already stays, and without it programs start what they need.
    server.arg(format!("--persistent={IDLE}")).envs(variables.iter().cloned());
    // It outlives this, and would hold a pipe open.
    let _ = server.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
}

/// How long it waits for the next program, in seconds: what is built in between takes longer on a slow machine, and then it starts
/// again.
const IDLE: u32 = 300;

/// What all programs of a Windows are connected to.
fn server() -> PathBuf {
    let debians = PathBuf::from("/usr/lib/wine/wineserver64");
    if debians.exists() { debians } else { "wineserver".into() }
}

/// Wine itself: Debian's `wine` is a script that first prints four lines about programs of 32 bits.
pub(super) fn program() -> PathBuf {
    let debians = PathBuf::from("/usr/lib/wine/wine64");
    if debians.exists() { debians } else { "wine".into() }
}

fn shim(prefix: &Path, library: &Path) -> Result<()> {
    let source = prefix.join("bcryptprimitives.c");
    std::fs::write(&source, SHIM_SOURCE).with_context(|| format!("cannot write {}", source.display()))?;
    let mut gcc = Command::new("x86_64-w64-mingw32-gcc");
    gcc.args(["-O2", "-shared", "-o"]).arg(library).arg(&source).arg("-ladvapi32");
    quietly(&mut gcc).context("cannot build what Wine lacks").map(drop)
}

/// Ends what is left running in this Windows, and nothing else: its services.
pub(super) fn stop(variables: &[(&'static str, OsString)]) {
    let mut server = Command::new(server());
    // A failure only means that nothing was started.
    let _ = server.arg("--kill").envs(variables.iter().cloned()).output();
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the runner does with a Wine that is this script.
    fn run(wine: &str) -> (Option<i32>, String) {
        let folder = tempfile::tempdir().unwrap();
        let (runner, script) = (folder.path().join(RUNNER_FILE), folder.path().join("wine"));
        std::fs::write(&runner, RUNNER).unwrap();
        std::fs::write(&script, format!("#!/bin/sh\n{wine}\n")).unwrap();
        std::fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let mut sh = Command::new("sh");
        sh.arg(runner).arg("program.exe").env(WINE, &script).env("WINEPREFIX", folder.path());
        let output = sh.output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    }

    #[test]
    fn only_what_was_not_started_is_started_once_more() {
        assert_eq!(run("echo running 1 test; exit 0"), (Some(0), "running 1 test\n".to_owned()));
        assert_eq!(run("echo running 1 test; exit 101"), (Some(101), "running 1 test\n".to_owned()));
        let second =
            run("[ -e $WINEPREFIX/first ] || { touch $WINEPREFIX/first; exit 53; }; echo running 1 test");
        assert_eq!(second.0, Some(0));
        assert!(
            second.1.contains("did not start program.exe") && second.1.ends_with("running 1 test\n"),
            "{second:?}"
        );
        assert_eq!(run("exit 53").0, Some(53));
    }
}

//! The generated data of a run, kept between runs.
//!
//! `poetry-contest` without `--data` should just work, and should be recordable: what a profiler sees must be
//! the version and not the generator. So the data is made by a child process, only once per set of options,
//! in a directory for temporary files.

use crate::generate::{FORMAT, Options, write_contest};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs, io, process};

/// The first argument that makes `poetry-contest` act as the generator.
///
/// The program starts itself instead of looking for `poetry-generate`, which is not there when only one of
/// the two programs was built.
pub const GENERATE: &str = "generate";

/// Returns the directory with the data of `options`, which is made by a child process if it is missing.
///
/// The calling program must run the generator when its first argument is [`GENERATE`].
///
/// # Errors
///
/// When the data cannot be made, with a message for the user.
pub fn prepare(options: &Options) -> Result<PathBuf, String> {
    prepared(&env::temp_dir(), options, generate)
}

/// The same in a folder of the caller's, where this process makes what is missing.
///
/// # Errors
///
/// When the data cannot be made, with a message for the user.
pub fn prepare_here(folder: &Path, options: &Options) -> Result<PathBuf, String> {
    prepared(folder, options, write_contest)
}

fn prepared(
    folder: &Path,
    options: &Options,
    generate: fn(&Path, &Options) -> io::Result<()>,
) -> Result<PathBuf, String> {
    let dir = folder.join(directory_name(options));
    if !is_complete(&dir) {
        make(&dir, options, generate)
            .map_err(|error| format!("cannot make the data in {}: {error}", dir.display()))?;
    }
    Ok(dir)
}

/// Whether `dir` holds a contest.
#[must_use]
pub fn is_complete(dir: &Path) -> bool {
    dir.join("manifest.json").is_file()
}

fn directory_name(options: &Options) -> String {
    let Options { seed, rounds, entries } = options;
    format!("poetry-contest-f{FORMAT}-s{seed}-r{rounds}-e{entries}")
}

/// Makes the data under a name of this process and gives it its real name when it is complete, so that
/// programs which run at the same time never see half of it.
fn make(dir: &Path, options: &Options, generate: fn(&Path, &Options) -> io::Result<()>) -> io::Result<()> {
    let unfinished = dir.with_extension(process::id().to_string());
    let made = generate(&unfinished, options).and_then(|()| fs::rename(&unfinished, dir));
    if made.is_err() {
        // The rename also fails when another program was faster. Its data is the same, so that is no error.
        let _ = fs::remove_dir_all(&unfinished);
        if is_complete(dir) {
            return Ok(());
        }
    }
    made
}

fn generate(out: &Path, options: &Options) -> io::Result<()> {
    let status = Command::new(env::current_exe()?)
        .arg(GENERATE)
        .arg("--out")
        .arg(out)
        .args(["--seed", &options.seed.to_string()])
        .args(["--rounds", &options.rounds.to_string()])
        .args(["--entries", &options.entries.to_string()])
        // A recorder that was preloaded into this process must not record the generator along with it.
        .env_remove("LD_PRELOAD")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .status()?;
    if status.success() {
        Ok(())
    } else {
        Err(io::Error::other(format!("the generator ended with {status}")))
    }
}

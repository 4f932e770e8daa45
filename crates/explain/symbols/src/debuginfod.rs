//! Debug files of debuginfod, a service that distributions have for theirs: what was fetched before, and fetching.
//!
//! Whoever sets `DEBUGINFOD_URLS` asks for it, and nothing is looked for without. The files lie below the cache by their build
//! id, as the program `debuginfod-find` leaves them; that program fetches what is not there, and is the only thing that speaks
//! to the network. It gets a time, after which it is ended and nothing more is asked for.

use std::env;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::error::Hex;

/// For one file. The debug information of a large program is some hundred megabytes.
const TIME_LIMIT: Duration = Duration::from_secs(60);

/// Where debug files by build id are cached, and whether more can be fetched.
#[derive(Clone, Debug)]
pub(crate) struct Debuginfod {
    cache: Option<PathBuf>,
    program: PathBuf,
    time_limit: Duration,
    /// The service was too slow once, or the program is not installed.
    is_given_up: Arc<AtomicBool>,
}

impl Debuginfod {
    /// As the environment has it; `None` if it does not ask for debuginfod.
    pub(crate) fn of_environment() -> Option<Debuginfod> {
        Debuginfod::of_variables(|name| env::var_os(name).filter(|value| !value.is_empty()))
    }

    fn of_variables(value: impl Fn(&str) -> Option<std::ffi::OsString>) -> Option<Debuginfod> {
        value("DEBUGINFOD_URLS")?;
        let home = value("HOME").map(PathBuf::from);
        let cache = value("DEBUGINFOD_CACHE_PATH").map(PathBuf::from).or_else(|| {
            let older = home.as_ref().map(|home| home.join(".debuginfod_client_cache"));
            let caches = value("XDG_CACHE_HOME").map(PathBuf::from).or_else(|| Some(home?.join(".cache")));
            older.filter(|older| older.is_dir()).or_else(|| Some(caches?.join("debuginfod_client")))
        });
        Some(Debuginfod::new(cache, Path::new("debuginfod-find"), TIME_LIMIT))
    }

    fn new(cache: Option<PathBuf>, program: &Path, time_limit: Duration) -> Debuginfod {
        Debuginfod { cache, program: program.to_owned(), time_limit, is_given_up: Arc::default() }
    }

    /// The debug file of a build, from the cache or fetched. Whether it is the right one is for the caller to check.
    pub(crate) fn find(&self, build_id: &[u8]) -> Option<PathBuf> {
        if build_id.is_empty() {
            return None;
        }
        let id = Hex(build_id).to_string();
        let cached = self.cache.as_ref().map(|cache| cache.join(&id).join("debuginfo"));
        // An empty file there says that the service does not have it.
        if let Some(cached) = cached
            && let Ok(facts) = cached.metadata()
        {
            return (facts.len() > 0).then_some(cached);
        }
        self.fetch(&id)
    }

    fn fetch(&self, id: &str) -> Option<PathBuf> {
        if self.is_given_up.load(Ordering::Relaxed) {
            return None;
        }
        let mut command = Command::new(&self.program);
        command.args(["debuginfo", id]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let Ok(mut child) = command.spawn() else {
            self.is_given_up.store(true, Ordering::Relaxed);
            return None;
        };
        let end = Instant::now() + self.time_limit;
        let status = loop {
            match child.try_wait() {
                Ok(Some(status)) => break status,
                Ok(None) if Instant::now() < end => std::thread::sleep(Duration::from_millis(20)),
                _ => {
                    self.is_given_up.store(true, Ordering::Relaxed);
                    // It may have ended meanwhile; whatever it was, it has to be waited for.
                    _ = child.kill();
                    _ = child.wait();
                    return None;
                }
            }
        };
        let mut path = String::new();
        // It prints the path of the file in its cache, and more than a pipe holds would have made it wait.
        child.stdout.take()?.take(8192).read_to_string(&mut path).ok()?;
        let path = PathBuf::from(path.trim_end_matches('\n'));
        (status.success() && path.is_absolute()).then_some(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn program(folder: &Path, text: &str) -> PathBuf {
        let path = folder.join("find");
        std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    #[test]
    fn nothing_is_asked_for_without_the_variable() {
        let with = |pairs: &'static [(&str, &str)]| {
            let value = |name: &str| pairs.iter().find(|p| p.0 == name).map(|p| p.1.into());
            Debuginfod::of_variables(value).map(|found| found.cache)
        };
        assert_eq!(with(&[("HOME", "/home/u")]), None);
        let cache = |path: &str| Some(Some(PathBuf::from(path)));
        assert_eq!(with(&[("DEBUGINFOD_URLS", "x"), ("HOME", "/u")]), cache("/u/.cache/debuginfod_client"));
        assert_eq!(
            with(&[("DEBUGINFOD_URLS", "x"), ("HOME", "/u"), ("XDG_CACHE_HOME", "/c")]),
            cache("/c/debuginfod_client")
        );
        assert_eq!(with(&[("DEBUGINFOD_URLS", "x"), ("DEBUGINFOD_CACHE_PATH", "/p")]), cache("/p"));
        assert_eq!(with(&[("DEBUGINFOD_URLS", "x")]), Some(None));
    }

    #[test]
    fn what_is_cached_is_not_fetched_again() {
        let folder = tempfile::tempdir().unwrap();
        let cache = folder.path().join("cache");
        let debuginfod = Debuginfod::new(Some(cache.clone()), Path::new("/nowhere/find"), TIME_LIMIT);
        assert_eq!(debuginfod.find(&[0xab, 0xcd]), None);
        std::fs::create_dir_all(cache.join("abcd")).unwrap();
        std::fs::write(cache.join("abcd/debuginfo"), "").unwrap();
        assert_eq!(debuginfod.find(&[0xab, 0xcd]), None, "the service does not have it");
        std::fs::write(cache.join("abcd/debuginfo"), "ELF").unwrap();
        assert_eq!(debuginfod.find(&[0xab, 0xcd]), Some(cache.join("abcd/debuginfo")));
        assert_eq!(debuginfod.find(&[]), None);
    }

    #[test]
    fn the_program_is_asked_and_ended_when_it_takes_too_long() {
        let folder = tempfile::tempdir().unwrap();
        let prints = program(folder.path(), "echo /fetched/$1/$2");
        let find = |path: &Path, limit| Debuginfod::new(None, path, limit).find(&[0xab, 0xcd]);
        assert_eq!(find(&prints, TIME_LIMIT), Some(PathBuf::from("/fetched/debuginfo/abcd")));
        let fails = program(folder.path(), "echo /fetched; exit 1");
        assert_eq!(find(&fails, TIME_LIMIT), None);
        let hangs =
            Debuginfod::new(None, &program(folder.path(), "exec sleep 60"), Duration::from_millis(50));
        let begun = Instant::now();
        assert_eq!(hangs.find(&[1]), None);
        assert_eq!(hangs.find(&[2]), None, "it is not asked again");
        assert!(begun.elapsed() < Duration::from_secs(30));
    }
}

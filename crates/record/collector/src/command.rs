//! Starts the program with the recorder in it, and waits for its end.

#![expect(unsafe_code, reason = "what happens between fork and exec")]

use crate::error::{Error, ErrorKind};
use crate::session::{PreloadLibrary, Session};
use heapwise_trace::live::layout::{SESSION_VARIABLE, THROUGH_PRELOAD, THROUGH_VARIABLE};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command};

/// How a program ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exit {
    /// Its exit code, if it exited.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
}

impl Exit {
    /// What a shell would say: the code, or 128 plus the signal.
    pub fn shell_code(self) -> i32 {
        self.code.or(self.signal.map(|s| 128 + s)).unwrap_or(1)
    }
}

impl From<std::process::ExitStatus> for Exit {
    fn from(status: std::process::ExitStatus) -> Self {
        Self { code: status.code(), signal: status.signal() }
    }
}

/// How a program is started.
#[derive(Clone, Copy, Debug)]
pub struct How {
    /// Its children are recorded, too.
    pub follow: bool,
    /// The kernel ends it when the thread ends that starts it.
    pub end_together: bool,
    /// The preload library records also programs that would record themselves.
    pub through_preload: bool,
    /// It stops at its first instruction, traced by the thread that starts it.
    pub stopped: bool,
    /// Called with the command before it is started.
    pub prepare: fn(&mut Command),
}

/// Starts the program.
///
/// # Errors
/// [`ErrorKind::NoSuchProgram`], [`ErrorKind::NotExecutable`]; [`ErrorKind::NotTraced`] for whatever keeps it from being started
/// stopped.
pub fn start(
    command: &[OsString],
    session: &Session,
    preload: &PreloadLibrary,
    how: How,
) -> Result<Child, Error> {
    let program = &command[0];
    let mut process = Command::new(program);
    process.args(&command[1..]);
    (how.prepare)(&mut process);
    process.env(SESSION_VARIABLE, session.path());
    process.env("LD_PRELOAD", preload_list(&preload.path(), std::env::var_os("LD_PRELOAD").as_deref()));
    match how.through_preload {
        true => process.env(THROUGH_VARIABLE, OsStr::from_bytes(THROUGH_PRELOAD)),
        false => process.env_remove(THROUGH_VARIABLE),
    };
    if !how.follow {
        let only = std::sync::atomic::AtomicPtr::new(session.header().only_pid.as_ptr());
        // SAFETY: runs in the child between fork and exec; it stores to shared memory and asks for its own id.
        unsafe {
            process.pre_exec(move || {
                let pid = libc::getpid() as u32;
                only.load(std::sync::atomic::Ordering::Relaxed).write_volatile(pid);
                Ok(())
            });
        }
    }
    if how.end_together {
        let parent = std::process::id();
        // SAFETY: runs in the child between fork and exec; it makes two system calls with integer arguments.
        unsafe {
            process.pre_exec(move || {
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                // It may have ended before that was set.
                if libc::getppid() as u32 == parent { Ok(()) } else { Err(io::ErrorKind::BrokenPipe.into()) }
            });
        }
    }
    if how.stopped {
        // SAFETY: runs in the child between fork and exec; it makes one system call without arguments.
        unsafe { process.pre_exec(|| nix::sys::ptrace::traceme().map_err(io::Error::from)) };
    }
    process.spawn().map_err(|reason| {
        // Started otherwise it fails again, if that was not the reason.
        if how.stopped {
            return ErrorKind::NotTraced { reason }.into();
        }
        let command = program.to_string_lossy().into_owned();
        match reason.kind() {
            io::ErrorKind::NotFound => ErrorKind::NoSuchProgram { command },
            _ => ErrorKind::NotExecutable { command, reason },
        }
        .into()
    })
}

/// Our library first, so that whatever was preloaded before stays the allocator that it calls.
fn preload_list(own: &str, before: Option<&OsStr>) -> OsString {
    let mut list = OsString::from(own);
    if let Some(before) = before.filter(|b| !b.is_empty()) {
        list.push(":");
        list.push(before);
    }
    list
}

/// The environment variables that concern the heap, and no others: a recording may be passed on to other people.
pub fn environment(concerns_heap: fn(&str) -> bool) -> BTreeMap<String, String> {
    let all = std::env::vars_os().filter_map(|(k, v)| Some((k.into_string().ok()?, v)));
    all.filter(|(name, _)| concerns_heap(name)).map(|(k, v)| (k, v.to_string_lossy().into_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_existing_preload_is_kept_behind_ours() {
        assert_eq!(preload_list("/a", None), "/a");
        assert_eq!(preload_list("/a", Some(OsStr::new(""))), "/a");
        assert_eq!(preload_list("/a", Some(OsStr::new("b.so c.so"))), "/a:b.so c.so");
    }

    #[test]
    fn exits_are_reported_as_a_shell_reports_them() {
        assert_eq!(Exit { code: Some(3), signal: None }.shell_code(), 3);
        assert_eq!(Exit { code: None, signal: Some(9) }.shell_code(), 137);
    }
}

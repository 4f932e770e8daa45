//! heapwise inside of a recording: the innermost heapwise records the program, and the recording around it notes that.
//!
//! A program with the libraries of two recordings in it would be counted twice in one of them and be missing in the other. So a
//! heapwise that is started inside of a session is recorded like any program, and what it starts is not in that session: it takes
//! the session's library and variables out of its environment, and leaves a note in the shared memory, from which the collector
//! there names the program among what it has not seen.

use crate::distrust;
use crate::session::Session;
use crate::sys::Mapping;
use heapwise_trace::file::records::BlindSpot;
use heapwise_trace::live::layout::{
    LIVE_VERSION, MAX_NESTED_NAMES, SESSION_BYTES, SESSION_HEADER_BYTES, SESSION_MAGIC, SESSION_VARIABLE,
    SessionHeader,
};
use std::ffi::{OsStr, OsString};
use std::fs::OpenOptions;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::sync::atomic::Ordering;

/// The session that this process was started in.
#[derive(Clone, Debug)]
pub struct Outer {
    /// `/proc/<collector>/fd/<n>`.
    path: String,
}

impl Outer {
    /// The session that the environment names.
    pub fn from_environment() -> Option<Self> {
        Self::new(&std::env::var(SESSION_VARIABLE).ok()?)
    }

    fn new(path: &str) -> Option<Self> {
        collector(path).is_some().then(|| Self { path: path.to_owned() })
    }

    /// A list of libraries to preload, without that session's.
    pub fn leave_out_library(&self, list: &OsStr) -> OsString {
        let is_theirs = |entry: &[u8]| {
            let entry = std::str::from_utf8(entry).ok();
            entry.and_then(collector).is_some_and(|of| Some(of) == collector(&self.path))
        };
        let entries = list.as_bytes().split(|b| b" :".contains(b));
        let others: Vec<_> = entries.filter(|entry| !entry.is_empty() && !is_theirs(entry)).collect();
        OsString::from_vec(others.join(&b':'))
    }

    /// Notes there that a program is run by this process. Returns whether that session has taken the note.
    pub fn announce(&self, program: &OsStr) -> bool {
        let Ok(file) = OpenOptions::new().read(true).write(true).open(&self.path) else { return false };
        // What lies beyond the end of a file must not be touched.
        if file.metadata().map_or(0, |facts| facts.len()) != SESSION_BYTES {
            return false;
        }
        let Ok(mapping) = Mapping::new(&OwnedFd::from(file), 0, SESSION_HEADER_BYTES as usize) else {
            return false;
        };
        let Some(header) = mapping.get::<SessionHeader>(0) else { return false };
        let is_known = header.magic.load(Ordering::Acquire) == SESSION_MAGIC
            && header.version.load(Ordering::Relaxed) == LIVE_VERSION;
        if is_known {
            note(header, program);
        }
        is_known
    }
}

/// The collector's part of the path of a descriptor, `/proc/<collector>/fd/<n>`.
fn collector(path: &str) -> Option<u32> {
    let (pid, fd) = path.strip_prefix("/proc/")?.split_once("/fd/")?;
    fd.parse::<u32>().ok()?;
    pid.parse().ok()
}

fn note(header: &SessionHeader, program: &OsStr) {
    let place = header.nested_count.fetch_add(1, Ordering::Relaxed) as usize;
    let Some(name) = header.nested.get(place) else { return };
    let stored = name.bytes.iter().zip(program.as_bytes());
    let len = stored.map(|(to, &from)| to.store(from, Ordering::Relaxed)).count();
    name.len.store(len as u32, Ordering::Release);
}

/// What a session does not hold because a heapwise inside has it.
pub(crate) fn blind_spot(session: &Session) -> Option<BlindSpot> {
    describe(session.header())
}

fn describe(header: &SessionHeader) -> Option<BlindSpot> {
    let count = header.nested_count.load(Ordering::Relaxed) as usize;
    if count == 0 {
        return None;
    }
    let mut names: Vec<String> = Vec::new();
    for name in header.nested.iter().take(count) {
        let name = distrust::text(&name.bytes, &name.len);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let mut what = format!("{}: run by a heapwise inside of this recording, and not in it", names.join(", "));
    if count > MAX_NESTED_NAMES {
        what.push_str(&format!(" ({count} runs in all)"));
    }
    let remedy = "look at what that heapwise wrote, or start the program without it";
    Some(BlindSpot { id: "nested".into(), what, remedy: remedy.into(), ..BlindSpot::default() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::Settings;

    #[test]
    fn only_the_library_of_that_session_is_left_out() {
        let outer = Outer::new("/proc/47/fd/3").expect("a path of a session");
        let left = |list: &str| outer.leave_out_library(OsStr::new(list)).into_string().expect("plain text");
        assert_eq!(left("/proc/47/fd/4"), "");
        assert_eq!(left("/proc/47/fd/4:/usr/lib/libjemalloc.so.2 b.so"), "/usr/lib/libjemalloc.so.2:b.so");
        assert_eq!(left("/proc/48/fd/4::a.so"), "/proc/48/fd/4:a.so");
        for other in ["", "/tmp/x", "/proc/self/fd/3", "/proc/47/fd/", "/proc/47/fd/3/.."] {
            assert!(Outer::new(other).is_none(), "{other}");
        }
    }

    #[test]
    fn a_session_names_what_a_heapwise_inside_runs() {
        let session = Session::new(Settings::default()).expect("shared memory");
        assert_eq!(blind_spot(&session), None);
        let outer = Outer::new(&session.path()).expect("a path of a session");
        assert!(outer.announce(OsStr::new("./first")) && outer.announce(OsStr::new("./second")));
        assert!(outer.announce(OsStr::new("./first")));
        let what = |session| blind_spot(session).expect("something was noted").what;
        assert!(what(&session).starts_with("./first, ./second: "), "{}", what(&session));
        let long = "x".repeat(5000);
        (0..10).for_each(|_| assert!(outer.announce(OsStr::new(&long))));
        assert!(what(&session).contains("13 runs") && what(&session).len() < 400, "{}", what(&session));
    }

    #[test]
    fn what_is_no_session_is_left_alone() {
        use std::os::fd::AsRawFd;
        let file = tempfile::tempfile().expect("a file");
        let outer = Outer::new(&format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd()));
        assert!(!outer.expect("a path of that form").announce(OsStr::new("x")));
        assert_eq!(file.metadata().expect("it is open").len(), 0);
    }
}

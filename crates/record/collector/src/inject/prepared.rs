//! Looks at a process before it is stopped: whether it can be attached to, and what takes time.

use super::Refused;
use super::attached::SHOWN_NAME;
use super::remains::{self, Remains};
use super::way_back::Gadgets;
use crate::hooks::{self, Planner};
use crate::joins::{self, Mapped, Memory, maps_of};
use crate::maps;
use heapwise_trace::live::layout::{CLOCK_STOPPED, SESSION_MAGIC, SessionHeader};
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::FileExt;

/// What is known of a process before it is stopped.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(super) pid: u32,
    pub(super) gadgets: Option<Gadgets>,
    /// Whether it has other ids than we know it and its threads by.
    pub(crate) has_other_ids: bool,
    /// What recordings that were broken off have left in it.
    pub(crate) remains: Vec<Remains>,
    /// Threads that it has now.
    pub(crate) threads: u64,
}

/// Looks at a process: whether it can be attached to, and what takes time.
pub(crate) fn prepare(pid: u32, planner: &mut Planner) -> Result<Prepared, Refused> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).map_err(|_| Refused::NoProcess)?;
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        line.unwrap_or_default().trim().to_owned()
    };
    let number = |name: &str| field(name).parse::<u32>().unwrap_or_default();
    if number("Tgid") != pid {
        return Err(Refused::ThreadOf(number("Tgid")));
    }
    if field("State").starts_with(['Z', 'X']) {
        return Err(if number("Threads") > 1 { Refused::Leaderless } else { Refused::Zombie });
    }
    if field("VmSize").is_empty() {
        return Err(Refused::Kernel);
    }
    if joins::line_of_parents(std::process::id()).contains(&pid) {
        return Err(Refused::Own);
    }
    if let tracer @ 1.. = number("TracerPid") {
        let name = fs::read_to_string(format!("/proc/{tracer}/comm")).unwrap_or_default();
        return Err(Refused::Traced(tracer, name.trim().escape_debug().to_string()));
    }
    let mut head = [0; 5];
    let program = File::open(format!("/proc/{pid}/exe"));
    if program.and_then(|mut file| file.read_exact(&mut head)).is_ok() && head[4] == 1 {
        return Err(Refused::Bits);
    }
    if field("x86_Thread_features").contains("shstk") {
        return Err(Refused::ShadowStack);
    }
    if field("Seccomp") == "1" {
        return Err(Refused::Strict);
    }
    let maps = maps_of(pid).map_err(Refused::Forbidden)?;
    let lines: Vec<_> = maps.lines().filter_map(maps::line).collect();
    let memory = File::open(format!("/proc/{pid}/mem")).map_err(Refused::Forbidden)?;
    let read = |at: u64, len: usize| {
        let mut bytes = vec![0; len];
        memory.read_exact_at(&mut bytes, at).is_ok().then_some(bytes)
    };
    if let Some(recorder) = recorder_of(&lines, read) {
        return Err(Refused::Recorded(recorder));
    }
    // Files are read while it runs.
    let functions = hooks::all_placed(pid, &lines, planner);
    if !functions.iter().any(|one| one.hook.kind.is_of_blocks()) {
        return Err(Refused::NoFunctions);
    }
    Ok(Prepared {
        pid,
        remains: remains::find(&lines, read),
        gadgets: Gadgets::find(&lines, read),
        has_other_ids: field("NSpid").split_whitespace().count() > own_depth(),
        threads: number("Threads").into(),
    })
}

/// In how many namespaces this process has an id.
fn own_depth() -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ids = status.lines().find_map(|line| line.strip_prefix("NSpid:"));
    ids.map_or(1, |ids| ids.split_whitespace().count())
}

/// The process that records this one now.
fn recorder_of(lines: &[maps::Line<'_>], read: impl Fn(u64, usize) -> Option<Vec<u8>>) -> Option<u32> {
    let headers = lines.iter().filter(|line| line.name == SHOWN_NAME && line.offset == 0);
    headers.into_iter().find_map(|line| {
        let bytes = read(line.range.start, size_of::<SessionHeader>())?;
        let word = |at: usize| Some(u64::from_le_bytes(bytes.get(at..)?.first_chunk().copied()?));
        let magic = word(std::mem::offset_of!(SessionHeader, magic))?;
        let clock = word(std::mem::offset_of!(SessionHeader, clock))?;
        let recorder = word(std::mem::offset_of!(SessionHeader, collector_pid))? as u32;
        let is_at_work = magic == SESSION_MAGIC && clock & CLOCK_STOPPED == 0;
        // Another process may have that id by now: the one that records has the memory, too.
        let mapped = || Mapped::of(recorder, &Memory::of_line(line));
        (is_at_work && mapped().has(&(0..1)) != Some(false)).then_some(recorder)
    })
}

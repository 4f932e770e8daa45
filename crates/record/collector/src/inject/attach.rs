//! Attaches to a process that runs: all of its threads are stopped, one maps the recorder's image and starts it, and all go on.

use super::attached::{Attached, SHOWN_NAME};
use super::guest::Guest;
use super::image::Image;
use super::remains::Remains;
use super::requests;
use super::thread::Thread;
use super::threads::{Threads, has_filter};
use super::tracee::Tracee;
use super::way_back::{Gadgets, WayBack};
use super::{Refused, escape, jumps, remains, seccomp};
use crate::hooks::{self, Placed, Planner};
use crate::joins::{self, Mapped, Memory};
use crate::maps;
use heapwise_trace::live::image::{Parameters, action, outcome};
use heapwise_trace::live::layout::{CLOCK_STOPPED, SESSION_HEADER_BYTES, SESSION_MAGIC, SessionHeader};
use heapwise_trace::live::plan::{FIND_OBJECT, LOADER_LIST};
use std::fs::{self, File};
use std::io::Read;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::time::Duration;

/// How often threads are let go on for a moment, until none is in the beginning of a function.
const TRIES: usize = 50;
const MOMENT: Duration = Duration::from_millis(1);
/// What the shared memory is called, as `run` calls it.
const SESSION_NAME: &[u8] = b"heapwise-session\0";

/// What is known of a process before it is stopped.
#[derive(Debug)]
pub(crate) struct Prepared {
    pid: u32,
    gadgets: Option<Gadgets>,
    /// Whether it has other ids than we know it and its threads by.
    pub(crate) has_other_ids: bool,
    /// What recordings that were broken off have left in it.
    pub(crate) remains: Vec<Remains>,
    /// Threads that it has now.
    pub(crate) threads: u64,
}

/// A process whose threads are stopped, with shared memory in it.
#[derive(Debug)]
pub(crate) struct Opened {
    pid: u32,
    threads: Threads,
    tracee: Tracee,
    thread: Thread,
    way_back: Option<WayBack>,
    lines: String,
    /// Where the session's header is mapped.
    session: u64,
    /// Where copies of code are.
    rooms: Vec<Range<u64>>,
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
    let maps = maps_of(pid)?;
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

fn maps_of(pid: u32) -> Result<String, Refused> {
    joins::maps_of(pid).map_err(Refused::Forbidden)
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

impl Opened {
    /// Stops a process and makes shared memory in it, which it returns as a file.
    pub(crate) fn new(prepared: &Prepared, planner: &mut Planner) -> Result<(Self, File), Refused> {
        let pid = prepared.pid;
        for _ in 0..TRIES {
            let threads = Threads::stop(pid)?;
            let lines = maps_of(pid)?;
            let parsed: Vec<_> = lines.lines().filter_map(maps::line).collect();
            let functions = hooks::all_placed(pid, &parsed, planner);
            // Who returns there from a signal's handler would find other code.
            if !threads.any_on_stack(&parsed, |word| escape::is_inside(&functions, word)) {
                check_filters(&threads)?;
                match threads.worker(|at| !escape::is_inside(&functions, at)) {
                    Ok(tracee) => {
                        return Self::open(prepared, (threads, tracee), lines.clone(), &functions);
                    }
                    Err(Refused::NoWorker) => {}
                    Err(why) => return Err(why),
                }
            }
            drop(threads);
            std::thread::sleep(MOMENT);
        }
        Err(Refused::Occupied)
    }

    fn open(
        prepared: &Prepared,
        (threads, tracee): (Threads, Tracee),
        lines: String,
        functions: &[Placed],
    ) -> Result<(Self, File), Refused> {
        let thread = tracee.borrow()?;
        let mut opened = Self {
            pid: prepared.pid,
            threads,
            tracee,
            thread,
            way_back: None,
            lines,
            session: 0,
            rooms: Vec::new(),
        };
        let file = opened.make_memory(prepared.gadgets, functions)?;
        Ok((opened, file))
    }

    fn make_memory(&mut self, gadgets: Option<Gadgets>, functions: &[Placed]) -> Result<File, Refused> {
        // What a heapwise that was killed has left.
        jumps::take_back(&self.tracee, functions)?;
        let pointers: Vec<u64> = self.threads.registers().iter().map(|(_, r)| r.rsp).collect();
        let lines: Vec<_> = self.lines.lines().filter_map(maps::line).collect();
        let stack = lines.iter().find(|line| line.name == "[stack]");
        self.way_back = WayBack::prepare(&self.tracee, &self.thread, gadgets, (stack, &pointers))?;
        let way_back = self.way_back.as_ref();
        // Without that place the name of the vDSO's file format does: any text that can be read.
        let name = match way_back {
            Some(way_back) => {
                self.tracee.write(way_back.names(), SESSION_NAME)?;
                way_back.names()
            }
            None => lines.iter().find(|line| line.name == "[vdso]").ok_or(Refused::NoGate)?.range.start + 1,
        };
        let mut guest = Guest::new(&mut self.tracee, &self.thread, way_back)?;
        self.rooms = escape::all(&self.threads, &mut guest, functions, &lines)?;
        let flags = u64::from(libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING);
        let descriptor = guest.system_call(libc::SYS_memfd_create, [name, flags, 0, 0, 0, 0])?;
        let path = format!("/proc/{}/fd/{descriptor}", self.pid);
        let file = File::options().read(true).write(true).open(path);
        let protection = (libc::PROT_READ | libc::PROT_WRITE) as u64;
        let flags = (libc::MAP_SHARED | libc::MAP_NORESERVE) as u64;
        let mapped =
            guest.system_call(libc::SYS_mmap, [0, SESSION_HEADER_BYTES, protection, flags, descriptor, 0]);
        guest.system_call(libc::SYS_close, [descriptor, 0, 0, 0, 0, 0])?;
        self.session = mapped?;
        file.map_err(|error| Refused::System("open the memory that it shares", error))
    }

    /// Writes the image and starts it. The process goes on.
    pub(crate) fn start(
        mut self,
        image: &Image,
        entry: u64,
        planner: &mut Planner,
        has_other_ids: bool,
    ) -> Result<Attached, Refused> {
        let lines: Vec<_> = self.lines.lines().filter_map(maps::line).collect();
        let mut address_of = |name| hooks::address_of(name, self.pid, &lines, planner).unwrap_or_default();
        let (find_object, loader_list) = (address_of(FIND_OBJECT), address_of(LOADER_LIST));
        let session = self.session..self.session + SESSION_HEADER_BYTES;
        let mut guest = Guest::new(&mut self.tracee, &self.thread, self.way_back.as_ref())?;
        let placed = guest.place(image, entry)?;
        let parameters = Parameters {
            session: session.start,
            find_object,
            loader_list,
            has_other_ids: has_other_ids.into(),
            frames_start: placed.frames.start,
            frames_end: placed.frames.end,
            ..Parameters::new(placed.image.clone(), action::START)
        };
        match guest.call(&placed, &parameters) {
            // If it cannot be noted, what is left after a kill stays.
            Ok(outcome::JOINED) => _ = remains::note(guest.tracee, session.start, &placed),
            Ok(outcome::NOT_JOINED) => {
                let _ = guest.unmap(&placed.image);
                return Err(Refused::NotJoined);
            }
            // Functions may lead to the image already: it stays, with all that it uses, and does nothing.
            other => {
                self.session = 0;
                return Err(other.err().unwrap_or(Refused::Late));
            }
        }
        self.session = 0;
        go_back(&mut self.tracee, &self.thread, self.way_back.as_ref());
        let pause = self.threads.go_on();
        let rooms = std::mem::take(&mut self.rooms);
        Ok(Attached { placed, session, rooms, pause })
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        if self.threads.have_gone_on() {
            return;
        }
        if self.session != 0
            && !self.tracee.is_gone_on
            && let Ok(mut guest) = Guest::new(&mut self.tracee, &self.thread, self.way_back.as_ref())
        {
            let _ = guest.unmap(&(self.session..self.session + SESSION_HEADER_BYTES));
        }
        go_back(&mut self.tracee, &self.thread, self.way_back.as_ref());
    }
}

/// Makes a thread what it was before it worked for us, and stops it there.
pub(super) fn go_back(tracee: &mut Tracee, thread: &Thread, way_back: Option<&WayBack>) {
    // It has made itself what it was.
    if tracee.is_gone_on {
        return;
    }
    tracee.send_held();
    // If it has ended meanwhile, there is nothing to make right.
    let is_back = tracee.put_back(thread).and_then(|()| tracee.stop_before_program(thread));
    if is_back.is_ok()
        && let Some(way_back) = way_back
    {
        way_back.clear(tracee);
    }
}

/// Whether all filters of the threads allow what the recorder does.
fn check_filters(threads: &Threads) -> Result<(), Refused> {
    for (id, _) in threads.registers() {
        let mut filters = Vec::new();
        if !has_filter(id) {
            continue;
        }
        while let Some(filter) = requests::filter(id, filters.len()).map_err(Refused::FilterHidden)? {
            filters.push(filter);
        }
        if let Some(call) = seccomp::obstacle(&filters) {
            return Err(Refused::Filtered(call));
        }
    }
    Ok(())
}

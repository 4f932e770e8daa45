//! Attaches to a process that runs: all of its threads are stopped, one maps the recorder's image and starts it, and all go on.

use super::attached::Attached;
use super::guest::Guest;
use super::image::Image;
use super::prepared::Prepared;
use super::requests;
use super::thread::Thread;
use super::threads::{Threads, has_filter};
use super::tracee::Tracee;
use super::tracer::{Tracer, Tracing};
use super::way_back::{Gadgets, WayBack};
use super::{Refused, escape, jumps, remains, seccomp};
use crate::hooks::{self, Placed, Planner};
use crate::joins::maps_of;
use crate::maps;
use heapwise_trace::live::image::{Parameters, action, outcome};
use heapwise_trace::live::layout::SESSION_HEADER_BYTES;
use heapwise_trace::live::plan::{FIND_OBJECT, LOADER_LIST, LOADER_LIST_AT};
use std::fs::File;
use std::ops::Range;
use std::sync::mpsc::{Sender, channel};
use std::thread::Scope;
use std::time::Duration;

/// How often threads are let go on for a moment, until none is in the beginning of a function.
const TRIES: usize = 50;
const MOMENT: Duration = Duration::from_millis(1);
/// What the shared memory is called, as `run` calls it.
const SESSION_NAME: &[u8] = b"heapwise-session\0";

/// A process that stands still, with shared memory in it. It goes on when this is dropped.
#[derive(Debug)]
pub(crate) struct Halted<'scope> {
    start: Sender<()>,
    /// Nothing comes of it if it is not to be started.
    tracing: Tracing<'scope, Result<Option<Attached>, Refused>>,
    stops: Vec<Duration>,
}

/// What is started in it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Start<'a> {
    pub(crate) image: &'a Image,
    /// Where its program begins; 0 if that is not known.
    pub(crate) entry: u64,
}

impl<'scope> Halted<'scope> {
    /// Stops a process and makes shared memory in it, which it returns as a file.
    pub(crate) fn new(
        scope: &'scope Scope<'scope, '_>,
        prepared: &'scope Prepared,
        start: Start<'scope>,
        planner: &mut Planner,
    ) -> Result<(Self, File), Refused> {
        let mut stops = Vec::new();
        for _ in 0..TRIES {
            let (hand_over, handed_over) = channel();
            let (sender, is_wanted) = channel();
            let mut known = planner.clone();
            let tracing = Tracing::start(scope, move |tracer| {
                let opened = Opened::new(tracer, prepared, &mut known)?;
                let Some((opened, memory)) = opened else { return Ok(None) };
                let is_taken = hand_over.send((memory, known)).is_ok();
                if is_taken && is_wanted.recv().is_ok() { opened.start(start).map(Some) } else { Ok(None) }
            })?;
            if let Ok((memory, known)) = handed_over.recv() {
                *planner = known;
                return Ok((Self { start: sender, tracing, stops }, memory));
            }
            let (tried, stop) = tracing.end();
            tried?;
            stops.push(stop);
            std::thread::sleep(MOMENT);
        }
        Err(Refused::Occupied)
    }

    /// Starts the recorder in it, and lets it go on. Says how long its threads stood still, stop by stop.
    pub(crate) fn start(mut self) -> Result<(Attached, Vec<Duration>), Refused> {
        // Whoever does not want to hear of it says why below.
        let _ = self.start.send(());
        let (attached, stop) = self.tracing.end();
        self.stops.push(stop);
        Ok((attached?.ok_or(Refused::NotJoined)?, self.stops))
    }
}

/// The threads of such a process, and the one that works for us.
#[derive(Debug)]
struct Opened {
    pid: u32,
    threads: Threads,
    tracee: Tracee,
    thread: Thread,
    way_back: Option<WayBack>,
    find_object: u64,
    loader_list: u64,
    /// Where the session's header is mapped.
    session: u64,
    /// Where copies of code are.
    rooms: Vec<Range<u64>>,
    has_other_ids: bool,
}

impl Opened {
    /// Stops a process and makes shared memory in it; nothing where a thread is at the beginning of a function, or none can work for us.
    fn new(
        tracer: Tracer,
        prepared: &Prepared,
        planner: &mut Planner,
    ) -> Result<Option<(Self, File)>, Refused> {
        let pid = prepared.pid;
        let threads = Threads::stop(tracer, pid)?;
        let lines = maps_of(pid).map_err(Refused::Forbidden)?;
        let parsed: Vec<_> = lines.lines().filter_map(maps::line).collect();
        let functions = hooks::all_placed(pid, &parsed, planner);
        // Who returns there from a signal's handler would find other code.
        if threads.any_on_stack(&parsed, |word| escape::is_inside(&functions, word)) {
            return Ok(None);
        }
        check_filters(&threads)?;
        let tracee = match threads.worker(|at| !escape::is_inside(&functions, at)) {
            Ok(tracee) => tracee,
            Err(Refused::NoWorker) => return Ok(None),
            Err(why) => return Err(why),
        };
        let mut address_of = |name| hooks::address_of(name, pid, &parsed, planner);
        let word = |at| tracee.read(at, 8).ok()?.try_into().ok().map(u64::from_ne_bytes);
        let find_object = address_of(FIND_OBJECT).unwrap_or_default();
        let loader_list = address_of(LOADER_LIST).or_else(|| address_of(LOADER_LIST_AT).and_then(word));
        let loader_list = loader_list.unwrap_or_default();
        let thread = tracee.borrow()?;
        let mut opened = Self {
            pid,
            threads,
            tracee,
            thread,
            way_back: None,
            find_object,
            loader_list,
            session: 0,
            rooms: Vec::new(),
            has_other_ids: prepared.has_other_ids,
        };
        let file = opened.make_memory(prepared.gadgets, &functions, &parsed)?;
        Ok(Some((opened, file)))
    }

    fn make_memory(
        &mut self,
        gadgets: Option<Gadgets>,
        functions: &[Placed],
        lines: &[maps::Line<'_>],
    ) -> Result<File, Refused> {
        // What a heapwise that was killed has left.
        jumps::take_back(&self.tracee, functions)?;
        let pointers: Vec<u64> = self.threads.registers().iter().map(|(_, r)| r.rsp).collect();
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
        self.rooms = escape::all(&self.threads, &mut guest, functions, lines)?;
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

    /// Writes the image and starts it. The thread is afterwards what it was.
    fn start(mut self, Start { image, entry }: Start<'_>) -> Result<Attached, Refused> {
        let session = self.session..self.session + SESSION_HEADER_BYTES;
        let mut guest = Guest::new(&mut self.tracee, &self.thread, self.way_back.as_ref())?;
        let placed = guest.place(image, entry)?;
        let parameters = Parameters {
            session: session.start,
            find_object: self.find_object,
            loader_list: self.loader_list,
            has_other_ids: self.has_other_ids.into(),
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
        Ok(Attached { placed, session, rooms: std::mem::take(&mut self.rooms) })
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
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

//! Leaves a process that goes on: its functions get their own code again, and the recorder's memory is returned.
//!
//! A thread may be in the middle of the recorder then, or in an allocator that the recorder has called. It is let out, in a millisecond
//! at most: nothing leads in any more. Where one does not come out, the image stays where it is, and does nothing.

use super::attach::go_back;
use super::attached::Attached;
use super::guest::Guest;
use super::remains::Remains;
use super::requests::share_memory;
use super::threads::Threads;
use super::tracer::{Tracer, Tracing};
use super::way_back::{Gadgets, WayBack};
use super::{Refused, jumps};
use crate::hooks::{self, Planner};
use crate::joins::{Memory, maps_of};
use crate::maps;
use heapwise_trace::live::image::{Parameters, action, outcome};
use std::collections::BTreeSet;
use std::fs;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

/// How often threads are let go on for a moment, until none is in the recorder any more.
const TRIES: usize = 100;
/// How often what lies on stacks is believed.
const CAUTIOUS_TRIES: usize = 30;
const MOMENT: Duration = Duration::from_millis(1);
/// The moments get longer, up to so many times that.
const LONGEST: u32 = 50;
/// How long a process is tried to be left.
const PATIENCE: Duration = Duration::from_secs(20);

/// What came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Left {
    /// The process is as it was.
    Whole,
    /// Its functions are; the recorder's memory is still there, for a thread is in it.
    CodeOnly,
}

/// What it was to leave all processes.
#[derive(Debug, Default)]
pub(crate) struct Parting {
    /// Processes in which the recorder's memory is still there.
    pub(crate) left_behind: usize,
    pub(crate) errors: Vec<Refused>,
    /// How long they stood still, stop by stop.
    pub(crate) stops: Vec<Duration>,
}

/// Leaves all processes that have the session's memory and this image: the attached one, and those that were forked from it. What they
/// have executed has a recorder of its own, as programs have that were started with one, and keeps it.
pub(crate) fn from_all(memory: &Memory, attached: &Attached, planner: &mut Planner) -> Parting {
    let (mut parting, mut done) = (Parting::default(), BTreeSet::new());
    // One that is not left yet may fork meanwhile.
    loop {
        let mut new = processes_with(memory, &attached.placed.image);
        new.retain(|pid| !done.contains(pid));
        if new.is_empty() {
            return parting;
        }
        let all = new.clone();
        for pid in new {
            // A child of `vfork` is in its parent's memory, and goes with that.
            let is_guest = |other: &u32| *other < pid && share_memory(*other, pid);
            done.insert(pid);
            if all.iter().any(is_guest) {
                continue;
            }
            match from_one(pid, memory, attached, planner, &mut parting.stops) {
                Ok(Left::Whole) | Err(Refused::Ended | Refused::NoProcess) => {}
                Ok(Left::CodeOnly) => parting.left_behind += 1,
                Err(error) => parting.errors.push(error),
            }
        }
    }
}

/// Returns what recordings that were broken off have left in a process. What cannot be returned stays: it is no obstacle.
pub(crate) fn clear(pid: u32, remains: &[Remains], planner: &mut Planner) {
    for Remains { memory, attached } in remains {
        let _ = from_one(pid, memory, attached, planner, &mut Vec::new());
    }
}

/// The processes that have a part of the session and the image, and are not this one; those that others were forked from first.
fn processes_with(memory: &Memory, image: &Range<u64>) -> Vec<u32> {
    let own = std::process::id();
    let ids = fs::read_dir("/proc").into_iter().flatten().flatten();
    let ids = ids.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let mut found: Vec<_> =
        ids.filter(|&pid| pid != own && maps_of(pid).is_ok_and(|maps| has(&maps, memory, image))).collect();
    found.sort_unstable();
    found
}

fn has(maps: &str, memory: &Memory, image: &Range<u64>) -> bool {
    let lines: Vec<_> = maps.lines().filter_map(maps::line).collect();
    let is_its_code =
        |line: &maps::Line<'_>| line.executable && line.inode == 0 && image.contains(&line.range.start);
    lines.iter().any(|line| memory.is_in(line)) && lines.iter().any(is_its_code)
}

fn from_one(
    pid: u32,
    memory: &Memory,
    attached: &Attached,
    planner: &mut Planner,
    stops: &mut Vec<Duration>,
) -> Result<Left, Refused> {
    // Files are read, and code is looked at, while it runs.
    let maps = maps_of(pid).map_err(|_| Refused::NoProcess)?;
    let lines: Vec<_> = maps.lines().filter_map(maps::line).collect();
    hooks::all_placed(pid, &lines, planner);
    let file = fs::File::open(format!("/proc/{pid}/mem"));
    let gadgets = Gadgets::find(&lines, |at, len| {
        let mut bytes = vec![0; len];
        file.as_ref().ok()?.read_exact_at(&mut bytes, at).is_ok().then_some(bytes)
    });
    let until = Instant::now() + PATIENCE;
    let mut leaving = Leaving { pid, memory, attached, gadgets, stubs: Vec::new() };
    for attempt in 0.. {
        let believes = attempt < CAUTIOUS_TRIES;
        let (tried, stop) = std::thread::scope(|scope| {
            Tracing::start(scope, |tracer| leaving.attempt(tracer, planner, believes)).map(Tracing::end)
        })?;
        stops.push(stop);
        match tried {
            Ok(Some(left)) => return Ok(left),
            // A thread is in the recorder, and comes out; or waits for a disk, or the child of `vfork`.
            Ok(None) | Err(Refused::Unstoppable { .. } | Refused::NoWorker) if Instant::now() < until => {}
            Ok(None) => return Ok(Left::CodeOnly),
            Err(why) => return Err(why),
        }
        if attempt >= TRIES && !leaving.stubs.is_empty() {
            return Ok(Left::CodeOnly);
        }
        // With many threads on few processors it takes a while until each has had its turn.
        std::thread::sleep(MOMENT * u32::try_from(attempt).unwrap_or(LONGEST).clamp(1, LONGEST));
    }
    Ok(Left::CodeOnly)
}

/// A process that is to be left.
struct Leaving<'a> {
    pid: u32,
    memory: &'a Memory,
    attached: &'a Attached,
    gadgets: Option<Gadgets>,
    /// Where the jumps of its functions have led.
    stubs: Vec<Range<u64>>,
}

impl Leaving<'_> {
    /// Tries it once; nothing if a thread is in the recorder. `believes` whatever looks like a return to it on a stack: what was there
    /// earlier looks the same, and stays for as long as a thread waits. The recorder itself knows where it is at work
    /// (`thread_table::is_any_at_work`), except for what signals have interrupted.
    fn attempt(
        &mut self,
        tracer: Tracer,
        planner: &mut Planner,
        believes: bool,
    ) -> Result<Option<Left>, Refused> {
        let (pid, image) = (self.pid, &self.attached.placed.image);
        let threads = Threads::stop(tracer, pid)?;
        let maps = maps_of(pid).map_err(|_| Refused::Ended)?;
        // It may have executed another program meanwhile.
        if !has(&maps, self.memory, image) {
            return Ok(Some(Left::Whole));
        }
        let lines: Vec<_> = maps.lines().filter_map(maps::line).collect();
        let mut tracee = threads.worker(|_| true)?;
        // A thread that was in the recorder may have written some more.
        let hooks = hooks::all_placed(pid, &lines, planner);
        self.stubs.extend(jumps::take_back(&tracee, &hooks)?);
        let code = self.stubs.iter().chain(&self.attached.rooms).chain([image]);
        let is_ours = |at: u64| code.clone().any(|range| range.contains(&at));
        let is_on_stack = match believes {
            true => threads.any_on_stack(&lines, is_ours),
            false => threads.any_interrupted_at(&lines, is_ours),
        };
        if threads.any_at(is_ours) || is_on_stack {
            return Ok(None);
        }
        let thread = tracee.borrow()?;
        let pointers: Vec<u64> = threads.registers().iter().map(|(_, r)| r.rsp).collect();
        let stack = lines.iter().find(|line| line.name == "[stack]");
        let way_back = WayBack::prepare(&tracee, &thread, self.gadgets, (stack, &pointers))?;
        let left = Guest::new(&mut tracee, &thread, way_back.as_ref())
            .and_then(|mut guest| self.return_memory(&mut guest));
        go_back(&mut tracee, &thread, way_back.as_ref());
        left
    }

    /// Has the image return its memory, and unmaps it.
    fn return_memory(&self, guest: &mut Guest<'_>) -> Result<Option<Left>, Refused> {
        let Attached { placed, session, rooms, .. } = self.attached;
        let parameters = Parameters::new(placed.image.clone(), action::LEAVE);
        if guest.call(placed, &parameters)? != outcome::LEFT {
            return Ok(None);
        }
        guest.unmap(&placed.image)?;
        guest.unmap(session)?;
        rooms.iter().try_for_each(|room| guest.unmap(room))?;
        Ok(Some(Left::Whole))
    }
}

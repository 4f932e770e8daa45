//! Leaves a process that goes on: its functions get their own code again, and the recorder's memory is returned.
//!
//! A thread may be in the middle of the recorder then, or in an allocator that the recorder has called. It is let out, in a millisecond
//! at most: nothing leads in any more. Where one does not come out, the image stays where it is, and does nothing.

use super::attach::{Attached, go_back};
use super::guest::Guest;
use super::threads::Threads;
use super::way_back::{Gadgets, WayBack};
use super::{Refused, jumps};
use crate::hooks::{self, Planner};
use crate::joins::{Memory, maps_of};
use crate::maps;
use heapwise_trace::live::image::{Parameters, action, outcome};
use std::fs;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

/// How often threads are let go on for a moment, until none is in the recorder any more.
const TRIES: usize = 100;
const MOMENT: Duration = Duration::from_millis(1);
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

/// Leaves all processes that have the session's memory: the attached one, and those that were forked from it.
pub(crate) fn from_all(memory: &Memory, attached: &Attached, planner: &mut Planner) -> (usize, Vec<Refused>) {
    let (mut left_behind, mut errors) = (0, Vec::new());
    for pid in processes_with(memory) {
        match from_one(pid, memory, attached, planner) {
            Ok(Left::Whole) | Err(Refused::Ended | Refused::NoProcess) => {}
            Ok(Left::CodeOnly) => left_behind += 1,
            Err(error) => errors.push(error),
        }
    }
    (left_behind, errors)
}

/// The processes that have a part of it mapped, and are not this one.
fn processes_with(memory: &Memory) -> Vec<u32> {
    let own = std::process::id();
    let ids = fs::read_dir("/proc").into_iter().flatten().flatten();
    let ids = ids.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    ids.filter(|&pid| pid != own && maps_of(pid).is_ok_and(|maps| has(&maps, memory))).collect()
}

fn has(maps: &str, memory: &Memory) -> bool {
    maps.lines().filter_map(maps::line).any(|line| memory.is_in(&line))
}

fn from_one(pid: u32, memory: &Memory, attached: &Attached, planner: &mut Planner) -> Result<Left, Refused> {
    let (image, mut stubs) = (&attached.placed.image, Vec::new());
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
    let mut is_restored = false;
    for attempt in 0.. {
        let threads = match Threads::stop(pid) {
            // Who waits for a disk, or for the child of `vfork`, stops later.
            Err(Refused::Unstoppable { .. }) if Instant::now() < until => continue,
            stopped => stopped?,
        };
        let maps = maps_of(pid).map_err(|_| Refused::Ended)?;
        // It may have executed another program meanwhile.
        if !has(&maps, memory) {
            return Ok(Left::Whole);
        }
        let lines: Vec<_> = maps.lines().filter_map(maps::line).collect();
        let mut tracee = threads.worker(|_| true)?;
        if !is_restored {
            let hooks = hooks::all_placed(pid, &lines, planner);
            stubs = jumps::take_back(&tracee, &hooks)?;
            is_restored = true;
        }
        let is_within = |range: &Range<u64>, at: u64| range.contains(&at);
        let code = stubs.iter().chain(&attached.rooms).chain([image]);
        let is_ours = |at: u64| code.clone().any(|range| is_within(range, at));
        if !threads.any_at(is_ours) && !threads.any_on_stack(is_ours) {
            let thread = tracee.borrow()?;
            let pointers: Vec<u64> = threads.registers().iter().map(|(_, r)| r.rsp).collect();
            let stack = lines.iter().find(|line| line.name == "[stack]");
            let way_back = WayBack::prepare(&tracee, &thread, gadgets, (stack, &pointers))?;
            let left = Guest::new(&mut tracee, &thread, way_back.as_ref()).and_then(|mut guest| {
                let parameters = Parameters::new(image.clone(), action::LEAVE);
                if guest.call(attached.placed.entry, &parameters)? != outcome::LEFT {
                    return Ok(Left::CodeOnly);
                }
                guest.unmap(image)?;
                guest.unmap(&attached.session)?;
                attached.rooms.iter().try_for_each(|room| guest.unmap(room))?;
                Ok(Left::Whole)
            });
            go_back(&mut tracee, &thread, way_back.as_ref());
            if !matches!(left, Ok(Left::CodeOnly)) {
                return left;
            }
        }
        drop(threads);
        if attempt >= TRIES || Instant::now() > until {
            return Ok(Left::CodeOnly);
        }
        std::thread::sleep(MOMENT);
    }
    Ok(Left::CodeOnly)
}

//! Finds processes that have joined, and takes in those that are believed.

use super::Collector;
use crate::distrust;
use crate::joins::{self, Standing};
use crate::process::Process;
use crate::refusals::Refused;
use heapwise_trace::file::records::ProcessIndex;
use heapwise_trace::live::layout::ARENA_BYTES;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Arenas that are looked at in one search.
const MOST_SEARCHED: usize = 1 << 14;

impl Collector<'_> {
    pub(super) fn discover(&mut self, now: Duration) {
        let newest = self.session.header().newest_process.0.load(Ordering::Acquire);
        if newest == self.newest_seen {
            return;
        }
        let (session, claims) = (self.session, &self.claims);
        let (offsets, why) = distrust::headers(newest, |at| !claims.is_new(at), |at| session.previous(at));
        if let Some(why) = why {
            self.refusals.note(Refused::List, || why);
        }
        self.newest_seen = newest;
        // The list leads from the newest to the oldest; they are taken in the order in which they joined.
        offsets.into_iter().rev().for_each(|offset| self.take_in(offset, now));
    }

    /// Finds processes that have joined and that the list does not lead to: each process that joins writes to
    /// the list, and so can all others.
    pub(super) fn search(&mut self, now: Duration) {
        let taken = self.session.taken();
        if self.claims.len() as u64 * ARENA_BYTES >= taken.end - taken.start {
            return;
        }
        let mut from = taken.start;
        for _ in 0..MOST_SEARCHED {
            let Some(offset) = self.session.next_written(from).filter(|&at| at < taken.end) else { return };
            self.take_in(offset, now);
            from = offset + ARENA_BYTES;
        }
    }

    /// Takes a process in that has joined with the header at an offset, if it is believed.
    fn take_in(&mut self, offset: u64, now: Duration) {
        let Some(first) = distrust::arena(offset).filter(|_| self.claims.is_new(offset)) else { return };
        // One that is being made is found again.
        let Some(claimed) = self.session.process_at(offset) else { return };
        let memory = self.session.memory();
        // One that has ended is no more to be found by another id.
        let pid = match &self.session.other_ids {
            Some(ids) => ids.process(claimed, &memory).unwrap_or(claimed),
            None => claimed,
        };
        let current = self.processes.iter().position(|p| p.info.pid == pid && p.is_present());
        let standing = joins::judge(pid, &first, &memory, current.map(|i| self.processes[i].first()));
        let standing = standing.and_then(|standing| match standing {
            Standing::Departed if !self.started_since.departed() => {
                Err("there are more than the system has started".to_owned())
            }
            believed => Ok(believed),
        });
        let standing = match standing {
            Ok(standing) => standing,
            Err(why) => {
                self.claims.refuse(offset);
                return self.refusals.note(Refused::Join, || why);
            }
        };
        // What has ended before it was seen may have been in a part of the memory that a process may still claim.
        let is_free = match standing.is_present() {
            true => self.claims.take(&first, offset),
            false => self.claims.may_read(&first, offset),
        };
        let index = ProcessIndex(self.indices.len() as u32);
        let known = |parent| self.indices.get(&parent).copied();
        let process = Process::new(self.session, first, (pid, standing), index, known, &mut self.refusals);
        let (true, Ok(mut process)) = (is_free, process) else { return self.claims.refuse(offset) };
        self.indices.insert(offset, index);
        self.started_since.add(1);
        self.outcome.joined.push(pid);
        if !standing.is_present() {
            self.claims.refuse(offset);
            self.processes.push(process);
            return self.end(self.processes.len() - 1, now);
        }
        // A program that a process executes takes over its id: the process that had it before is over.
        if let Some(old) = current {
            self.end(old, now);
        }
        self.examiner.look(&mut process.info);
        self.probes.want(&process, &memory, &mut self.refusals);
        self.processes.push(process);
    }
}

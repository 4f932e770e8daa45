//! One thread's ring, as it is seen from outside: whose it is, and what is in it.

use crate::arenas::Arenas;
use crate::distrust::{self, Started};
use crate::news::News;
use crate::other_ids;
use crate::refusals::{Refusals, Refused};
use crate::session::Session;
use crate::sys;
use heapwise_trace::event::Epoch;
use heapwise_trace::file::records::{ProcessIndex, ThreadEnd, ThreadIndex, ThreadInfo};
use heapwise_trace::live::layout::{RING_DATA_OFFSET, RingHeader, ring_state};
use std::ops::RangeInclusive;
use std::sync::atomic::Ordering;

/// What a drain works with.
#[derive(Debug)]
pub(crate) struct Drain<'a> {
    pub(crate) session: &'a Session,
    pub(crate) process: ProcessIndex,
    pub(crate) pid: u32,
    /// Whether the rings are the process's for certain: only then anything is written to them.
    pub(crate) writes: bool,
    /// Whether the process is ending: its threads end with it, and not before.
    pub(crate) is_ending: bool,
    /// Bytes that may still be taken.
    pub(crate) room: usize,
    /// Whether a ring had more than there was room for, and was left as it is.
    pub(crate) has_left: bool,
    pub(crate) started: &'a mut Started,
    pub(crate) refusals: &'a mut Refusals,
    pub(crate) news: &'a mut News,
}

impl Drain<'_> {
    /// The thread that calls itself so.
    fn thread_id(&self, claimed: u32) -> u32 {
        let inner = self.session.other_ids.as_ref().map(|_| other_ids::thread(self.pid, claimed));
        inner.flatten().unwrap_or(claimed)
    }
}

/// Rounds in which a thread wrote nothing after which it is looked whether it is gone. Later ones are left to what looks at all threads
/// now and then.
const LOOKS: RangeInclusive<u32> = 2..=32;

/// A ring and the thread that owns it now.
#[derive(Debug)]
pub(crate) struct Ring {
    pub(crate) offset: u64,
    pub(crate) thread: Option<ThreadIndex>,
    pub(crate) tid: u32,
    /// Words that were drained and not yet handed on.
    pub(crate) pending: Vec<u64>,
    pub(crate) idle_checks: u32,
    /// Rounds in which its thread wrote nothing.
    quiet_rounds: u32,
    /// The clock when its thread was found to be gone, before all of its words were handed on.
    gone_at: Option<Epoch>,
    incarnation: u64,
    name: String,
    /// What the thread was called when it took the ring.
    first_name: String,
    lost_before: u64,
    /// Bytes of events that it holds, read once.
    capacity: u64,
    /// Bytes that were read. Only the collector's count is used.
    tail: u64,
    /// Its numbers contradict each other: nothing is read any more.
    is_refused: bool,
}

impl Ring {
    /// A ring of which nothing was read yet. If there can be none at this place, nothing will be.
    pub(crate) fn new(index: usize, offset: u64, arenas: &mut Arenas, refusals: &mut Refusals) -> Self {
        let claimed = arenas.get::<RingHeader>(offset).map(|header| header.capacity.load(Ordering::Relaxed));
        let capacity = claimed.and_then(|claimed| distrust::capacity(claimed, index)).unwrap_or(0);
        let bytes = RING_DATA_OFFSET + capacity;
        let is_one = capacity != 0 && arenas.holds(offset, bytes) && arenas.extents.take(offset, bytes);
        if !is_one {
            let claimed = claimed.unwrap_or(0);
            refusals.note(Refused::Ring, || format!("there can be none of {claimed} bytes at {offset:#x}"));
        }
        Self {
            offset,
            incarnation: 0,
            thread: None,
            tid: 0,
            name: String::new(),
            first_name: String::new(),
            lost_before: 0,
            pending: Vec::new(),
            idle_checks: 0,
            quiet_rounds: 0,
            gone_at: None,
            capacity,
            tail: 0,
            is_refused: !is_one,
        }
    }

    /// Its header, if it is one.
    pub(crate) fn header<'a>(&self, arenas: &'a Arenas) -> Option<&'a RingHeader> {
        arenas.get::<RingHeader>(self.offset).filter(|_| !self.is_refused)
    }

    /// Bytes of shared memory that it has touched at most.
    pub(crate) fn touched_bytes(&self) -> u64 {
        if self.is_refused { 0 } else { self.tail.min(self.capacity) + RING_DATA_OFFSET }
    }

    pub(crate) fn drain(&mut self, arenas: &Arenas, drain: &mut Drain<'_>) -> usize {
        let Some(header) = self.header(arenas) else { return 0 };
        // The head first: the owner of what lies before it is the one that is read after it.
        let head = header.head.load(Ordering::Acquire);
        let incarnation = header.incarnation.load(Ordering::Acquire);
        if incarnation != self.incarnation && !self.take_over(header, incarnation, drain) {
            return 0;
        }
        let Some(bytes) = distrust::unread(head, self.tail, self.capacity) else {
            self.refuse(drain, "its writer is not where it can be");
            return 0;
        };
        // What there is no room for is taken the next time, and never a part of it.
        if bytes == 0 || self.thread.is_none() {
            self.notice_end(drain);
            return 0;
        }
        if bytes as usize > drain.room {
            drain.has_left = true;
            return 0;
        }
        let at = self.tail & (self.capacity - 1);
        let first_part = bytes.min(self.capacity - at);
        let mut copy = |from: u64, len: u64| {
            let offset = self.offset + RING_DATA_OFFSET + from;
            drain.session.read_words(offset, (len / 8) as usize, &mut self.pending)
        };
        if copy(at, first_part).and_then(|()| copy(0, bytes - first_part)).is_none() {
            return 0;
        }
        self.tail = head;
        drain.room -= bytes as usize;
        if drain.writes {
            header.tail.0.store(head, Ordering::Release);
            if header.waiting.swap(0, Ordering::AcqRel) != 0 {
                sys::futex_wake(header.tail.0.as_ptr().cast());
            }
        }
        (self.idle_checks, self.quiet_rounds, self.gone_at) = (0, 0, None);
        bytes as usize
    }

    /// Looks whether a quiet thread is gone. Most are soon after their last event, and how long the others live does not matter so
    /// much: so at once, and then ever more rarely, since each look is a system call.
    fn notice_end(&mut self, drain: &Drain<'_>) {
        if self.thread.is_none() || self.gone_at.is_some() || drain.is_ending {
            return;
        }
        self.quiet_rounds = self.quiet_rounds.saturating_add(1);
        let is_due = LOOKS.contains(&self.quiet_rounds) && self.quiet_rounds.is_power_of_two();
        if is_due && sys::thread_is_gone(drain.pid, self.tid) {
            self.gone_at = Some(drain.session.epoch());
        }
    }

    fn refuse(&mut self, drain: &mut Drain<'_>, why: &str) {
        self.is_refused = true;
        let offset = self.offset;
        drain.refusals.note(Refused::Ring, || format!("{why}, at {offset:#x}"));
    }

    /// Notes that another thread has the ring. Returns whether that can be.
    fn take_over(&mut self, header: &RingHeader, incarnation: u64, drain: &mut Drain<'_>) -> bool {
        // A ring is handed on after it was set free here, and not before.
        if self.thread.is_some() {
            self.refuse(drain, "its thread has changed before it was free");
            return false;
        }
        let Some(index) = drain.started.thread() else {
            self.is_refused = true;
            drain.refusals.note(Refused::Threads, || "there are more than the system has started".into());
            return false;
        };
        self.incarnation = incarnation;
        self.thread = Some(index);
        self.tid = drain.thread_id(header.tid.load(Ordering::Relaxed));
        self.name = own_name(header);
        self.first_name = self.name.clone();
        let claimed = header.start_epoch.load(Ordering::Relaxed);
        let start_epoch = drain.session.joined(claimed).unwrap_or_else(|now| {
            let tid = self.tid;
            drain
                .refusals
                .note(Refused::Threads, || format!("thread {tid} says that it begins in the future"));
            now
        });
        drain.news.threads.push(ThreadInfo {
            index,
            process: drain.process,
            tid: self.tid,
            handle: header.handle.load(Ordering::Relaxed),
            name: self.name.clone(),
            start_epoch,
        });
        true
    }

    pub(crate) fn update_name(&mut self, pid: u32) {
        if let Ok(name) = std::fs::read_to_string(format!("/proc/{pid}/task/{}/comm", self.tid)) {
            self.name = name.trim_end_matches('\n').to_owned();
        }
    }

    /// The thread is gone and drained, but for words that were not handed on yet: they keep the ring busy.
    pub(crate) fn finish(&mut self, header: &RingHeader, epoch: Epoch, writes: bool, news: &mut News) {
        let drained = header.head.load(Ordering::Acquire) == self.tail;
        let Some(thread) = self.thread else { return };
        if !self.pending.is_empty() || !drained {
            return;
        }
        self.thread = None;
        self.quiet_rounds = 0;
        let epoch = self.gone_at.take().unwrap_or(epoch);
        // The name that the thread itself set last is newer than the one that the kernel gave.
        let own = own_name(header);
        if own != self.first_name {
            self.name = own;
        }
        let lost = header.lost_events.load(Ordering::Relaxed);
        let lost_events = lost.saturating_sub(self.lost_before);
        self.lost_before = lost;
        news.thread_ends.push(ThreadEnd {
            index: thread,
            name: std::mem::take(&mut self.name),
            epoch,
            lost_events,
        });
        if writes {
            header.state.store(ring_state::FREE, Ordering::Release);
        }
    }
}

fn own_name(header: &RingHeader) -> String {
    let name: Vec<u8> = header.name.iter().flat_map(|w| w.load(Ordering::Relaxed).to_le_bytes()).collect();
    String::from_utf8_lossy(name.split(|&b| b == 0).next().unwrap_or_default()).into_owned()
}

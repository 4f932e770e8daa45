//! One thread's ring, as it is seen from outside: whose it is, and what is in it.

use crate::arenas::Arenas;
use crate::process::News;
use crate::sys;
use heapwise_trace::event::Epoch;
use heapwise_trace::file::records::{ProcessIndex, ThreadEnd, ThreadIndex, ThreadInfo};
use heapwise_trace::live::layout::{RING_DATA_OFFSET, RingHeader, ring_state};
use std::sync::atomic::Ordering;

/// A ring and the thread that owns it now.
#[derive(Debug)]
pub(crate) struct Ring {
    pub(crate) offset: u64,
    pub(crate) incarnation: u64,
    pub(crate) thread: Option<ThreadIndex>,
    pub(crate) tid: u32,
    pub(crate) name: String,
    /// What the thread was called when it took the ring.
    pub(crate) first_name: String,
    pub(crate) lost_before: u64,
    /// Words that were drained and not yet handed on.
    pub(crate) pending: Vec<u64>,
    pub(crate) idle_checks: u32,
}

impl Ring {
    /// A ring of which nothing was read yet.
    pub(crate) fn new(offset: u64) -> Self {
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
        }
    }

    pub(crate) fn drain(
        &mut self,
        arenas: &Arenas,
        process: ProcessIndex,
        next_thread: &mut u32,
        news: &mut News,
    ) -> usize {
        let Some(header) = arenas.get::<RingHeader>(self.offset) else { return 0 };
        // The head first: whoever owns what lies before it is the owner that is read after it.
        let head = header.head.load(Ordering::Acquire);
        let tail = header.tail.0.load(Ordering::Relaxed);
        let incarnation = header.incarnation.load(Ordering::Acquire);
        if incarnation != self.incarnation {
            self.take_over(header, incarnation, process, next_thread, news);
        }
        let capacity = header.capacity.load(Ordering::Relaxed);
        let bytes = head.wrapping_sub(tail);
        if bytes == 0 || bytes > capacity || !capacity.is_power_of_two() || self.thread.is_none() {
            return 0;
        }
        let at = tail & (capacity - 1);
        let first_part = bytes.min(capacity - at);
        let mut copy = |from: u64, len: u64| {
            let (mapping, start) = arenas.find(self.offset)?;
            let offset = start + RING_DATA_OFFSET as usize + from as usize;
            mapping.copy_words(offset, (len / 8) as usize, &mut self.pending)
        };
        if copy(at, first_part).and_then(|()| copy(0, bytes - first_part)).is_none() {
            return 0;
        }
        header.tail.0.store(head, Ordering::Release);
        if header.waiting.swap(0, Ordering::AcqRel) != 0 {
            sys::futex_wake(header.tail.0.as_ptr().cast());
        }
        self.idle_checks = 0;
        bytes as usize
    }

    pub(crate) fn take_over(
        &mut self,
        header: &RingHeader,
        incarnation: u64,
        process: ProcessIndex,
        next_thread: &mut u32,
        news: &mut News,
    ) {
        let index = ThreadIndex(*next_thread);
        *next_thread += 1;
        self.incarnation = incarnation;
        self.thread = Some(index);
        self.tid = header.tid.load(Ordering::Relaxed);
        self.name = own_name(header);
        self.first_name = self.name.clone();
        let start_epoch = Epoch(header.start_epoch.load(Ordering::Relaxed));
        news.threads.push(ThreadInfo {
            index,
            process,
            tid: self.tid,
            handle: header.handle.load(Ordering::Relaxed),
            name: self.name.clone(),
            start_epoch,
        });
    }

    pub(crate) fn update_name(&mut self, pid: u32) {
        if let Ok(name) = std::fs::read_to_string(format!("/proc/{pid}/task/{}/comm", self.tid)) {
            self.name = name.trim_end_matches('\n').to_owned();
        }
    }

    /// The thread is gone and drained, but for words that were not handed on yet: they keep the ring busy.
    pub(crate) fn finish(&mut self, header: &RingHeader, epoch: Epoch, news: &mut News) {
        let drained = header.head.load(Ordering::Acquire) == header.tail.0.load(Ordering::Relaxed);
        let Some(thread) = self.thread else { return };
        if !self.pending.is_empty() || !drained {
            return;
        }
        self.thread = None;
        // What the thread itself said last is newer than what the kernel was asked.
        let own = own_name(header);
        if own != self.first_name {
            self.name = own;
        }
        let lost = header.lost_events.load(Ordering::Relaxed);
        let lost_events = lost - self.lost_before;
        self.lost_before = lost;
        news.thread_ends.push(ThreadEnd {
            index: thread,
            name: std::mem::take(&mut self.name),
            epoch,
            lost_events,
        });
        header.state.store(ring_state::FREE, Ordering::Release);
    }
}

pub(crate) fn own_name(header: &RingHeader) -> String {
    let name: Vec<u8> = header.name.iter().flat_map(|w| w.load(Ordering::Relaxed).to_le_bytes()).collect();
    String::from_utf8_lossy(name.split(|&b| b == 0).next().unwrap_or_default()).into_owned()
}

//! When threads begin and end.
//!
//! A thread is started by the one that created it. It ends where another thread joined it, or else where the collector
//! noticed that it was gone; one that was there until the process ended stays, since an allocator treats the caches of
//! threads that live differently from those that are gone.

use super::epochs::Number;
use heapwise_trace::event::Epoch;
use rustc_hash::FxHashMap;

/// What is known of a thread.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Life {
    pub(crate) handle: u64,
    /// Whether its first event was seen.
    pub(crate) began: bool,
    /// Whether another thread starts it.
    pub(crate) is_spawned: bool,
    /// Whether its first event came before the record of its creation, which is written when the creating call returns.
    is_early: bool,
    /// The epoch in which its end was waited for.
    pub(crate) joined: Option<Number>,
    /// When its end was noticed.
    pub(crate) ended: Option<Epoch>,
}

/// The threads of one process.
#[derive(Debug, Default)]
pub(crate) struct Threads {
    pub(crate) lives: Vec<Life>,
    /// Created and not yet seen: number of the creation by `pthread_t`.
    awaited: FxHashMap<u64, u32>,
    /// The last thread with a `pthread_t`.
    by_handle: FxHashMap<u64, usize>,
    /// The thread of each creation, once it was seen.
    pub(crate) created: Vec<Option<u32>>,
}

impl Threads {
    pub(crate) fn add(&mut self, handle: u64) -> usize {
        self.lives.push(Life { handle, ..Life::default() });
        self.lives.len() - 1
    }

    /// A thread has its first event.
    pub(crate) fn begin(&mut self, thread: usize) {
        let life = &mut self.lives[thread];
        life.began = true;
        self.by_handle.insert(life.handle, thread);
        if let Some(creation) = self.awaited.remove(&life.handle) {
            life.is_spawned = true;
            self.created[creation as usize] = Some(thread as u32);
        }
    }

    /// A thread creates another one: the number of the creation.
    pub(crate) fn create(&mut self, handle: u64) -> u32 {
        let creation = self.created.len() as u32;
        self.created.push(None);
        let running = self.by_handle.get(&handle).map(|&thread| &mut self.lives[thread]);
        if let Some(early) = running.filter(|life| life.is_early) {
            // Another thread has started it.
            early.is_early = false;
            return creation;
        }
        self.awaited.insert(handle, creation);
        self.by_handle.remove(&handle);
        creation
    }

    /// A thread begins that no thread is known to have created: the number of a creation for it.
    pub(crate) fn create_now(&mut self, thread: usize) -> u32 {
        self.lives[thread].is_spawned = true;
        self.lives[thread].is_early = true;
        self.created.push(Some(thread as u32));
        self.created.len() as u32 - 1
    }

    /// A thread has waited for the end of another one, which is returned unless it never did anything.
    pub(crate) fn join(&mut self, handle: u64, now: Number) -> Option<usize> {
        self.awaited.remove(&handle);
        let thread = self.by_handle.remove(&handle)?;
        self.lives[thread].joined = Some(now);
        Some(thread)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_creation_that_is_reported_late_is_that_of_the_thread_that_runs() {
        let mut threads = Threads::default();
        let [_, early, next] = [1, 7, 7].map(|handle| threads.add(handle));
        threads.begin(early);
        let started = threads.create_now(early);
        let reported = threads.create(7);
        assert_eq!((threads.created[started as usize], threads.created[reported as usize]), (Some(1), None));
        assert_eq!(threads.join(7, Number(1)), Some(early));
        // The next one has the handle of the first, and a creation in time.
        let creation = threads.create(7);
        threads.begin(next);
        assert_eq!(threads.created[creation as usize], Some(2));
        assert_eq!(threads.join(7, Number(2)), Some(next));
    }
}

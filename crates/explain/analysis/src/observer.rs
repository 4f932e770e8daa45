//! The interface through which other code follows the events.
//!
//! Putting the events of all threads in one order is most of what an analysis is, and a replay needs the same order. So
//! the analysis lets an observer see each event in its turn, instead of keeping them.

use crate::units::Nanos;
use heapwise_trace::event::{Epoch, Event};
use heapwise_trace::file::pages::Snapshot;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moment {
    /// The clock of the session.
    pub epoch: Epoch,
    /// Since the command was started.
    pub time: Nanos,
}

/// Receives what a recording holds, in the order that was found for it. Threads and processes are named by their places in
/// [`Analysis::threads`](crate::Analysis::threads) and [`Analysis::processes`](crate::Analysis::processes). Whoever does not care
/// for something leaves its method out.
#[expect(unused_variables, reason = "the defaults do nothing, and the names say what an observer gets")]
pub trait Observer {
    /// A thread of a process is known; `handle` is its `pthread_t`.
    fn thread(&mut self, thread: usize, process: usize, handle: u64) {}

    /// Events of a thread happened, none of them an [`Event::Epoch`]. What is impossible in this order, such as a free
    /// of an unknown block, is passed on when nothing else is possible any more.
    fn events(&mut self, at: Moment, thread: usize, events: &[Event]) {}

    /// A thread was found to be gone at this epoch. Its last events may be passed on later.
    fn thread_ended(&mut self, thread: usize, epoch: Epoch) {}

    /// A process was found to be gone at this epoch. Its last events may be passed on later.
    fn process_ended(&mut self, process: usize, epoch: Epoch) {}

    /// The pages of a process were measured. Reported before the events of that moment.
    fn snapshot(&mut self, process: usize, snapshot: &Snapshot) {}
}

impl Observer for () {}

impl<O: Observer> Observer for Option<&mut O> {
    fn thread(&mut self, thread: usize, process: usize, handle: u64) {
        self.iter_mut().for_each(|o| o.thread(thread, process, handle));
    }
    fn events(&mut self, at: Moment, thread: usize, events: &[Event]) {
        self.iter_mut().for_each(|o| o.events(at, thread, events));
    }
    fn thread_ended(&mut self, thread: usize, epoch: Epoch) {
        self.iter_mut().for_each(|o| o.thread_ended(thread, epoch));
    }
    fn process_ended(&mut self, process: usize, epoch: Epoch) {
        self.iter_mut().for_each(|o| o.process_ended(process, epoch));
    }
    fn snapshot(&mut self, process: usize, snapshot: &Snapshot) {
        self.iter_mut().for_each(|o| o.snapshot(process, snapshot));
    }
}

//! One order for the events of all threads.
//!
//! Every event has an epoch, a reading of one clock that all threads of the session share. The reading of an
//! allocation was taken after the allocator returned, that of a free before the allocator was called, so an address
//! that went from one thread to another has ascending epochs: going through the epochs one after another is right.
//! Within an epoch the rule is that an address is handed out and taken back alternately.
//!
//! A section holds all events that were published before the clock said its *watermark*. Threads are drained one
//! after another, so an event with a later epoch may be here while one that came before it is in the next section:
//! such events wait.

mod decoder;
mod patience;
mod sequencer;
mod stream;

pub(crate) use sequencer::Sequencer;

#[cfg(test)]
mod tests;

//! How far a connection is: by when it has to be over, and which place it has.

use std::cell::Cell;
use std::time::Duration;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::{Instant, sleep};

/// Time for an answer to be made and read.
const ANSWER: Duration = Duration::from_secs(60);

/// Of one connection.
pub(super) struct Turn<'a> {
    /// When it is over, whatever it does.
    deadline: Cell<Instant>,
    /// What it has one of, from its request to its end.
    place: Cell<Option<SemaphorePermit<'a>>>,
    is_waiting: Cell<bool>,
}

impl<'a> Turn<'a> {
    /// Of a connection that has so much time for its request.
    pub(super) fn new(patience: Duration) -> Self {
        let deadline = Cell::new(Instant::now() + patience);
        Self { deadline, place: Cell::default(), is_waiting: Cell::new(false) }
    }

    /// Exchanges its place for one of these; `false` if there is none.
    pub(super) fn take(&self, places: &'a Semaphore) -> bool {
        let place = places.try_acquire().ok();
        let has_place = place.is_some();
        self.place.set(place);
        has_place
    }

    /// Waits, unless the other side leaves: then this never returns.
    pub(super) async fn wait(&self, time: Duration) {
        self.deadline.set(Instant::now() + time + ANSWER);
        self.is_waiting.set(true);
        sleep(time).await;
        self.is_waiting.set(false);
        self.renew();
    }

    pub(super) fn deadline(&self) -> Instant {
        self.deadline.get()
    }

    /// Whether it waits, and not the other side.
    pub(super) fn is_waiting(&self) -> bool {
        self.is_waiting.get()
    }

    /// The next step begins: an answer is to be made, or is made and to be read.
    pub(super) fn renew(&self) {
        self.deadline.set(Instant::now() + ANSWER);
    }
}

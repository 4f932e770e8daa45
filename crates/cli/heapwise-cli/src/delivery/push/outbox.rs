//! What waits to be sent, and the thread that sends it.
//!
//! The oldest message goes first. If the server does not take it, it is tried again after a while that doubles each time, with some chance
//! in it, so that the programs of a fleet do not come back all at once.

use super::api::Api;
use super::server::{Answer, Server};
use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// As much may wait.
const MOST: Bounds = Bounds { messages: 1000, bytes: 64 << 20 };
const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(60);
/// How long what waits is still sent when the recording has ended.
const AT_THE_END: Duration = Duration::from_secs(5);

#[derive(Clone, Copy, Debug)]
struct Bounds {
    messages: usize,
    bytes: usize,
}

/// Messages for one server.
pub(super) struct Outbox {
    shared: Arc<Shared>,
}

struct Shared {
    server: Server,
    api: &'static dyn Api,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    waiting: Waiting,
    sent: u64,
    sent_bytes: u64,
    /// Refused, or without a place.
    dropped: u64,
    /// When what waits is given up.
    deadline: Option<Instant>,
    is_over: bool,
}

impl Outbox {
    /// Starts the thread.
    pub(super) fn new(server: Server, api: &'static dyn Api) -> io::Result<Self> {
        let shared = Arc::new(Shared { server, api, state: Mutex::default(), changed: Condvar::new() });
        let sender = Arc::clone(&shared);
        std::thread::Builder::new().name("heapwise-push".to_owned()).spawn(move || {
            heapwise_collector::yield_to_others();
            sender.work();
            sender.lock().is_over = true;
            sender.changed.notify_all();
        })?;
        Ok(Self { shared })
    }

    /// Adds a message. The oldest ones make room for it.
    pub(super) fn put(&self, body: Vec<u8>) {
        let mut state = self.shared.lock();
        let dropped = state.waiting.push(body, MOST);
        state.dropped += dropped;
        drop(state);
        self.shared.changed.notify_all();
    }

    /// Sends what waits, for some seconds, and says what became of all.
    pub(super) fn end(self) {
        let mut state = self.shared.lock();
        let deadline = Instant::now() + AT_THE_END;
        state.deadline = Some(deadline);
        self.shared.changed.notify_all();
        while !state.is_over && Instant::now() < deadline {
            let left = deadline.saturating_duration_since(Instant::now());
            state = self.shared.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        // One that is on its way may arrive yet, but who knows.
        let lost = state.dropped + state.waiting.len() as u64 + u64::from(state.waiting.is_one_out);
        let (sent, server) = (state.sent, self.shared.server.name());
        heapwise_report::note!(
            "heapwise: {sent} profile(s) pushed to {server} ({})",
            heapwise_report::units::bytes(state.sent_bytes)
        );
        if lost > 0 {
            heapwise_report::say!(
                "heapwise: warning: {lost} profile(s) were not taken by {server}, and are lost there"
            );
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends until there is nothing left after the end.
    fn work(&self) {
        let mut backoff = Backoff::default();
        let mut said = String::new();
        while let Some(body) = self.next() {
            match self.server.send(self.api, &body) {
                Answer::Taken => {
                    let is_back = backoff.is_waiting();
                    (backoff, said) = (Backoff::default(), String::new());
                    let mut state = self.lock();
                    if is_back {
                        let (name, dropped) = (self.server.name(), state.dropped);
                        heapwise_report::say!(
                            "heapwise: {name} takes profiles again; {dropped} did not arrive so far"
                        );
                    }
                    state.sent += 1;
                    state.sent_bytes += body.len() as u64;
                    state.waiting.is_one_out = false;
                }
                Answer::Refused(why) => {
                    if why != said {
                        heapwise_report::say!(
                            "heapwise: warning: a profile is refused by {}: {why}",
                            self.server.name()
                        );
                        said = why;
                    }
                    let mut state = self.lock();
                    state.dropped += 1;
                    state.waiting.is_one_out = false;
                }
                Answer::Later(why, asked) => {
                    if why != said {
                        heapwise_report::say!(
                            "heapwise: warning: no profile can be pushed to {}: {why}; it is tried again",
                            self.server.name()
                        );
                        said = why;
                    }
                    let mut state = self.lock();
                    let dropped = state.waiting.put_back(body, MOST);
                    state.dropped += dropped;
                    drop(state);
                    self.wait(backoff.next(asked, fastrand::f64()));
                }
            }
        }
    }

    /// The next message; none after the end.
    fn next(&self) -> Option<Vec<u8>> {
        let mut state = self.lock();
        loop {
            if state.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                return None;
            }
            if let Some(body) = state.waiting.pop() {
                return Some(body);
            }
            if state.deadline.is_some() {
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Waits. When the recording ends it returns at once, and then waits little, for there are a few tries left.
    fn wait(&self, time: Duration) {
        let mut state = self.lock();
        let had_ended = state.deadline.is_some();
        let until = Instant::now() + if had_ended { time.min(FIRST_WAIT) } else { time };
        while state.deadline.is_some() == had_ended {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// Messages in their order.
#[derive(Debug, Default)]
struct Waiting {
    messages: VecDeque<Vec<u8>>,
    bytes: usize,
    /// Whether one is being sent.
    is_one_out: bool,
}

impl Waiting {
    fn len(&self) -> usize {
        self.messages.len()
    }

    /// Adds one at the end. Returns how many had to make room.
    fn push(&mut self, body: Vec<u8>, most: Bounds) -> u64 {
        self.bytes += body.len();
        self.messages.push_back(body);
        self.make_room(most)
    }

    /// Takes the oldest one out, to be sent.
    fn pop(&mut self) -> Option<Vec<u8>> {
        let body = self.messages.pop_front()?;
        self.bytes -= body.len();
        self.is_one_out = true;
        Some(body)
    }

    /// The one that was taken out stays the oldest one. Returns how many had to make room, itself first.
    fn put_back(&mut self, body: Vec<u8>, most: Bounds) -> u64 {
        self.is_one_out = false;
        self.bytes += body.len();
        self.messages.push_front(body);
        self.make_room(most)
    }

    fn make_room(&mut self, most: Bounds) -> u64 {
        let mut dropped = 0;
        while self.messages.len() > most.messages || self.bytes > most.bytes {
            let Some(body) = self.messages.pop_front() else { break };
            self.bytes -= body.len();
            dropped += 1;
        }
        dropped
    }
}

/// How long to wait after tries that failed.
#[derive(Debug, Default)]
struct Backoff {
    tries: u32,
}

impl Backoff {
    fn is_waiting(&self) -> bool {
        self.tries > 0
    }

    /// The next wait: what the server asks for, or twice as long as before. `chance`, from 0 to 1, adds up to a half.
    fn next(&mut self, asked: Option<Duration>, chance: f64) -> Duration {
        let wait = FIRST_WAIT.saturating_mul(1 << self.tries.min(16)).min(LONGEST_WAIT);
        self.tries += 1;
        asked.unwrap_or_default().max(wait).mul_f64(1.0 + chance.clamp(0.0, 1.0) / 2.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_make_room_and_nothing_is_forgotten() {
        let most = Bounds { messages: 3, bytes: 100 };
        let mut waiting = Waiting::default();
        let dropped: u64 = (0..5).map(|at| waiting.push(vec![at; 10], most)).sum();
        assert_eq!((dropped, waiting.len(), waiting.bytes), (2, 3, 30));
        let out = waiting.pop().expect("the oldest one");
        assert_eq!(out, [2; 10]);
        assert_eq!(waiting.push(vec![5; 10], most), 0);
        assert_eq!(waiting.put_back(out, most), 1, "it is the oldest one itself");
        assert_eq!(waiting.pop().expect("the next one"), [3; 10]);
        assert_eq!(waiting.push(vec![6; 90], most), 1, "bytes are bounded, too");
        assert_eq!((waiting.len(), waiting.bytes), (2, 100));
        assert_eq!(waiting.push(vec![7; 101], most), 3, "one that is too large has no place at all");
        assert_eq!((waiting.len(), waiting.bytes), (0, 0));
    }

    #[test]
    fn each_wait_is_twice_the_one_before_up_to_a_minute() {
        let mut backoff = Backoff::default();
        let seconds: Vec<_> = (0..8).map(|_| backoff.next(None, 0.0).as_secs()).collect();
        assert_eq!(seconds, [1, 2, 4, 8, 16, 32, 60, 60]);
        assert_eq!(backoff.next(Some(Duration::from_secs(100)), 1.0), Duration::from_secs(150));
    }
}

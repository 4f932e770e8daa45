//! A hint for a user who waits: the first run has no time limit, and a server that was not declared as one never ends.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// Programs that are worth comparing may take this long, but then the user knows.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

/// Says something after a while, unless it is dropped before.
#[derive(Debug)]
pub(super) struct Hint {
    /// Nothing is sent: the other side notices when it is gone.
    _alive: Sender<()>,
}

impl Hint {
    pub(super) fn new(after: Duration, say: impl FnOnce() + Send + 'static) -> Self {
        let (alive, dropped) = channel();
        std::thread::spawn(move || {
            if dropped.recv_timeout(after) == Err(RecvTimeoutError::Timeout) {
                say();
            }
        });
        Self { _alive: alive }
    }
}

pub(super) fn say() {
    heapwise_report::say!(
        "heapwise: the first run takes more than a minute; if the program is a server, which does not end by itself, press \
         Ctrl-C and use --ready and --load; --timeout ends what takes too long"
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_said_only_to_those_who_wait() {
        let (say, said) = channel();
        let patient = say.clone();
        drop(Hint::new(Duration::from_secs(3600), move || patient.send("too early").unwrap()));
        let hint = Hint::new(Duration::from_millis(20), move || say.send("now").unwrap());
        assert_eq!(said.recv_timeout(Duration::from_secs(30)), Ok("now"));
        drop(hint);
        // No sender is left.
        assert_eq!(said.recv_timeout(Duration::from_secs(30)), Err(RecvTimeoutError::Disconnected));
    }
}

//! A process that is certainly ended and waited for.

use super::sys::{self, Usage};
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

/// How often a process is looked at that is waited for.
const LOOK: Duration = Duration::from_micros(200);

/// A process in a separate process group: an interrupt from the terminal reaches only heapwise, and the whole group can be ended.
#[derive(Debug)]
pub struct Child {
    child: std::process::Child,
    ended: Option<Ended>,
}

/// How a process ended, and what it used.
#[derive(Clone, Copy, Debug)]
pub struct Ended {
    pub status: ExitStatus,
    /// What it used, with the children that it waited for.
    pub usage: Usage,
}

impl Child {
    /// Starts it.
    ///
    /// # Errors
    /// The system's.
    pub fn start(command: &mut Command) -> io::Result<Self> {
        Ok(Self { child: command.process_group(0).spawn()?, ended: None })
    }

    pub fn id(&self) -> i32 {
        self.child.id().cast_signed()
    }

    /// How it ended, if it did.
    pub fn poll(&mut self) -> Option<Ended> {
        if self.ended.is_none() {
            self.ended = match sys::wait4(self.id(), libc::WNOHANG) {
                Ok(ended) => {
                    ended.map(|(status, usage)| Ended { status: ExitStatus::from_raw(status), usage })
                }
                // It was waited for already, which no code of heapwise does.
                Err(_) => Some(Ended { status: ExitStatus::from_raw(0), usage: Usage::default() }),
            };
        }
        self.ended
    }

    /// Waits for its end.
    pub fn wait(&mut self) -> Ended {
        loop {
            if let Some(ended) = self.poll() {
                return ended;
            }
            std::thread::sleep(LOOK);
        }
    }

    /// The same for so long at most.
    pub fn wait_within(&mut self, patience: Duration) -> Option<Ended> {
        let began = Instant::now();
        while self.poll().is_none() && began.elapsed() < patience {
            std::thread::sleep(LOOK);
        }
        self.poll()
    }

    /// Ends it with all that it started, unless it has ended itself.
    pub fn kill(&mut self) {
        if self.poll().is_none() {
            sys::kill_group(self.id(), sys::Signal::KILL);
            self.wait();
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.kill();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_comes_with_what_was_used_and_stays_known() {
        let mut child = Child::start(Command::new("sh").args(["-c", "exit 7"])).unwrap();
        let ended = child.wait();
        assert_eq!(ended.status.code(), Some(7));
        assert!(ended.usage.max_rss_bytes > 0 && ended.usage.minor_faults > 0, "{ended:?}");
        assert_eq!(child.wait_within(Duration::ZERO).map(|ended| ended.status.code()), Some(Some(7)));
    }

    #[test]
    fn who_is_dropped_is_ended_with_all_that_it_started() {
        let (mut reader, writer) = io::pipe().unwrap();
        let mut command = Command::new("sh");
        let mut child = Child::start(command.args(["-c", "sleep 60 & wait"]).stdout(writer)).unwrap();
        assert!(child.wait_within(Duration::from_millis(20)).is_none());
        drop((child, command));
        // The pipe is open as long as one of them has it.
        let began = Instant::now();
        io::Read::read_to_end(&mut reader, &mut Vec::new()).unwrap();
        assert!(began.elapsed() < Duration::from_secs(30));
    }
}

//! A thread of ours that stops the threads of a process, and ends so that they go on.
//!
//! When a thread ends, the kernel lets all go at once that it has traced. One by one, each that goes on wants the processor before the
//! next one is let go: with sixty of them on two processors, they stood still for longer than all took that was done meanwhile.

use super::Refused;
use nix::unistd::{Pid, gettid};
use std::marker::PhantomData;
use std::panic::resume_unwind;
use std::path::PathBuf;
use std::thread::{Builder, Scope, ScopedJoinHandle};
use std::time::{Duration, Instant};

/// How often is looked whether the thread is gone, and for how long.
const STEP: Duration = Duration::from_micros(50);
const PATIENCE: Duration = Duration::from_secs(2);

/// That the thread at work is such a one. It stays there.
#[derive(Debug)]
pub(super) struct Tracer {
    stays: PhantomData<*const ()>,
}

/// What such a thread does.
#[derive(Debug)]
pub(super) struct Tracing<'scope, T>(ScopedJoinHandle<'scope, (Pid, T, Duration)>);

impl<'scope, T: Send + 'scope> Tracing<'scope, T> {
    /// Begins it.
    pub(super) fn start(
        scope: &'scope Scope<'scope, '_>,
        work: impl FnOnce(Tracer) -> T + Send + 'scope,
    ) -> Result<Self, Refused> {
        let run = move || {
            let since = Instant::now();
            let result = work(Tracer { stays: PhantomData });
            (gettid(), result, since.elapsed())
        };
        let thread = Builder::new().name("tracer".into()).spawn_scoped(scope, run);
        thread.map(Self).map_err(|error| Refused::System("start a thread", error))
    }

    /// Waits until all that was traced goes on. Returns what came of it, and how long it stood still: until the thread's end, which takes
    /// another tenth of a millisecond. When the caller hears of that, it may have waited for its turn behind those that go on.
    pub(super) fn end(self) -> (T, Duration) {
        let (id, result, stop) = self.0.join().unwrap_or_else(|panic| resume_unwind(panic));
        // A thread is taken for ended before it lets go what it has traced.
        let thread = PathBuf::from(format!("/proc/self/task/{id}"));
        let until = Instant::now() + PATIENCE;
        while thread.exists() && Instant::now() < until {
            std::thread::sleep(STEP);
        }
        (result, stop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inject::threads::Threads;
    use std::process::{Child, Command};

    fn tracer_of(child: &Child) -> String {
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).expect("it runs");
        let line = status.lines().find_map(|line| line.strip_prefix("TracerPid:"));
        line.expect("the kernel says it").trim().to_owned()
    }

    #[test]
    fn a_process_goes_on_when_the_thread_has_ended() {
        let mut child = Command::new("sleep").arg("60").spawn().expect("sleep is there");
        let stop = |tracer| Threads::stop(tracer, child.id()).map(|_stopped| tracer_of(&child));
        let during = std::thread::scope(|scope| {
            Tracing::start(scope, stop).expect("a thread").end().0.expect("it is ours")
        });
        let after = tracer_of(&child);
        child.kill().expect("it runs");
        child.wait().expect("it ends");
        assert_eq!((during == "0", after.as_str()), (false, "0"));
    }
}

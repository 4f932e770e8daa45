//! Tasks of an asynchronous runtime: its threads take work from each other, or each thread has its own runtime.
//!
//! A task of a connection allocates what it has read and hands it to a task of the request, as servers do. Where threads steal work,
//! the second task may run on another thread than the first, and frees there.

use super::Workload;
use crate::lab::worker::Stopwatch;
use crate::statistics::random::Random;
use std::hint::black_box;
use std::thread::{self, ThreadId};
use tokio::runtime::Builder;
use tokio::task::yield_now;

pub(super) const TASKS: &dyn Workload = &Tasks;

struct Tasks;

/// Connections of each thread.
const CONNECTIONS: u64 = 16;
/// Sizes of what is read.
const SIZES: [usize; 4] = [512, 1024, 4096, 8192];

impl Workload for Tasks {
    fn name(&self) -> &'static str {
        "tasks"
    }

    fn about(&self) -> &'static str {
        "requests of connections, as tasks of tokio"
    }

    fn unit(&self) -> &'static str {
        "requests of each connection"
    }

    /// The numbers are requests of a connection, threads, and whether threads steal work (1) or have a runtime each (0).
    ///
    /// # Panics
    ///
    /// If no thread can be started: there is nothing to measure then.
    fn run(&self, numbers: &[u64], watch: &mut Stopwatch) -> u64 {
        let number = |at: usize, usual| numbers.get(at).copied().unwrap_or(usual);
        let (requests, threads) = (number(0, 1), number(1, 8).max(1));
        watch.counts(requests.saturating_mul(CONNECTIONS).saturating_mul(threads));
        watch.moment("baseline");
        let done = match number(2, 0) {
            0 => alone(requests, threads),
            _ => stealing(requests, threads),
        };
        watch.moment("full");
        watch.moment("dropped");
        watch.measured("remote_frees", done.remote);
        done.checksum
    }
}

/// What tasks have done.
#[derive(Clone, Copy, Debug, Default)]
struct Done {
    checksum: u64,
    /// Blocks that another thread has freed than the one that has allocated them.
    remote: u64,
}

impl Done {
    fn and(self, other: Self) -> Self {
        Self { checksum: self.checksum.wrapping_add(other.checksum), remote: self.remote + other.remote }
    }
}

/// One runtime of many threads.
fn stealing(requests: u64, threads: u64) -> Done {
    let runtime = Builder::new_multi_thread().worker_threads(threads as usize).build();
    let runtime = runtime.unwrap_or_else(|error| panic!("no runtime: {error}"));
    runtime.block_on(all(0..threads * CONNECTIONS, requests))
}

/// A runtime for each thread.
fn alone(requests: u64, threads: u64) -> Done {
    let thread = |thread: u64| {
        let runtime = Builder::new_current_thread().build();
        let runtime = runtime.unwrap_or_else(|error| panic!("no runtime: {error}"));
        runtime.block_on(all(thread * CONNECTIONS..(thread + 1) * CONNECTIONS, requests))
    };
    thread::scope(|scope| {
        let handles: Vec<_> = (0..threads).map(|one| scope.spawn(move || thread(one))).collect();
        let joined = handles.into_iter().map(|handle| handle.join().expect("a thread ends"));
        joined.fold(Done::default(), Done::and)
    })
}

async fn all(connections: std::ops::Range<u64>, requests: u64) -> Done {
    let tasks: Vec<_> = connections.map(|one| tokio::spawn(connection(one, requests))).collect();
    let mut done = Done::default();
    for task in tasks {
        done = done.and(task.await.expect("a connection ends"));
    }
    done
}

async fn connection(number: u64, requests: u64) -> Done {
    let mut random = Random::new(31_337 + number);
    let mut done = Done::default();
    for _ in 0..requests {
        let mut read = vec![0_u8; SIZES[random.below(SIZES.len() as u64) as usize]];
        black_box(&mut read)[0] = random.below(256) as u8;
        let request = tokio::spawn(request(read, thread::current().id()));
        done = done.and(request.await.expect("a request ends"));
    }
    done
}

/// Answers a request, and frees what was read.
async fn request(read: Vec<u8>, allocated_by: ThreadId) -> Done {
    yield_now().await;
    let checksum = read.len() as u64 + u64::from(black_box(&read)[0]);
    drop(read);
    Done { checksum, remote: u64::from(thread::current().id() != allocated_by) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_with_its_own_runtime_frees_what_it_has_allocated() {
        assert_eq!(alone(50, 2).remote, 0);
        assert_eq!(alone(50, 2).checksum, stealing(50, 2).checksum);
    }
}

//! The program's own heap profile over HTTP, for `go tool pprof`, and metrics for Prometheus.
//!
//! One line begins it, at the beginning of `main`, in a program that has [`Allocator`](crate::Allocator):
//!
//! ```
//! #[global_allocator]
//! static ALLOCATOR: heapwise::Allocator = heapwise::Allocator::system();
//!
//! fn main() -> std::io::Result<()> {
//!     let _server = heapwise::serve::start("127.0.0.1:0")?;
//!     println!("{}", "what the program does".to_uppercase());
//!     Ok(())
//! }
//! ```
//!
//! With the port 6061 instead of 0, which is any that is free:
//!
//! ```text
//! go tool pprof -top http://127.0.0.1:6061/debug/pprof/heap               what is live, by function
//! go tool pprof -http :8080 http://127.0.0.1:6061/debug/pprof/allocs      what was allocated, in a browser
//! go tool pprof -top http://127.0.0.1:6061/debug/pprof/heap?seconds=30    what 30 seconds changed
//! curl http://127.0.0.1:6061/metrics                                      numbers for Prometheus
//! ```
//!
//! # What the numbers are
//!
//! They are estimates from a *sample* of the blocks: one for every 512 KiB that are allocated. A block is in it with a probability that its
//! size alone decides, and stands for as many as that says, so sums are right on average, and a block of more than 256 KiB is always in it. A
//! place with 16 samples is within half of the truth, one with 1,000 within 6 %. `/metrics` has the standard errors of the totals.
//!
//! - Blocks from before [`start`] are not in it, nor what C code allocates without Rust's allocator.
//! - A block that is resized counts as freed and allocated anew.
//! - Names come from the program's debug information: a release build needs `debug = "limited"`, or at least `"line-tables-only"`, with which names
//!   lack their modules. They are looked up at a request, and kept.
//!
//! # Who is answered
//!
//! Every user of the same machine, so there is nothing in it but the names of functions and files and numbers; neither the command line nor
//! variables. Pages of other sites in a browser are refused. An address that other machines reach needs [`Options::allow_remote`].
//!
//! # What it costs
//!
//! 2.9 ns for a pair of an allocation and its end, of 9.2; docs/serve.md in the repository has the measurement. Two threads look after it: one wakes once a
//! second, the other one sleeps until there is a request. Where it is not started, there is nothing.

mod connections;
mod guard;
mod metrics;
mod names;
mod pages;
mod pprof;
mod text;
mod turn;

use crate::sampled::{HOOKS, SAMPLING};
use crate::state::Use;
use crate::tally::{self, Ignore};
use crate::{record, state};
use heapwise_portable::profile::{self, Collector, Profile};
use heapwise_portable::{Busy, spawn};
use heapwise_trace::sampling::DEFAULT_SAMPLE_BYTES;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr, TcpListener, ToSocketAddrs};
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread::JoinHandle;
use tokio::runtime::Runtime;
use tokio::sync::{Notify, Semaphore};

/// The least distance of sampled blocks. Below it, a thread would write down stacks most of its time.
const LEAST_SAMPLE_BYTES: u64 = 1 << 10;

/// Begins to sample the heap and to serve profiles of it at an address of this machine, such as `127.0.0.1:6061`, until the returned
/// value is dropped.
///
/// # Errors
/// As [`Options::start`].
pub fn start(address: impl ToSocketAddrs) -> io::Result<Server> {
    Options::new().start(address)
}

/// What can be chosen.
///
/// ```
/// # use heapwise_installed as _;
/// # fn main() -> std::io::Result<()> {
/// let server = heapwise::serve::Options::new().sample_every_bytes(64 << 10).start("127.0.0.1:0")?;
/// println!("http://{}/debug/pprof/heap", server.address());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Options {
    sample_bytes: u64,
    may_be_remote: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self::new()
    }
}

impl Options {
    /// One block for every 512 KiB, at an address of this machine only.
    #[must_use]
    pub const fn new() -> Self {
        Self { sample_bytes: DEFAULT_SAMPLE_BYTES, may_be_remote: false }
    }

    /// At most how many bytes lie between two sampled blocks on average: rounded up to a power of two, at least 1 KiB and at most
    /// 1 GiB. A quarter of it halves the errors and costs four times as much.
    #[must_use]
    pub const fn sample_every_bytes(mut self, bytes: u64) -> Self {
        self.sample_bytes = if bytes < LEAST_SAMPLE_BYTES { LEAST_SAMPLE_BYTES } else { bytes };
        self
    }

    /// Lets it listen at an address that other machines reach, such as `0.0.0.0:6061`. Whoever reaches it is answered, whatever name he
    /// asks for: something else has to keep others away, such as a firewall or a proxy that asks for a password.
    #[must_use]
    pub const fn allow_remote(mut self) -> Self {
        self.may_be_remote = true;
        self
    }

    /// Begins, as [`start`] does.
    ///
    /// # Errors
    /// The address is in use, is none, or is not a loopback address and [`allow_remote`](Self::allow_remote) was not called;
    /// [`Allocator`](crate::Allocator) is not the global allocator; this program has such a server already, or records itself
    /// by a sample; or it was forked from one that has a server.
    pub fn start(&self, address: impl ToSocketAddrs) -> io::Result<Server> {
        // What heapwise allocates for it is not the program's.
        let (_ignore, _unrecorded) = (Ignore::begin(), record::exclude_this_thread());
        let _unsampled = Busy::enter();
        profile::may_begin()?;
        is_installed()?;
        let addresses = self.permitted(address)?;
        let listener = TcpListener::bind(&addresses[..]).map_err(|error| {
            let places: Vec<_> = addresses.iter().map(ToString::to_string).collect();
            io::Error::new(error.kind(), format!("cannot listen at {}: {error}", places.join(" or ")))
        })?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let stop = Arc::new(Notify::new());
        let (is_dropped, only_here) = (Arc::clone(&stop), address.ip().to_canonical().is_loopback());
        let (sample_bytes, (began, has_begun)) = (self.sample_bytes, channel());
        let thread = spawn("heapwise-serve", move || {
            let (_ignore, _unrecorded) = (Ignore::begin(), record::exclude_this_thread());
            let outcome = begin(sample_bytes).map(|(runtime, profile)| {
                let _ = began.send(());
                connections::serve(&runtime, listener, profile, only_here, &is_dropped);
            });
            drop(began);
            outcome
        })?;
        if has_begun.recv().is_err() {
            // It is over, so the address is free again.
            let outcome = thread
                .join()
                .unwrap_or_else(|_| Err(io::Error::other("the thread that serves has panicked")));
            return Err(outcome.err().unwrap_or_else(|| io::Error::other("the thread that serves is gone")));
        }
        Ok(Server { address, stop, thread: Some(thread), process: std::process::id() })
    }

    fn permitted(&self, address: impl ToSocketAddrs) -> io::Result<Vec<SocketAddr>> {
        let addresses: Vec<SocketAddr> = address.to_socket_addrs()?.collect();
        if addresses.is_empty() {
            return Err(io::Error::new(ErrorKind::AddrNotAvailable, "there is no address to listen at"));
        }
        let is_reached_by_others = |ip: IpAddr| !ip.to_canonical().is_loopback();
        match addresses.iter().find(|address| is_reached_by_others(address.ip())) {
            Some(address) if !self.may_be_remote => Err(io::Error::new(
                ErrorKind::PermissionDenied,
                format!(
                    "{address} is reached from other machines, and whoever reaches it could read the profile; listen at 127.0.0.1, \
                     or call Options::allow_remote"
                ),
            )),
            _ => Ok(addresses),
        }
    }
}

fn is_installed() -> io::Result<()> {
    let _use = Use::counting();
    let not_installed = || io::Error::other(format!("nothing can be profiled: {}", tally::NOT_INSTALLED));
    tally::is_installed().then_some(()).ok_or_else(not_installed)
}

/// What the thread that serves needs. It is made there: a runtime must not end on a thread of another one, such as the caller's.
fn begin(sample_bytes: u64) -> io::Result<(Runtime, Profile)> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let profile = profile::begin(sample_bytes, &HOOKS, || state::set(SAMPLING), collect)?;
    Ok((runtime, profile))
}

/// The thread that adds up what others note.
fn collect(collector: Collector) -> io::Result<()> {
    let run = move || {
        let (_ignore, _unrecorded) = (Ignore::begin(), record::exclude_this_thread());
        collector.run();
    };
    spawn("heapwise-profile", run).map(drop)
}

/// Serves profiles and samples the heap as long as it lives. In a forked child it does nothing.
#[derive(Debug)]
#[must_use = "it ends when this is dropped"]
pub struct Server {
    address: SocketAddr,
    stop: Arc<Notify>,
    thread: Option<JoinHandle<io::Result<()>>>,
    process: u32,
}

impl Server {
    /// Where it listens. The port is known, also if 0 was asked for.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let Some(thread) = self.thread.take() else { return };
        if self.process != std::process::id() {
            // The thread is not in this process.
            std::mem::forget(thread);
            return;
        }
        self.stop.notify_one();
        // It has reported its panic.
        let _ = thread.join();
    }
}

/// What all answers are made of.
#[derive(Debug)]
struct Served {
    profile: Profile,
    names: names::Names,
    /// Other machines do not reach it.
    only_here: bool,
    /// Places for requests that are answered.
    answers: Semaphore,
    /// Places for those that wait for what some seconds change.
    differences: Semaphore,
    /// Places for texts, which are large: each until it has been read.
    texts: Semaphore,
}

//! The thread that answers: a few connections at a time, one request each, and for each a time by which it is over.

use super::{Served, names, pages};
use heapwise_portable::profile::Profile;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::cell::Cell;
use std::convert::Infallible;
use std::net::TcpListener;
use std::pin::pin;
use std::rc::Rc;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio::sync::Notify;
use tokio::task::LocalSet;
use tokio::time::{Instant, sleep, timeout_at};

/// Connections that get answers. Others get the answer that there are too many.
const MOST_SERVED: usize = 16;
/// Connections that there are. Others are closed at once.
const MOST: usize = 64;
/// Bytes of a request: its line and its headers. What comes behind them is not read.
const MOST_REQUEST_BYTES: usize = 16 << 10;
/// Time for a request to arrive.
const PATIENCE: Duration = Duration::from_secs(5);
/// Time for an answer to be made and read.
pub(super) const ANSWER: Duration = Duration::from_secs(60);

/// Answers until `stop` is notified.
pub(super) fn serve(
    runtime: &Runtime,
    listener: TcpListener,
    profile: Profile,
    only_here: bool,
    stop: &Notify,
) {
    let local = LocalSet::new();
    let served = Rc::new(Served { profile, names: names::Names::default(), only_here });
    local.block_on(runtime, async {
        tokio::task::spawn_local(accept(listener, served));
        stop.notified().await;
    });
    // The profile ends with the last task.
}

async fn accept(listener: TcpListener, served: Rc<Served>) {
    let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
    let count = Rc::new(Cell::new(0));
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            // The program may be out of file descriptors for a while.
            sleep(Duration::from_millis(100)).await;
            continue;
        };
        if count.get() < MOST {
            let one = Counted::new(&count);
            tokio::task::spawn_local(connection(stream, Rc::clone(&served), one));
        }
    }
}

/// A connection of those that are counted.
struct Counted {
    count: Rc<Cell<usize>>,
    has_place: bool,
}

impl Counted {
    fn new(count: &Rc<Cell<usize>>) -> Self {
        let before = count.replace(count.get() + 1);
        Self { count: Rc::clone(count), has_place: before < MOST_SERVED }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.count.set(self.count.get() - 1);
    }
}

async fn connection(stream: TcpStream, served: Rc<Served>, counted: Counted) {
    let deadline = Rc::new(Cell::new(Instant::now() + PATIENCE));
    let service = service_fn(|request| {
        let (served, deadline) = (Rc::clone(&served), Rc::clone(&deadline));
        let has_place = counted.has_place;
        async move {
            deadline.set(Instant::now() + ANSWER);
            let extend = |by| deadline.set(Instant::now() + by + ANSWER);
            let answer =
                if has_place { pages::answer(&served, &request, extend).await } else { pages::busy() };
            deadline.set(Instant::now() + ANSWER);
            Ok::<_, Infallible>(answer)
        }
    });
    let mut builder = http1::Builder::new();
    builder
        .keep_alive(false)
        .max_buf_size(MOST_REQUEST_BYTES)
        .timer(TokioTimer::new())
        .header_read_timeout(PATIENCE);
    let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), service));
    while timeout_at(deadline.get(), connection.as_mut()).await.is_err() && deadline.get() > Instant::now() {}
}

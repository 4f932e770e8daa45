//! The thread that answers: a few connections at a time, one request each, and for each a time by which it is over.

use super::turn::Turn;
use super::{Served, names, pages};
use heapwise_portable::profile::Profile;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::cell::Cell;
use std::convert::Infallible;
use std::io;
use std::net::TcpListener;
use std::pin::pin;
use std::rc::Rc;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio::sync::{Notify, Semaphore};
use tokio::task::LocalSet;
use tokio::time::{Instant, sleep, timeout_at};

/// Connections that there are. Others are closed at once.
const MOST: usize = 64;
/// Requests that are answered at a time. Others get the answer that there are too many.
const MOST_ANSWERS: usize = 16;
/// The same for those that want what some seconds change, which have no part in the number above: they take long.
const MOST_DIFFERENCES: usize = 4;
/// Bytes of a request: its line and its headers. What comes behind them is not read.
const MOST_REQUEST_BYTES: usize = 16 << 10;
/// Time for a request to arrive.
const PATIENCE: Duration = Duration::from_secs(5);
/// How often it is looked whether the other side still waits.
const LOOK: Duration = Duration::from_secs(1);

/// Answers until `stop` is notified.
pub(super) fn serve(
    runtime: &Runtime,
    listener: TcpListener,
    profile: Profile,
    only_here: bool,
    stop: &Notify,
) {
    let local = LocalSet::new();
    let served = Rc::new(Served {
        profile,
        names: names::Names::default(),
        only_here,
        answers: Semaphore::new(MOST_ANSWERS),
        differences: Semaphore::new(MOST_DIFFERENCES),
        texts: Semaphore::new(1),
    });
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
struct Counted(Rc<Cell<usize>>);

impl Counted {
    fn new(count: &Rc<Cell<usize>>) -> Self {
        count.set(count.get() + 1);
        Self(Rc::clone(count))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

async fn connection(stream: TcpStream, served: Rc<Served>, _counted: Counted) {
    let turn = Turn::new(PATIENCE);
    let (served, turn) = (&*served, &turn);
    let service = service_fn(move |request| async move {
        turn.renew();
        let answer = if turn.take(&served.answers) {
            pages::answer(served, &request, turn).await
        } else {
            pages::busy("too many requests at a time")
        };
        turn.renew();
        Ok::<_, Infallible>(answer)
    });
    let Ok((stream, other_side)) = with_view(stream) else { return };
    let mut builder = http1::Builder::new();
    builder
        .keep_alive(false)
        .max_buf_size(MOST_REQUEST_BYTES)
        .timer(TokioTimer::new())
        .header_read_timeout(PATIENCE);
    let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), service));
    loop {
        let next = turn.deadline().min(Instant::now() + LOOK);
        if timeout_at(next, connection.as_mut()).await.is_ok()
            || turn.deadline() <= Instant::now()
            || turn.is_waiting() && has_left(&other_side)
        {
            return;
        }
    }
}

/// A connection, and a view of it that says whether the other side is there: hyper does not look where something came behind the request.
fn with_view(stream: TcpStream) -> io::Result<(TcpStream, std::net::TcpStream)> {
    let stream = stream.into_std()?;
    let view = stream.try_clone()?;
    Ok((TcpStream::from_std(stream)?, view))
}

fn has_left(other_side: &std::net::TcpStream) -> bool {
    match other_side.peek(&mut [0]) {
        Ok(more) => more == 0,
        Err(error) => error.kind() != io::ErrorKind::WouldBlock,
    }
}

//! `heapwise fleet worker`: answers parts of questions that are asked on other machines.

mod read_only;

use crate::cluster::{Channels, Identity, PATIENCE};
use crate::engine::Engines;
use crate::failure::Failure;
use crate::given;
use crate::listening;
use crate::store::Place;
use crate::token::Token;
use anyhow::Context;
use datafusion::execution::SessionState;
use datafusion_distributed::{DistributedExt, Worker, WorkerQueryContext};
use heapwise_report::note;
use heapwise_tables::words::{LimitArgs, WorkerArgs};
use read_only::ReadOnly;
use std::sync::Arc;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;
use tonic::{Request, Status};

/// Of more bytes no part of a question is: it names the files that are read.
const MOST_BYTES: usize = 256 << 20;

pub(crate) async fn worker(args: &WorkerArgs) -> Result<u8, Failure> {
    end_on_panic();
    let token = given::token(&args.admission)?;
    let places = Place::open_all(&args.places)?;
    // Nothing but these can be read, whatever a plan names.
    let limits = LimitArgs { memory: args.memory, threads: None };
    let engine = Engines::of_worker(given::settings(limits))?;
    for place in &places {
        engine.register_object_store(place.url()?.as_ref(), Arc::new(ReadOnly(Arc::clone(place.store()))));
    }
    // Parts of a question are passed on between workers, too.
    let (listener, address) = listening::listen(args.listen, token.as_ref()).await?;
    let channels = Channels::between_workers(token.clone(), address);
    let session = move |context: WorkerQueryContext| {
        let state: SessionState = context.builder.with_distributed_channel_resolver(channels.clone()).build();
        std::future::ready(Ok(state))
    };
    let worker = Worker::from_session_builder(session)
        .with_runtime_env(engine)
        .with_version(Identity::here(places.iter().map(Place::id)).to_string());
    let service = worker.into_worker_server().max_decoding_message_size(MOST_BYTES);
    note!("heapwise: a worker for {} at {address}", args.places.join(", "));
    // Whoever asked may be gone silently, and what was held for the answer has to go, too.
    Server::builder()
        .http2_keepalive_interval(Some(PATIENCE))
        .http2_keepalive_timeout(Some(PATIENCE))
        .add_service(InterceptedService::new(service, move |request| admitted(token.as_ref(), request)))
        .serve_with_incoming(TcpIncoming::from(listener).with_nodelay(Some(true)))
        .await
        .context("cannot answer")?;
    Ok(0)
}

/// Ends the process if a thread panics. Otherwise rows of that thread would be missing in an answer that looks whole; whoever asks notices that
/// a worker is lost, and asks again.
fn end_on_panic() {
    let say = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        say(panic);
        std::process::abort();
    }));
}

/// Lets a request in that has the token.
fn admitted(token: Option<&Token>, request: Request<()>) -> Result<Request<()>, Status> {
    match token {
        Some(token) if !token.is_in(request.metadata().as_ref()) => {
            Err(Status::unauthenticated("authentication failed"))
        }
        _ => Ok(request),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::Command;

    /// Set for the process that ends.
    const INNER: &str = "HEAPWISE_TEST_INNER";

    #[test]
    fn a_thread_that_panics_ends_the_process() {
        if std::env::var_os(INNER).is_some() {
            super::end_on_panic();
            // As a task of the engine's: it is not joined, so that its panic would only be a channel that closes.
            let _ = std::thread::spawn(|| panic!("rows that cannot be decoded")).join();
            return;
        }
        let mut again = Command::new(std::env::current_exe().expect("a test knows its own file"));
        again.args(["--exact", "worker::tests::a_thread_that_panics_ends_the_process"]).env(INNER, "1");
        let output = again.output().expect("it can be started again");
        assert_eq!(output.status.signal(), Some(rustix::process::Signal::ABORT.as_raw()), "{output:?}");
    }
}

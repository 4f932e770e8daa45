//! `async-server [WORKERS]`: serves on a port of this machine that it prints, until it is told to stop.

#![forbid(unsafe_code)]

use async_server::{Store, serve};
use std::io::{self, Write};
use std::sync::Arc;
use tokio::net::TcpListener;

fn main() -> io::Result<()> {
    let workers = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(4);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(workers).enable_all().build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        writeln!(io::stdout(), "listening on {}", listener.local_addr()?)?;
        io::stdout().flush()?;
        serve(listener, Arc::new(Store::default())).await
    })
}

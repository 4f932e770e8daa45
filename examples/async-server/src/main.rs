//! `async-server [WORKERS [PORT]]`: serves on a port of this machine that it prints, until it is asked to stop. Without PORT
//! it is one that is free.

#![forbid(unsafe_code)]

use async_server::{Store, serve};
use std::io::{self, Write};
use std::sync::Arc;
use tokio::net::TcpListener;

fn main() -> io::Result<()> {
    let workers = number(1)?.unwrap_or(4);
    let port = number(2)?.unwrap_or(0);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(workers).enable_all().build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind(("127.0.0.1", port)).await?;
        writeln!(io::stdout(), "listening on {}", listener.local_addr()?)?;
        io::stdout().flush()?;
        serve(listener, Arc::new(Store::default())).await
    })
}

/// An argument that is a number, if it is there.
fn number<T: std::str::FromStr>(at: usize) -> io::Result<Option<T>> {
    let Some(text) = std::env::args().nth(at) else { return Ok(None) };
    match text.parse() {
        Ok(number) => Ok(Some(number)),
        Err(_) => Err(io::Error::new(io::ErrorKind::InvalidInput, format!("{text:?} is not such a number"))),
    }
}

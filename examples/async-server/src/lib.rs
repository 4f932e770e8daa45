//! A key-value store as an asynchronous service keeps it: what a request allocates dies with the request, and what it
//! stores stays. Both are on the same heap, which is what makes such servers interesting to a heap tool.
//!
//! The protocol is a line per request and a line per answer:
//!
//! | request | answer |
//! |---|---|
//! | `set KEY VALUE` | `stored` |
//! | `get KEY` | the value, or `none` |
//! | `delete KEY` | `deleted` or `none` |
//! | `fan N` | the sum that N separate tasks have computed together |
//! | `count` | how many keys there are |
//! | `stop` | `bye`; the server ends when open connections are closed |

#![forbid(unsafe_code)]

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, RwLock};
use tokio::task::JoinSet;

/// What all connections share.
#[derive(Debug, Default)]
pub struct Store {
    values: RwLock<HashMap<String, String>>,
    stop: Notify,
}

/// A request as it arrived.
#[derive(Debug, PartialEq, Eq)]
enum Request<'a> {
    Set(&'a str, &'a str),
    Get(&'a str),
    Delete(&'a str),
    Fan(u32),
    Count,
    Stop,
}

impl<'a> Request<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        Some(match word {
            "set" => {
                let (key, value) = rest.split_once(' ')?;
                Self::Set(key, value)
            }
            "get" => Self::Get(rest),
            "delete" => Self::Delete(rest),
            "fan" => Self::Fan(rest.parse().ok()?),
            "count" => Self::Count,
            "stop" => Self::Stop,
            _ => return None,
        })
    }
}

impl Store {
    async fn answer(&self, request: Request<'_>) -> String {
        match request {
            Request::Set(key, value) => {
                self.values.write().await.insert(key.to_owned(), value.to_owned());
                "stored".to_owned()
            }
            Request::Get(key) => {
                self.values.read().await.get(key).cloned().unwrap_or_else(|| "none".to_owned())
            }
            Request::Delete(key) => {
                let gone = self.values.write().await.remove(key).is_some();
                if gone { "deleted" } else { "none" }.to_owned()
            }
            Request::Fan(n) => fan(n).await.to_string(),
            Request::Count => self.values.read().await.len().to_string(),
            Request::Stop => {
                self.stop.notify_one();
                "bye".to_owned()
            }
        }
    }
}

/// Tasks that are handed from thread to thread: each allocates here and frees wherever it ends.
async fn fan(n: u32) -> u64 {
    let mut tasks = JoinSet::new();
    for i in 0..n {
        let numbers: Vec<u64> = (0..u64::from(i % 64)).collect();
        tasks.spawn(async move {
            tokio::task::yield_now().await;
            numbers.into_iter().sum::<u64>()
        });
    }
    let mut sum = 0;
    while let Some(Ok(part)) = tasks.join_next().await {
        sum += part;
    }
    sum
}

async fn converse(store: &Store, stream: TcpStream) -> io::Result<()> {
    // An answer is not held back until the one before it was acknowledged.
    stream.set_nodelay(true)?;
    let (input, mut output) = stream.into_split();
    let mut lines = BufReader::new(input).lines();
    while let Some(line) = lines.next_line().await? {
        let mut answer = match Request::parse(&line) {
            Some(request) => store.answer(request).await,
            None => "what?".to_owned(),
        };
        answer.push('\n');
        output.write_all(answer.as_bytes()).await?;
    }
    Ok(())
}

/// Serves until the end is asked for, then lets open connections come to theirs.
///
/// # Errors
/// If the listener fails.
pub async fn serve(listener: TcpListener, store: Arc<Store>) -> io::Result<()> {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            () = store.stop.notified() => break,
            accepted = listener.accept() => {
                let (stream, _) = accepted?;
                let store = Arc::clone(&store);
                connections.spawn(async move { converse(&store, stream).await });
            }
            Some(_) = connections.join_next() => {}
        }
    }
    while connections.join_next().await.is_some() {}
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_parsed() {
        assert_eq!(Request::parse("set a b c"), Some(Request::Set("a", "b c")));
        assert_eq!(Request::parse("get a"), Some(Request::Get("a")));
        assert_eq!(Request::parse("fan 12"), Some(Request::Fan(12)));
        assert_eq!(Request::parse("set a"), None);
        assert_eq!(Request::parse("fan x"), None);
        assert_eq!(Request::parse(""), None);
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn the_store_answers() {
        let store = Store::default();
        assert_eq!(store.answer(Request::Get("a")).await, "none");
        assert_eq!(store.answer(Request::Set("a", "1")).await, "stored");
        assert_eq!(store.answer(Request::Get("a")).await, "1");
        assert_eq!(store.answer(Request::Count).await, "1");
        assert_eq!(store.answer(Request::Delete("a")).await, "deleted");
        assert_eq!(store.answer(Request::Delete("a")).await, "none");
        // 0 + 1 + 3 + 6: the sums of the numbers below 1, 2, 3 and 4; nothing is below 0.
        assert_eq!(store.answer(Request::Fan(5)).await, "10");
    }
}

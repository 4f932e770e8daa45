//! A burst for the server: many connections store values of mixed sizes, ask for them, and delete nearly all again.
//!
//! Afterwards the server holds little and goes on running, which is the moment to look at what its allocator has kept.
//! The requests are the same in each run, and so is what is printed: the keys that are left.

#![forbid(unsafe_code)]

use lexopt::prelude::*;
use std::fmt::Write as _;
use std::io::{self, BufRead, BufReader, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

const HELP: &str = "\
Gives a running async-server a burst of requests, after which it holds few keys.

Usage: async-server-load --port N [--connections N] [--keys N] [--keep-one-of N] [--rounds N] [--stop]

  --port N         of the server, on this machine; it may be about to start
  --connections N  at the same time (default 8)
  --keys N         that each connection stores (default 4000)
  --keep-one-of N  of these is not deleted again (default 100)
  --rounds N       so many times (default 1)
  --stop           tell the server to end afterwards
";

/// How long to wait for a server that is about to start.
const PATIENCE: Duration = Duration::from_secs(10);
/// Requests that are sent before their answers are read.
const AT_ONCE: usize = 64;
/// Bytes of the values, in turn.
const SIZES: [usize; 8] = [24, 100, 4000, 350, 60, 1500, 800, 9000];

#[derive(Debug)]
struct Request {
    port: u16,
    connections: usize,
    keys: usize,
    keep_one_of: usize,
    rounds: usize,
    stop: bool,
}

fn main() -> ExitCode {
    let request = match parse(lexopt::Parser::from_env()) {
        Ok(Some(request)) => request,
        Ok(None) => {
            print!("{HELP}");
            return ExitCode::SUCCESS;
        }
        Err(error) => {
            eprintln!("async-server-load: {error}");
            return ExitCode::from(2);
        }
    };
    match load(&request) {
        Ok(left) => {
            println!("{left} keys are left");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("async-server-load: port {}: {error}", request.port);
            ExitCode::FAILURE
        }
    }
}

/// Returns what to do, or `None` when help is asked for.
fn parse(mut parser: lexopt::Parser) -> Result<Option<Request>, lexopt::Error> {
    let mut request =
        Request { port: 0, connections: 8, keys: 4000, keep_one_of: 100, rounds: 1, stop: false };
    while let Some(argument) = parser.next()? {
        match argument {
            Long("port") => request.port = parser.value()?.parse()?,
            Long("connections") => request.connections = parser.value()?.parse()?,
            Long("keys") => request.keys = parser.value()?.parse()?,
            Long("keep-one-of") => request.keep_one_of = parser.value()?.parse()?,
            Long("rounds") => request.rounds = parser.value()?.parse()?,
            Long("stop") => request.stop = true,
            Short('h') | Long("help") => return Ok(None),
            _ => return Err(argument.unexpected()),
        }
    }
    if request.port == 0 || request.keep_one_of == 0 {
        return Err("--port is missing, or a number is 0 that must not be".into());
    }
    Ok(Some(request))
}

/// Gives the burst. Returns how many keys are left, as the server says.
fn load(request: &Request) -> io::Result<String> {
    for _ in 0..request.rounds {
        thread::scope(|scope| {
            let all: Vec<_> =
                (0..request.connections).map(|number| scope.spawn(move || burst(request, number))).collect();
            all.into_iter().try_for_each(|one| one.join().unwrap_or_else(|p| std::panic::resume_unwind(p)))
        })?;
    }
    let mut connection = Connection::open(request.port)?;
    let left = connection.ask(["count".to_owned()])?.pop().unwrap_or_default();
    if request.stop {
        connection.ask(["stop".to_owned()])?;
    }
    Ok(left)
}

/// What one connection does.
fn burst(request: &Request, number: usize) -> io::Result<()> {
    let mut connection = Connection::open(request.port)?;
    let key = |at: usize| format!("connection-{number}-key-{at}");
    let set = |at: usize| {
        let size = SIZES[(at * 5 + number) % SIZES.len()];
        format!("set {} {}", key(at), "v".repeat(size + at % 13))
    };
    connection.ask((0..request.keys).map(set))?;
    connection.ask((0..request.keys).step_by(3).map(|at| format!("get {}", key(at))))?;
    connection.ask((0..request.keys / 100).map(|at| format!("fan {}", at % 50)))?;
    let gone = (0..request.keys).filter(|at| at % request.keep_one_of != 0);
    connection.ask(gone.map(|at| format!("delete {}", key(at))))?;
    Ok(())
}

struct Connection {
    answers: io::Lines<BufReader<TcpStream>>,
    requests: TcpStream,
}

impl Connection {
    fn open(port: u16) -> io::Result<Self> {
        let start = Instant::now();
        let requests = loop {
            match TcpStream::connect((Ipv4Addr::LOCALHOST, port)) {
                Ok(stream) => break stream,
                Err(error) if start.elapsed() > PATIENCE => return Err(error),
                Err(_) => thread::sleep(Duration::from_millis(20)),
            }
        };
        requests.set_nodelay(true)?;
        Ok(Self { answers: BufReader::new(requests.try_clone()?).lines(), requests })
    }

    /// Sends requests, some at a time, and returns the last answers.
    fn ask(&mut self, requests: impl IntoIterator<Item = String>) -> io::Result<Vec<String>> {
        let mut requests = requests.into_iter().peekable();
        let mut answers = Vec::new();
        while requests.peek().is_some() {
            let (mut text, mut sent) = (String::new(), 0);
            for request in requests.by_ref().take(AT_ONCE) {
                let _ = writeln!(text, "{request}");
                sent += 1;
            }
            self.requests.write_all(text.as_bytes())?;
            answers.clear();
            for _ in 0..sent {
                let gone = || io::Error::new(io::ErrorKind::UnexpectedEof, "the server has gone away");
                answers.push(self.answers.next().ok_or_else(gone)??);
            }
        }
        Ok(answers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_needed() {
        let parsed = |line: &[&str]| parse(lexopt::Parser::from_args(line));
        assert!(parsed(&[]).is_err());
        assert!(parsed(&["--port", "1", "--keep-one-of", "0"]).is_err());
        let request = parsed(&["--port", "7", "--keys", "12", "--stop"]).unwrap().unwrap();
        assert_eq!((request.port, request.keys, request.stop), (7, 12, true));
    }

    #[test]
    fn few_keys_are_left_after_the_burst() {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let listener = runtime.block_on(tokio::net::TcpListener::bind(("127.0.0.1", 0))).unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = runtime.spawn(async_server::serve(listener, Default::default()));
        let request = Request { port, connections: 3, keys: 250, keep_one_of: 100, rounds: 2, stop: true };
        assert_eq!(load(&request).unwrap(), "9");
        runtime.block_on(server).unwrap().unwrap();
    }
}

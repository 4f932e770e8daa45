//! The pattern of an asynchronous server as a service that stays: it works on request, and keeps running.
//!
//! A line from a client is a request: `load N` has every thread take N steps and close nearly all of its connections,
//! `memory` asks what is resident, `stop` ends the service. A client of the same program sends them.

use crate::experiments::{Connections, Settings};
use crate::memory::Memory;
use crate::report::Work;
use std::io::{self, BufRead, BufReader, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

/// How long a client waits for a service that is about to start.
const PATIENCE: Duration = Duration::from_secs(10);

/// A worker: where its orders go. What it has done comes back together with that of the others.
struct Workers {
    orders: Vec<Sender<usize>>,
    done: Receiver<Work>,
}

impl Workers {
    /// Starts threads that live as long as the process.
    fn start(settings: &Settings) -> Self {
        let (report, done) = channel();
        let orders = (0..settings.threads)
            .map(|thread| {
                let (orders, work) = channel::<usize>();
                let (report, settings) = (report.clone(), *settings);
                thread::spawn(move || {
                    let mut connections = Connections::of_thread(settings.seed, thread);
                    for steps in work {
                        let mut work = Work::default();
                        (0..steps).for_each(|_| connections.step(&mut work));
                        connections.close_most(settings.keep_percent);
                        if report.send(work).is_err() {
                            return;
                        }
                    }
                });
                orders
            })
            .collect();
        Self { orders, done }
    }

    fn load(&self, steps: usize) -> Work {
        let mut work = Work::default();
        let started = self.orders.iter().filter(|orders| orders.send(steps).is_ok()).count();
        for done in self.done.iter().take(started) {
            work += done;
        }
        work
    }
}

/// Serves on a port of this machine until a client says `stop`; port 0 is one that is free.
///
/// # Errors
/// If the port cannot be had.
pub(crate) fn serve(settings: &Settings, port: u16) -> io::Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
    println!("listening on {}", listener.local_addr()?);
    let workers = Workers::start(settings);
    for stream in listener.incoming() {
        // A client that goes away in the middle is no reason to end.
        if converse(&workers, stream?).unwrap_or(false) {
            break;
        }
    }
    Ok(())
}

/// Answers one client. Returns whether it has asked for the end.
fn converse(workers: &Workers, stream: TcpStream) -> io::Result<bool> {
    let mut answers = stream.try_clone()?;
    for line in BufReader::new(stream).lines() {
        let line = line?;
        let mut words = line.split_whitespace();
        match (words.next(), words.next().map(str::parse)) {
            (Some("load"), Some(Ok(steps))) => {
                let Work { allocations, checksum } = workers.load(steps);
                writeln!(answers, "done {allocations} {checksum}")?;
            }
            (Some("memory"), None) => {
                let Memory { rss_kib, lazy_free_kib, highest_kib, .. } = Memory::now()?;
                writeln!(
                    answers,
                    "rss_kib {rss_kib} lazy_free_kib {lazy_free_kib} highest_rss_kib {highest_kib}"
                )?;
            }
            (Some("stop"), None) => {
                writeln!(answers, "bye")?;
                return Ok(true);
            }
            _ => writeln!(answers, "what?")?,
        }
    }
    Ok(false)
}

/// Sends a request to the service on a port of this machine, which may be about to start, and returns the answer.
///
/// # Errors
/// If there is no listener for ten seconds, or the service goes away.
pub(crate) fn ask(port: u16, request: &str) -> io::Result<String> {
    let start = Instant::now();
    let mut stream = loop {
        match TcpStream::connect((Ipv4Addr::LOCALHOST, port)) {
            Ok(stream) => break stream,
            Err(error) if start.elapsed() > PATIENCE => return Err(error),
            Err(_) => thread::sleep(Duration::from_millis(20)),
        }
    };
    writeln!(stream, "{request}")?;
    let mut answer = String::new();
    BufReader::new(stream).read_line(&mut answer)?;
    match answer.trim_end() {
        "" => Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the service went away without an answer")),
        answer => Ok(answer.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::DEFAULT;

    #[test]
    fn a_service_works_and_ends_when_it_is_reported_to() {
        // Another process may take the port in between; no other thread of this one does.
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port();
        let settings = Settings { threads: 2, ..DEFAULT };
        let service = thread::spawn(move || serve(&settings, port));
        let first = ask(port, "load 100").unwrap();
        assert!(first.starts_with("done ") && !first.starts_with("done 0"), "{first}");
        assert!(ask(port, "memory").unwrap().starts_with("rss_kib "));
        assert_eq!(ask(port, "load x").unwrap(), "what?");
        assert_eq!(ask(port, "stop").unwrap(), "bye");
        service.join().unwrap().unwrap();
    }
}

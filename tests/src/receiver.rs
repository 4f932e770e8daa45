//! A server that takes what is sent to it, and answers as a test tells it to.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What was sent.
#[derive(Clone, Debug)]
pub struct Received {
    pub path: String,
    /// Names in small letters.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    /// What was answered.
    pub status: u16,
}

impl Received {
    /// The value of a header that is there once at most.
    ///
    /// # Panics
    /// If it is there twice.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut values = self.headers.iter().filter(|(own, _)| own == name).map(|(_, value)| value.as_str());
        let value = values.next();
        assert_eq!(values.next(), None, "{name} is there twice");
        value
    }
}

#[derive(Debug, Default)]
struct State {
    received: Vec<Received>,
    /// Statuses of the next answers, with a further header each; then all is well.
    script: VecDeque<(u16, String)>,
}

/// The server. It goes on until the test ends.
#[derive(Debug)]
pub struct Receiver {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
}

impl Receiver {
    /// Listens on a port of this machine. The first answers are those of the script: a status, and a header or nothing.
    ///
    /// # Panics
    /// If there is no port.
    pub fn start(script: &[(u16, &str)]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("it has an address");
        let script = script.iter().map(|(status, header)| (*status, (*header).to_owned())).collect();
        let state = Arc::new(Mutex::new(State { received: Vec::new(), script }));
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = Arc::clone(&shared);
                std::thread::spawn(move || serve(stream, &shared));
            }
        });
        Self { address, state }
    }

    /// Its address, with a path.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// All that was sent so far.
    pub fn received(&self) -> Vec<Received> {
        lock(&self.state).received.clone()
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One request after the other.
fn serve(stream: TcpStream, state: &Mutex<State>) {
    let Ok(mut out) = stream.try_clone() else { return };
    let mut stream = BufReader::new(stream);
    while let Some(mut received) = read(&mut stream) {
        let (status, header) = {
            let mut state = lock(state);
            let answer = state.script.pop_front().unwrap_or((200, String::new()));
            received.status = answer.0;
            state.received.push(received);
            answer
        };
        let header = if header.is_empty() { header } else { format!("{header}\r\n") };
        let answer = format!("HTTP/1.1 {status} So\r\n{header}content-length: 0\r\n\r\n");
        if out.write_all(answer.as_bytes()).is_err() {
            return;
        }
    }
}

fn read(stream: &mut impl BufRead) -> Option<Received> {
    let mut line = || {
        let mut line = String::new();
        stream.read_line(&mut line).ok().filter(|&n| n > 0).map(|_| line.trim_end().to_owned())
    };
    let path = line()?.split(' ').nth(1)?.to_owned();
    let mut headers = Vec::new();
    while let Some(line) = line().filter(|line| !line.is_empty()) {
        let (name, value) = line.split_once(':')?;
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name == "content-length")?.1.parse().ok()?;
    let mut body = vec![0; length];
    stream.read_exact(&mut body).ok()?;
    Some(Received { path, headers, body, status: 0 })
}

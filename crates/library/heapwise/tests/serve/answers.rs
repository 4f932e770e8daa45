//! What is asked, and who is answered.

use crate::client::{Read, get, read, send};
use crate::{MIB, alone, serve};
use std::hint::black_box;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

#[test]
fn what_is_not_a_plain_question_is_refused() {
    let _alone = alone();
    let (_server, address) = serve(512 << 10);
    let status = |request: &str| send(address, request).map(|answer| answer.status);
    let host = format!("Host: {address}\r\n");
    assert_eq!(status(&format!("GET /debug/pprof/heap HTTP/1.1\r\n{host}\r\n")), Some(200));
    assert_eq!(
        status(&format!("POST /debug/pprof/heap HTTP/1.1\r\n{host}Content-Length: 2\r\n\r\nab")),
        Some(405)
    );
    assert_eq!(status("GET /metrics HTTP/1.1\r\nHost: evil.example:6061\r\n\r\n"), Some(403));
    assert_eq!(status("GET /metrics HTTP/1.1\r\n\r\n"), Some(403));
    assert_eq!(status("GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"), Some(200));
    assert_eq!(
        status(&format!("GET /metrics HTTP/1.1\r\n{host}Sec-Fetch-Site: cross-site\r\n\r\n")),
        Some(403)
    );
    assert_eq!(
        status(&format!("GET /metrics HTTP/1.1\r\n{host}X: {}\r\n\r\n", "x".repeat(1 << 20))),
        Some(431)
    );
    assert_eq!(status("what is this?\r\n\r\n"), Some(400));
    for wrong in ["seconds=0", "seconds=x", "seconds=99999", "seconds=1&debug=1"] {
        assert_eq!(get(address, &format!("/debug/pprof/heap?{wrong}")).status, 400, "{wrong}");
    }
    assert_eq!(get(address, "/debug/pprof/profile").status, 404);
    assert_eq!(get(address, "/debug/pprof/").status, 200);
    let head = send(address, &format!("HEAD /metrics HTTP/1.1\r\n{host}\r\n")).expect("an answer");
    assert_eq!((head.status, head.body.len()), (200, 0));
}

const CANARY: &str = "HEAPWISE_TEST_CANARY";

/// What a second process does, which has a secret in its environment, in its command line and in its memory: serves until its input ends.
#[test]
fn keeps_a_secret() {
    let Ok(secret) = std::env::var(CANARY) else { return };
    let (_server, address) = serve(512 << 10);
    let blocks: Vec<Vec<u8>> = (0..10).map(|_| secret.as_bytes().repeat(MIB / 16)).collect();
    println!("at {address}");
    std::io::stdin().read_to_end(&mut Vec::new()).expect("it can be read");
    drop(black_box(blocks));
}

#[test]
fn secrets_of_the_program_are_in_no_answer() {
    let _alone = alone();
    let secret = format!("canary{:x}", std::process::id() as u64 + (1 << 40));
    let mut child = Command::new(std::env::current_exe().expect("a test has a file"))
        .args(["--exact", "answers::keeps_a_secret", "--nocapture", &secret])
        .env(CANARY, &secret)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it can be started again");
    let lines = BufReader::new(child.stdout.take().expect("its output")).lines();
    let mut addresses =
        lines.map_while(Result::ok).filter_map(|line| line.split_once("at ")?.1.parse::<SocketAddr>().ok());
    let address = addresses.next().expect("it says where it is");
    for path in ["/metrics", "/debug/pprof/", "/debug/pprof/heap?debug=1", "/secret"] {
        let answer = get(address, path);
        let all = [answer.head.clone(), answer.text()].concat();
        assert!(!all.contains(&secret) && !all.contains("keeps_a_secret --nocapture"), "{path}: {all}");
    }
    for path in ["/debug/pprof/heap", "/debug/pprof/allocs", "/debug/pprof/heap?seconds=1"] {
        let read = Read::of(address, path);
        let has_secret = |text: &String| text.contains(&secret) || text == "--nocapture" || text == CANARY;
        assert_eq!(read.profile.string_table.iter().find(|text| has_secret(text)), None, "{path}");
        // It is the profile of that program. What printing and reading allocate there is in the sample by chance.
        let large = read.samples.iter().filter(|(stack, _, size)| {
            *size > MIB as i64 && stack.iter().any(|(name, ..)| name.contains("keeps_a_secret"))
        });
        let live: i64 = large.map(|(_, values, _)| values[2]).sum();
        assert!(path.contains("seconds") || live == 10, "{path}: {live}");
    }
    drop(child.stdin.take());
    assert!(child.wait().expect("it ends").success());
}

#[test]
fn idle_connections_take_no_place() {
    let _alone = alone();
    let (_server, address) = serve(512 << 10);
    let mut idle: Vec<TcpStream> =
        (0..32).map(|_| TcpStream::connect(address).expect("a connection")).collect();
    let begin = Instant::now();
    // Half of a request is none.
    idle[0].write_all(b"GET /met").expect("it is still there");
    assert_eq!(get(address, "/metrics").status, 200);
    for stream in &mut idle {
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a timeout");
        assert!(read(stream).is_none_or(|answer| answer.status == 408), "it was answered");
    }
    assert!(begin.elapsed() < Duration::from_secs(12), "{:?}", begin.elapsed());
    let many: Vec<TcpStream> = (0..200).filter_map(|_| TcpStream::connect(address).ok()).collect();
    drop(many);
    let begin = Instant::now();
    let request = format!("GET /metrics HTTP/1.1\r\nHost: {address}\r\n\r\n");
    while send(address, &request).map(|answer| answer.status) != Some(200) {
        assert!(begin.elapsed() < Duration::from_secs(8), "it does not recover");
    }
}

#[test]
fn others_are_answered_while_differences_are_waited_for() {
    let _alone = alone();
    let (_server, address) = serve(512 << 10);
    let request = |method: &str, more: &str| {
        format!("{method} /debug/pprof/heap?seconds=3600 HTTP/1.1\r\nHost: {address}\r\n{more}\r\n")
    };
    let begin = Instant::now();
    let mut waiting: Vec<TcpStream> =
        (0..20).map(|_| TcpStream::connect(address).expect("a connection")).collect();
    for (number, stream) in waiting.iter_mut().enumerate() {
        // Some send what is no part of the request: then hyper does not look whether they are still there.
        let more = ["", "Connection: close\r\n", "\r\nand more"][number % 3];
        stream.write_all(request("GET", more).as_bytes()).expect("it is still there");
        stream.set_read_timeout(Some(Duration::from_millis(500))).expect("a timeout");
    }
    // Four wait, others are refused; which ones is a matter of chance.
    waiting.retain_mut(|stream| read(stream).is_none_or(|answer| answer.status != 503));
    assert_eq!(waiting.len(), 4);
    assert_eq!(get(address, "/metrics").status, 200);
    let head = send(address, &request("HEAD", "")).expect("an answer");
    assert_eq!((head.status, head.body.len()), (200, 0));
    drop(waiting);
    let short = format!("GET /debug/pprof/heap?seconds=1 HTTP/1.1\r\nHost: {address}\r\n\r\n");
    let are_answered = || {
        let ask = || send(address, &short).is_some_and(|answer| answer.status == 200);
        std::thread::scope(|scope| {
            let all: Vec<_> = (0..4).map(|_| scope.spawn(ask)).collect();
            all.into_iter().all(|one| one.join().expect("it asks"))
        })
    };
    while !are_answered() {
        assert!(begin.elapsed() < Duration::from_secs(30), "they have left, and keep their places");
        std::thread::sleep(Duration::from_millis(100));
    }
}
